//! The transcript of a conversation from its log, also where lines of the log could not be read.

use std::collections::HashSet;

use super::{Entry, Record};
use crate::turn::{
    event::{Event, ResultReason},
    history::{CallHistory, CallState, TurnHistory},
    model_text::ModelText,
    transcript::Transcript,
};

/// All that providers were sent. Where lines are missing, what is left is put together so that a next request
/// is valid: each call of a turn that went on has a result, and results come before what the model said to
/// them. An unfinished last turn is left as it is, for a resume.
#[must_use]
pub fn transcript(records: &[Record]) -> Transcript {
    let mut folded = Folded::default();
    for record in records {
        if let Entry::Changed(_) = &record.entry {
            folded.transcript.change();
        }
        let Some(event) = record.entry.event() else {
            continue;
        };
        if let Some(turn) = &record.turn {
            let new = folded.turns.insert(turn.clone());
            if new && *event != Event::TurnStart {
                folded.push(&Event::TurnStart);
            }
        }
        folded.push(event);
    }
    folded.transcript
}

#[derive(Default)]
struct Folded {
    transcript: Transcript,
    turns: HashSet<String>,
    /// Of the turn that the last event belongs to.
    history: TurnHistory,
    /// Results were recorded and no request since.
    unsent: bool,
}

impl Folded {
    fn push(&mut self, event: &Event) {
        match event {
            Event::TurnStart => {
                self.close_calls();
                self.history = TurnHistory::default();
                self.unsent = false;
            }
            Event::RequestSent { .. } => {
                self.close_calls();
                self.unsent = false;
            }
            Event::Text { .. } | Event::Reasoning { .. } | Event::ToolCall { .. }
                if self.unsent || self.history.open_calls().next().is_some() =>
            {
                // The line that says so was lost: there is no answer without a request.
                let step = self.history.step();
                self.push(&Event::RequestSent { step });
            }
            Event::ToolResult { held: false, .. } => self.unsent = true,
            _ => {}
        }
        self.take(event);
    }

    /// A result for each call that has none.
    fn close_calls(&mut self) {
        let results: Vec<Event> = self.history.open_calls().map(missing_result).collect();
        for result in &results {
            self.take(result);
        }
    }

    fn take(&mut self, event: &Event) {
        self.history.apply(event);
        self.transcript.push(event);
    }
}

/// The result of a call whose own was lost.
fn missing_result(call: &CallHistory) -> Event {
    let text = ModelText::default();
    let (reason, content) = match call.state() {
        CallState::Running { .. } => (ResultReason::Interrupted, text.unknown_effects(call.tool())),
        _ => (ResultReason::Cancelled, text.cancelled()),
    };
    Event::ToolResult {
        call: call.key(),
        end: reason.into(),
        content,
        held: false,
        details: None,
    }
}
