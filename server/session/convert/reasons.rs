//! Why results and directives are there, as members of their lines.

use aside_turn::{
    record::{CallEnd, CallKey, DirectiveKind, Event, ResultReason, Status, Vocabulary, Word},
    rules::Mode,
};

use super::super::disk;

pub(super) fn directive_of(kind: DirectiveKind, text: String) -> disk::Directive {
    let blank = |kind: &str| disk::Directive {
        kind: Some(kind.to_owned()),
        tool: None,
        line: None,
        fault: None,
        undone: None,
        text,
    };
    match kind {
        DirectiveKind::Cut => blank("cut"),
        DirectiveKind::SchemaRepair => blank("schema_repair"),
        DirectiveKind::Force { tool } => disk::Directive {
            tool,
            ..blank("force")
        },
        DirectiveKind::ForceAgain { tool } => disk::Directive {
            tool,
            ..blank("force_again")
        },
        DirectiveKind::Lost { line, fault } => disk::Directive {
            line: Some(line),
            fault: Some(fault.as_str().to_owned()),
            ..blank("lost")
        },
        DirectiveKind::Undone { turn } => disk::Directive {
            undone: Some(turn),
            ..blank("undone")
        },
        DirectiveKind::Other(word) => {
            let kind = Some(word).filter(|word| !word.is_empty());
            disk::Directive { kind, ..blank("") }
        }
    }
}

impl From<disk::Directive> for Event {
    fn from(directive: disk::Directive) -> Self {
        let disk::Directive {
            kind,
            tool,
            line,
            fault,
            undone,
            text,
        } = directive;
        let kind = match kind.as_deref() {
            None => DirectiveKind::Other(String::new()),
            Some("cut") => DirectiveKind::Cut,
            Some("schema_repair") => DirectiveKind::SchemaRepair,
            Some("force") => DirectiveKind::Force { tool },
            Some("force_again") => DirectiveKind::ForceAgain { tool },
            Some("lost") => DirectiveKind::Lost {
                line: line.unwrap_or_default(),
                fault: Word::of(&fault.unwrap_or_default()),
            },
            Some("undone") => DirectiveKind::Undone {
                turn: undone.unwrap_or_default(),
            },
            Some(other) => DirectiveKind::Other(other.to_owned()),
        };
        Self::Directive { kind, text }
    }
}

/// The members that say how a call ended; the rest of the line is empty.
pub(super) fn result_of(call: CallKey, end: &CallEnd) -> disk::ToolResult {
    let reason = end.reason();
    let mode = match reason {
        Some(ResultReason::DeniedByMode(mode)) => mode.map(|mode| mode.word().to_owned()),
        _ => None,
    };
    disk::ToolResult {
        call: call.0,
        status: end.status().into(),
        reason: reason
            .map(|reason| reason.word().to_owned())
            .filter(|word| !word.is_empty()),
        noted: matches!(reason, Some(ResultReason::Declined { noted: true })),
        mode,
        content: String::new(),
        held: false,
        details: None,
    }
}

impl From<disk::ToolResult> for Event {
    fn from(result: disk::ToolResult) -> Self {
        let disk::ToolResult {
            call,
            status,
            reason,
            noted,
            mode,
            content,
            held,
            details,
        } = result;
        let status = Status::from(status);
        let end = match reason {
            Some(word) => {
                let mode = mode.as_deref().and_then(Mode::of);
                ResultReason::of(&word, status, noted, mode).into()
            }
            None => match status {
                Status::Ok => CallEnd::Success,
                Status::Error => CallEnd::Failure,
                Status::Cancelled | Status::Denied => {
                    let word = String::new();
                    ResultReason::Unknown { status, word }.into()
                }
            },
        };
        Self::ToolResult {
            call: CallKey(call),
            end,
            content,
            held,
            details,
        }
    }
}
