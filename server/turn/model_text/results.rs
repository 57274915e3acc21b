//! Results of calls that their tool did not end. These texts are exact: tests and models rely on them.

use super::{ModelText, Sentence};
use crate::{
    record::{Backend, Reason, ResultReason, Vocabulary, Word},
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

    /// A rule refuses the call or its result, or a person refused the same call before in this turn. `mode` is the
    /// turn's.
    #[must_use]
    pub fn refused(&self, tool: &str, reason: &ResultReason, mode: Mode) -> String {
        let sentence = match reason {
            ResultReason::DeniedByConfiguration => Sentence::DeniedByConfiguration,
            ResultReason::DeniedByRule => Sentence::DeniedByRule,
            ResultReason::DeniedByMode(_) => Sentence::DeniedByMode,
            ResultReason::NotTrusted => Sentence::NotTrusted,
            ResultReason::NeedsApproval { cause } if cause.is_empty() => Sentence::NeedsApproval,
            ResultReason::NeedsApproval { .. } => Sentence::NeedsApprovalFor,
            ResultReason::WithheldUnattended => Sentence::WithheldUnattended,
            _ => Sentence::NotAllowed,
        };
        let mode = match reason {
            ResultReason::DeniedByMode(Some(recorded)) => *recorded,
            _ => mode,
        };
        let cause = reason.cause().unwrap_or_default();
        let values = [("tool", tool), ("mode", mode.word()), ("why", cause)];
        self.render(sentence, &values)
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

    /// The arguments are no JSON object.
    #[must_use]
    pub fn invalid_arguments(&self, tool: &str, what: &str) -> String {
        let values = [("tool", tool), ("what", what.trim_end_matches('.'))];
        self.render(Sentence::InvalidArguments, &values)
    }

    /// The result of a call of an unknown tool.
    #[must_use]
    pub fn no_tool(&self, tool: &str) -> String {
        self.render(Sentence::UnknownTool, &[("tool", tool)])
    }

    /// The result of a run that was cut off, so that its effects are unknown.
    #[must_use]
    pub fn unknown_effects(&self, tool: &str) -> String {
        self.render(Sentence::Interrupted, &[("tool", tool)])
    }

    /// The result of a run that exceeded its time limit.
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
