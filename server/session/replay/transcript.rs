//! The transcript of a conversation from its log, also where lines of the log could not be read.

use std::collections::HashSet;

use crate::turn::{
    history::{CallHistory, CallState, TurnHistory},
    model_text::ModelText,
    record::{Event, ResultReason},
    transcript::Transcript,
};

/// A transcript on its way, put together so that a next request is valid.
#[derive(Default)]
pub(super) struct TranscriptFold {
    transcript: Transcript,
    turns: HashSet<String>,
    /// Of the turn that the last event belongs to.
    history: TurnHistory,
    /// Results were recorded and no request since.
    unsent: bool,
}

impl TranscriptFold {
    /// Takes in the next event, of this turn or of none.
    pub(super) fn event(&mut self, turn: Option<&str>, event: &Event) {
        if let Some(turn) = turn
            && !self.turns.contains(turn)
        {
            self.turns.insert(turn.to_owned());
            if *event != Event::TurnStart {
                self.push(&Event::TurnStart);
            }
        }
        self.push(event);
    }

    /// Model, tools or instructions are others from now on.
    pub(super) fn change(&mut self) {
        self.transcript.change();
    }

    pub(super) fn end(self) -> Transcript {
        self.transcript
    }

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
