//! Why a call ended that its tool did not end. These texts are exact: tests and models rely on them.

use super::{ModelText, Sentence};
use crate::{
    record::{Backend, Reason, RefusalCause, ResultReason, Vocabulary, Word},
    rules::Mode,
};

impl ModelText {
    /// The turn or call was cancelled.
    #[must_use]
    pub fn cancelled(&self) -> String {
        self.render(Sentence::Cancelled, &[])
    }

    /// The turn's own time was over.
    #[must_use]
    pub fn time_over(&self) -> String {
        self.render(Sentence::TimeOver, &[])
    }

    /// The log could not be appended to, which ended the turn.
    #[must_use]
    pub fn log_failed(&self) -> String {
        self.render(Sentence::LogFailed, &[])
    }

    /// A response made more calls than are looked at.
    #[must_use]
    pub fn too_many_calls(&self) -> String {
        self.render(Sentence::TooManyCalls, &[])
    }

    /// A question has no answer. `why` says what failed or was invalid, and is told only where the reason has a place
    /// for it.
    #[must_use]
    pub fn unanswered(
        &self,
        tool: &str,
        question: &str,
        reason: &Reason,
        why: Option<&str>,
        note: Option<&str>,
    ) -> String {
        let sentence = match reason {
            Reason::User => Sentence::QuestionDismissed,
            Reason::Withdrawn => Sentence::Cancelled,
            Reason::BackendError | Reason::Other(_) => Sentence::QuestionFailed,
            Reason::NoPromptBackend => Sentence::NoPromptBackend,
            Reason::AssistantRoutingDenied => Sentence::AssistantRoutingDenied,
            Reason::InvalidStaticAnswer if why.is_some() => Sentence::UnusableStaticAnswer,
            Reason::InvalidStaticAnswer => Sentence::InvalidStaticAnswer,
            Reason::DetachedPolicy => Sentence::DetachedPolicy,
            Reason::InvalidQuestion => Sentence::InvalidQuestion,
            Reason::LimitReached => Sentence::LimitReached,
        };
        let why = why.unwrap_or("unknown");
        let values = [("tool", tool), ("question", question), ("why", why)];
        let text = self.render(sentence, &values);
        let note = note.filter(|_| *reason == Reason::User);
        self.with_note(text, note)
    }

    /// A question has no answer, as its response on record says; see [`ModelText::unanswered`].
    #[must_use]
    pub fn no_answer(
        &self,
        tool: &str,
        question: &str,
        reason: &Reason,
        backend: Option<&Word<Backend>>,
        why: Option<&str>,
        note: Option<&str>,
    ) -> String {
        match backend.and_then(Word::known) {
            Some(Backend::Inquiry) => self.inquiry_failed(why.unwrap_or("unknown")),
            Some(Backend::Client) | None => self.unanswered(tool, question, reason, why, note),
        }
    }

    /// A model was asked and did not answer.
    #[must_use]
    pub fn inquiry_failed(&self, why: &str) -> String {
        self.render(Sentence::InquiryFailed, &[("why", why)])
    }

    /// A person said no.
    #[must_use]
    pub fn not_allowed(&self, tool: &str, note: Option<&str>) -> String {
        let text = self.render(Sentence::NotAllowed, &[("tool", tool)]);
        self.with_note(text, note)
    }

    /// The tool's `run` is `deny`.
    #[must_use]
    pub fn denied_by_key(&self, tool: &str) -> String {
        self.render(Sentence::DeniedByConfiguration, &[("tool", tool)])
    }

    /// A rule of the user's denies its command.
    #[must_use]
    pub fn denied_by_rule(&self, tool: &str) -> String {
        self.render(Sentence::DeniedByRule, &[("tool", tool)])
    }

    /// The mode does not allow it.
    #[must_use]
    pub fn denied_by_mode(&self, tool: &str, mode: Mode) -> String {
        let values = [("tool", tool), ("mode", mode.word())];
        self.render(Sentence::DeniedByMode, &values)
    }

    /// The workspace is not trusted.
    #[must_use]
    pub fn not_trusted(&self, tool: &str) -> String {
        self.render(Sentence::NotTrusted, &[("tool", tool)])
    }

