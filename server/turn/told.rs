//! What the model is told when a call ends otherwise than with its tool's own result. These texts are exact:
//! tests, records and models rely on them.

use crate::{
    event::{Backend, Reason, RefusalReason, ResultReason, Vocabulary, Word},
    rules::Mode,
};

/// The turn or call was cancelled.
pub const CANCELLED: &str = "Cancelled by the user.";
/// The turn's own time was over.
pub const TIME_OVER: &str = "Stopped: the turn's time limit was reached.";
/// More calls in one message than are looked at.
pub const TOO_MANY_CALLS: &str = "Too many calls in one message; not run.";
/// `answer_inquiry` was called although nobody asked.
pub const NO_INQUIRY: &str = "There is no open inquiry. Continue with your task.";

/// What the model is told when a question has no answer. `why` says what failed or was invalid, and is told
/// only where the reason has a place for it.
#[must_use]
pub fn unanswered(
    tool: &str,
    question: &str,
    reason: &Reason,
    why: Option<&str>,
    note: Option<&str>,
) -> String {
    let why = why.unwrap_or("unknown");
    match reason {
        Reason::User => with_note(
            "The user dismissed the question. Do not ask it again in this turn; continue without it or explain \
             what is missing."
                .into(),
            note,
        ),
        Reason::Withdrawn => CANCELLED.into(),
        Reason::BackendError | Reason::Other(_) => format!(
            "{tool}: the question could not be shown: {why}. Do not retry this tool call in this turn."
        ),
        Reason::NoPromptBackend => format!(
            "{tool} cannot run because no interactive client is attached. Do not retry this tool call in this \
             turn; continue without user input or explain what information is missing."
        ),
        Reason::AssistantRoutingDenied => format!(
            "{tool} requires a human answer and cannot be routed to the assistant. Do not retry this tool call \
             in this turn."
        ),
        Reason::InvalidStaticAnswer => format!(
            "{tool}: the configured conversation.tools.{tool}.questions.{question}.answer value does not match \
             the question's answer_type. Update the configuration; do not retry."
        ),
        Reason::DetachedPolicy => format!(
            "{tool} needs an answer that the current policy does not allow. Do not retry this tool call in this \
             turn; continue without it or explain what is missing."
        ),
        Reason::InvalidQuestion => {
            format!("{tool} asked an invalid question ({why}). This is a defect of the tool; do not retry.")
        }
        Reason::LimitReached => {
            format!("{tool} keeps asking and was stopped. Do not retry this tool call in this turn.")
        }
    }
}

/// What the model is told of a question that has no answer, from its record: see [`unanswered`].
#[must_use]
pub fn no_answer(
    tool: &str,
    question: &str,
    reason: &Reason,
    backend: Option<&Word<Backend>>,
    why: Option<&str>,
    note: Option<&str>,
) -> String {
    match backend.and_then(Word::known) {
        Some(Backend::Inquiry) => inquiry_failed(why.unwrap_or("unknown")),
        Some(Backend::Client) | None => unanswered(tool, question, reason, why, note),
    }
}

/// A model was asked and did not answer.
#[must_use]
pub fn inquiry_failed(why: &str) -> String {
    format!("Inquiry failed: {why}")
}

/// A person said no.
#[must_use]
pub fn not_allowed(tool: &str, note: Option<&str>) -> String {
    let text = format!(
        "The user did not allow {tool} to run. Do not retry it in this turn; ask or continue without it."
    );
    with_note(text, note)
}

/// A configuration key says no.
#[must_use]
pub fn denied_by_key(tool: &str) -> String {
    format!(
        "{tool} is not allowed here (conversation.tools.{tool}.run). Do not retry it in this turn."
    )
}

/// The mode says no.
#[must_use]
pub fn denied_by_mode(tool: &str, mode: Mode) -> String {
    format!(
        "{tool} is not allowed here ({} mode). Do not retry it in this turn.",
        mode.word()
    )
}

/// The workspace is not trusted.
#[must_use]
pub fn not_trusted(tool: &str) -> String {
    format!("{tool} is not allowed here (workspace not trusted). Do not retry it in this turn.")
}

/// It needs approval and nobody is there.
#[must_use]
pub fn needs_approval(tool: &str) -> String {
    format!(
        "{tool} needs approval and no interactive client is attached. Do not retry it in this turn."
    )
}

/// The same call was refused before in this turn, for this reason. `mode` is the turn's.
#[must_use]
pub fn refused_again(tool: &str, reason: &ResultReason, mode: Mode) -> String {
    match reason {
        ResultReason::DeniedByConfiguration => denied_by_key(tool),
        ResultReason::DeniedByMode(recorded) => denied_by_mode(tool, recorded.unwrap_or(mode)),
        ResultReason::NotTrusted => not_trusted(tool),
        ResultReason::NeedsApproval => needs_approval(tool),
        _ => not_allowed(tool, None),
    }
}

/// What was refused for want of a person.
#[must_use]
pub fn refusal(tool: &str, reason: RefusalReason) -> String {
    let unanswered = |reason| unanswered(tool, "", &reason, None, None);
    match reason {
        RefusalReason::NoPromptBackend => unanswered(Reason::NoPromptBackend),
        RefusalReason::DetachedPolicy => unanswered(Reason::DetachedPolicy),
        RefusalReason::NeedsApproval => needs_approval(tool),
        RefusalReason::Withheld => result_needs_approval(tool),
    }
}

/// A `runTool` or `deliverResult` prompt could not be shown.
#[must_use]
pub fn not_shown(tool: &str, why: &str) -> String {
    format!(
        "{tool}: the prompt could not be shown: {why}. Do not retry this tool call in this turn."
    )
}

/// A person withheld the result.
#[must_use]
pub fn withheld(tool: &str, note: Option<&str>) -> String {
    with_note(format!("The user withheld the result of {tool}."), note)
}

/// The result needs approval and nobody is there.
#[must_use]
pub fn result_needs_approval(tool: &str) -> String {
    format!("The result of {tool} needs approval and no interactive client is attached.")
}

/// The arguments do not fit.
#[must_use]
pub fn invalid_arguments(tool: &str, what: &str) -> String {
    format!(
        "Invalid arguments for {tool}: {}.",
        what.trim_end_matches('.')
    )
}

/// There is no such tool.
#[must_use]
pub fn no_tool(tool: &str) -> String {
    format!("There is no tool {tool}.")
}

/// It was started before a crash and has no result.
#[must_use]
pub fn unknown_effects(tool: &str) -> String {
    format!("{tool} was interrupted; its effects are unknown. Look before you run it again.")
}

/// It ran past its time limit.
#[must_use]
pub fn too_slow(tool: &str, seconds: u64) -> String {
    format!("{tool} ran longer than {seconds} s and was stopped; its effects are unknown.")
}

fn with_note(text: String, note: Option<&str>) -> String {
    match note {
        Some(note) if !note.trim().is_empty() => format!("{text}\nThe user said: {note}"),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_follows_on_a_line_of_its_own_unless_it_says_nothing() {
        let bare = not_allowed("edit", None);
        assert_eq!(not_allowed("edit", Some(" \n")), bare);
        assert_eq!(
            not_allowed("edit", Some("later")),
            format!("{bare}\nThe user said: later")
        );
    }
}
