//! Parts of a log that could not be read, as they are told of.

use std::collections::HashSet;

use aside_session::lines::UnreadableLine;
use aside_turn::{
    model_text::ModelText,
    record::{DirectiveKind, Event, FaultKind},
};

/// A part of the log that could not be read.
pub(in crate::engine) struct LostPart {
    /// Description and position of the part.
    pub(in crate::engine) text: String,
    /// Report for the model; `None` if the model already has it.
    pub(in crate::engine) report: Option<Event>,
}

/// Describes a part of the log that could not be read. `reported` are the faults that the model knows.
pub(super) fn lost(fault: &UnreadableLine, reported: &HashSet<(u64, FaultKind)>) -> LostPart {
    let text = format!("{fault}; it was left out.");
    let kind = DirectiveKind::Lost {
        line: fault.line,
        fault: fault.kind.into(),
    };
    let report = (!reported.contains(&(fault.line, fault.kind))).then(|| Event::Directive {
        text: ModelText::default().directive(&kind, &text),
        kind,
    });
    LostPart { text, report }
}