    /// It needs approval and nobody is there.
    #[must_use]
    pub fn needs_approval(&self, tool: &str) -> String {
        self.render(Sentence::NeedsApproval, &[("tool", tool)])
    }

    /// The same call was refused before in this turn, for this reason. `mode` is the turn's.
    #[must_use]
    pub fn refused_again(&self, tool: &str, reason: &ResultReason, mode: Mode) -> String {
        match reason {
            ResultReason::DeniedByConfiguration => self.denied_by_key(tool),
            ResultReason::DeniedByRule => self.denied_by_rule(tool),
            ResultReason::DeniedByMode(recorded) => {
                self.denied_by_mode(tool, recorded.unwrap_or(mode))
            }
            ResultReason::NotTrusted => self.not_trusted(tool),
            ResultReason::NeedsApproval => self.needs_approval(tool),
            _ => self.not_allowed(tool, None),
        }
    }

    /// Something was refused, and by no person. `mode` is the turn's.
    #[must_use]
    pub fn refusal(&self, tool: &str, cause: &RefusalCause, mode: Mode) -> String {
        match cause {
            RefusalCause::Call(ResultReason::WithheldUnattended) => {
                self.result_needs_approval(tool)
            }
            RefusalCause::Call(reason) => self.refused_again(tool, reason, mode),
            RefusalCause::Question { id, reason } => self.unanswered(tool, id, reason, None, None),
        }
    }

    /// A `runTool` or `deliverResult` prompt could not be shown.
    #[must_use]
    pub fn not_shown(&self, tool: &str, why: &str) -> String {
        self.render(Sentence::PromptFailed, &[("tool", tool), ("why", why)])
    }

    /// A person withheld the result.
    #[must_use]
    pub fn withheld(&self, tool: &str, note: Option<&str>) -> String {
        let text = self.render(Sentence::Withheld, &[("tool", tool)]);
        self.with_note(text, note)
    }

    /// The result needs approval and nobody is there.
    #[must_use]
    pub fn result_needs_approval(&self, tool: &str) -> String {
        self.render(Sentence::WithheldUnattended, &[("tool", tool)])
    }

    /// The arguments are no JSON object.
    #[must_use]
    pub fn invalid_arguments(&self, tool: &str, what: &str) -> String {
        let values = [("tool", tool), ("what", what.trim_end_matches('.'))];
        self.render(Sentence::InvalidArguments, &values)
    }

    /// There is no such tool.
    #[must_use]
    pub fn no_tool(&self, tool: &str) -> String {
        self.render(Sentence::UnknownTool, &[("tool", tool)])
    }

    /// Its run was cut off, so its effects are unknown.
    #[must_use]
    pub fn unknown_effects(&self, tool: &str) -> String {
        self.render(Sentence::Interrupted, &[("tool", tool)])
    }

    /// It ran past its time limit.
    #[must_use]
    pub fn too_slow(&self, tool: &str, seconds: u64) -> String {
        let values = [("tool", tool), ("seconds", &seconds.to_string())];
        self.render(Sentence::TooSlow, &values)
    }

    fn with_note(&self, text: String, note: Option<&str>) -> String {
        match note {
            Some(note) if !note.trim().is_empty() => {
                text + &self.render(Sentence::Note, &[("note", note)])
            }
            _ => text,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_that_is_refused_again_is_refused_with_the_same_words() {
        let text = ModelText::default();
        let again = |reason| text.refused_again("edit", &reason, Mode::Plan);
        let declined = ResultReason::Declined { noted: false };
        for (reason, words) in [
            (
                ResultReason::DeniedByConfiguration,
                text.denied_by_key("edit"),
            ),
            (ResultReason::DeniedByRule, text.denied_by_rule("edit")),
            (
                ResultReason::DeniedByMode(Some(Mode::Ask)),
                text.denied_by_mode("edit", Mode::Ask),
            ),
            (
                ResultReason::DeniedByMode(None),
                text.denied_by_mode("edit", Mode::Plan),
            ),
            (ResultReason::NotTrusted, text.not_trusted("edit")),
            (ResultReason::NeedsApproval, text.needs_approval("edit")),
            (declined, text.not_allowed("edit", None)),
        ] {
            assert_eq!(again(reason), words);
        }
    }
}
