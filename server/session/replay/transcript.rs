//! The transcript of a conversation from its log, also where lines of the log could not be read.

use std::collections::HashSet;

use super::{Entry, OpenCalls, Record};
use crate::turn::{event::Event, transcript::Transcript};

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
    calls: OpenCalls,
    /// Results were recorded and no request since.
    unsent: bool,
}

impl Folded {
    fn push(&mut self, event: &Event) {
        match event {
            Event::TurnStart => {
                self.close_calls();
                self.calls = OpenCalls::default();
                self.unsent = false;
            }
            Event::RequestSent { .. } => {
                self.close_calls();
                self.unsent = false;
            }
            Event::Text { .. } | Event::Reasoning { .. } | Event::ToolCall { .. }
                if self.unsent || !self.calls.calls.is_empty() =>
            {
                // The line that says so was lost: there is no answer without a request.
                self.push(&Event::RequestSent { step: 0 });
            }
            Event::ToolResult { held: false, .. } => self.unsent = true,
            _ => {}
        }
        self.calls.take(event);
        self.transcript.push(event);
    }

    fn close_calls(&mut self) {
        for result in self.calls.results() {
            self.transcript.push(&result);
        }
    }
}
