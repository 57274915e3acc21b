//! Lines that say in a sentence, or not at all, what later ones say in a member of their own.
//!
//! This is the only place that reads a sentence back. The sentences stand here once more, as they were when those
//! lines were written: what models are told today may be worded in any other way.

use crate::turn::{
    record::{
        Backend, By, CallEnd, DirectiveKind, FaultKind, Reason, ResultReason, Status, Vocabulary,
        Word,
    },
    rules::Mode,
};

/// Who answered, in a response that does not say: there were only models' answers on record then.
pub(super) const ANSWERED_BY: By = By::Assistant;

/// What failed, in a response without `backend`. Only a model's failure says what it took.
pub(super) fn backend(reason: &Reason, has_effort: bool) -> Option<Backend> {
    (*reason == Reason::BackendError).then_some(if has_effort {
        Backend::Inquiry
    } else {
        Backend::Client
    })
}

/// How a call ended whose result gives no reason.
pub(super) fn call_end(status: Status, content: &str) -> CallEnd {
    match status {
        Status::Ok => CallEnd::Success,
        // A tool may have printed the words of any error, so they say nothing.
        Status::Error => CallEnd::Failure,
        Status::Cancelled if content.starts_with("Stopped: the turn's time limit ") => {
            ResultReason::TimeOver.into()
        }
        Status::Cancelled => ResultReason::Cancelled.into(),
        Status::Denied => denied(content).into(),
    }
}

/// Why a call was denied. Every sentence is one of Aside's own; the name of a tool has neither blank nor colon in it,
/// so it ends at the first of them.
fn denied(content: &str) -> ResultReason {
    let unknown = ResultReason::Unknown {
        status: Status::Denied,
        word: String::new(),
    };
    if let Some(rest) = content.strip_prefix("The user did not allow ") {
        let noted = rest.contains("\nThe user said: ");
        return ResultReason::Declined { noted };
    }
    if content.starts_with("The user withheld the result of ") {
        return ResultReason::Withheld;
    }
    if content.starts_with("The result of ") {
        return ResultReason::WithheldUnattended;
    }
    let Some(at) = content.find([' ', ':']) else {
        return unknown;
    };
    let rest = &content[at..];
    if rest.starts_with(": the prompt could not be shown") {
        ResultReason::PromptFailed
    } else if rest.starts_with(" needs approval and ") {
        ResultReason::NeedsApproval
    } else if let Some(cause) = rest.strip_prefix(" is not allowed here (") {
        not_allowed_here(cause).unwrap_or(unknown)
    } else {
        unknown
    }
}

/// What of the configuration does not allow a call, from the words in parentheses.
fn not_allowed_here(cause: &str) -> Option<ResultReason> {
    let (cause, _) = cause.split_once(')')?;
    if cause.starts_with("conversation.tools.") {
        Some(ResultReason::DeniedByConfiguration)
    } else if cause == "workspace not trusted" {
        Some(ResultReason::NotTrusted)
    } else {
        let mode = cause.strip_suffix(" mode")?;
        Some(ResultReason::DeniedByMode(Mode::of(mode)))
    }
}

/// What a directive is for that does not say so.
pub(super) fn directive_kind(text: &str) -> DirectiveKind {
    if text.starts_with("Your last response was cut off ") {
        return DirectiveKind::Cut;
    }
    if text.starts_with("Your answer does not fit the schema ") {
        return DirectiveKind::SchemaRepair;
    }
    if text.starts_with("The user took back the changes ") {
        let turn = String::new();
        return DirectiveKind::Undone { turn };
    }
    forced(text)
        .or_else(|| lost(text))
        .unwrap_or_else(|| DirectiveKind::Other(String::new()))
}

fn forced(text: &str) -> Option<DirectiveKind> {
    let quoted = |rest: &str| rest.split('`').next().map(str::to_owned);
    if text.starts_with("Call one of your tools ") {
        return Some(DirectiveKind::Force { tool: None });
    }
    if let Some(rest) = text.strip_prefix("Call the tool `") {
        let tool = quoted(rest);
        return Some(DirectiveKind::Force { tool });
    }
    let rest = text.strip_prefix("You answered without calling ")?;
    let tool = rest.strip_prefix('`').and_then(quoted);
    Some(DirectiveKind::ForceAgain { tool })
}

/// `Part of this conversation was lost: line 7 of the conversation's log does not match its checksum; …`
fn lost(text: &str) -> Option<DirectiveKind> {
    let rest = text.strip_prefix("Part of this conversation was lost: line ")?;
    let (line, rest) = rest.split_once(' ')?;
    let line = line.parse().ok()?;
    let what = rest.strip_prefix("of the conversation's log ")?;
    let phrases = [
        ("does not match its checksum", FaultKind::Checksum),
        ("is not JSON", FaultKind::NotJson),
        ("has number ", FaultKind::Gap),
        ("has no ", FaultKind::Incomplete),
        ("has a turn ", FaultKind::Incomplete),
        ("is cut off", FaultKind::Torn),
        ("is not an event ", FaultKind::Unreadable),
        ("is of an unknown type", FaultKind::Unreadable),
        ("is no event of a turn", FaultKind::Unreadable),
        ("closes a prompt as ", FaultKind::Unreadable),
        ("ends a question as ", FaultKind::Unreadable),
    ];
    let known = phrases
        .into_iter()
        .find(|(phrase, _)| what.starts_with(phrase));
    let fault = known.map_or_else(
        || Word::Unknown(String::new()),
        |(_, kind)| Word::Known(kind),
    );
    Some(DirectiveKind::Lost { line, fault })
}

#[cfg(test)]
mod tests;
