//! The events of a log, with what was lost between them put in its place: what is left of a damaged conversation is
//! one that can go on.

use std::collections::HashSet;

use aside_turn::{
    history::{CallHistory, CallState, TurnHistory},
    model_text::ModelText,
    record::{CallKey, DirectiveKind, Event, FaultKind, Outcome, ResultReason},
    response::{Finish, Usage},
};

/// Reads events in their order and adds those without which no provider takes the conversation. Of a log without
/// damage each event stays as it is, and none is added.
#[derive(Default)]
pub(super) struct MendedEvents {
    turns: HashSet<String>,
    /// Of the turn that the last event belongs to.
    history: TurnHistory,
    ids: HashSet<String>,
    /// Those of them whose response has no end yet.
    proposed: Vec<String>,
    /// A call's id was another call's, and was changed.
    renamed: bool,
    speaker: Speaker,
    /// Something waits on the user's side for the next request.
    owed: bool,
    /// A request is out.
    requested: bool,
    /// Something of its response is there, and not its end.
    answering: bool,
    out: Vec<Event>,
}

/// Who spoke last in what providers are sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Speaker {
    /// Nobody yet.
    #[default]
    Nobody,
    User,
    Model,
    /// The model, which goes on without a word of the user's.
    PausedModel,
}

impl MendedEvents {
    /// What stands for the next event, of this turn or of none: the event is the last of it.
    pub(super) fn take(&mut self, turn: Option<&str>, event: &Event) -> Vec<Event> {
        if let Some(turn) = turn
            && !self.turns.contains(turn)
        {
            self.turns.insert(turn.to_owned());
            if *event != Event::TurnStart {
                self.push(Event::TurnStart);
            }
        }
        self.push(event.clone());
        std::mem::take(&mut self.out)
    }

    /// What the provider gave with a call names another id than the call has now.
    pub(super) fn has_renamed(&self) -> bool {
        self.renamed
    }

    fn push(&mut self, mut event: Event) {
        match &mut event {
            Event::TurnStart => {
                self.close_calls();
                self.drop_response();
                self.requested = false;
                self.history = TurnHistory::default();
            }
            Event::RequestSent { .. } => self.request(),
            Event::Text { .. } | Event::Reasoning { .. } => self.answer(),
            Event::ToolCall { id, .. } => {
                self.answer();
                self.tell_apart(id);
            }
            Event::ResponseEnd { finish, .. } => self.end_response(finish.as_ref()),
            Event::CallStarted { call, .. }
            | Event::PromptOpened { call, .. }
            | Event::InquiryRequest { call, .. } => self.begin_calls(*call),
            Event::ToolResult { call, held, .. } => {
                self.begin_calls(*call);
                self.owed |= !*held && self.history.call(*call).is_some();
            }
            Event::UserMessage { .. } | Event::Steer { .. } | Event::Directive { .. } => {
                self.owed = true;
            }
            Event::TurnEnd { outcome, .. } if *outcome != Outcome::Interrupted => {
                self.close_calls()
            }
            _ => {}
        }
        self.put(event);
    }

    fn put(&mut self, event: Event) {
        self.history.apply(&event);
        self.out.push(event);
    }

    /// A request takes something along, unless the model paused: where that was lost, the model is told so.
    fn request(&mut self) {
        self.close_calls();
        let goes_on = self.owed || matches!(self.speaker, Speaker::User | Speaker::PausedModel);
        if !goes_on {
            let kind = DirectiveKind::Lost {
                line: 0,
                fault: FaultKind::Gap.into(),
            };
            let text = ModelText::default().directive(&kind, "what was said here.");
            self.put(Event::Directive { kind, text });
            self.owed = true;
        }
        if self.owed {
            self.speaker = Speaker::User;
        }
        self.drop_response();
        (self.owed, self.requested) = (false, true);
    }

    /// There is no answer without a request, and no call goes on behind one.
    fn answer(&mut self) {
        if !self.requested {
            self.push(Event::RequestSent {
                step: self.history.step().saturating_add(1),
            });
        }
        self.answering = true;
    }

    fn end_response(&mut self, finish: Option<&Finish>) {
        // A response that was cancelled before its first word stands there as one.
        if self.answering || finish.is_none() {
            self.speaker = match finish {
                Some(Finish::Pause) => Speaker::PausedModel,
                _ => Speaker::Model,
            };
        }
        self.proposed.clear();
        (self.requested, self.answering) = (false, false);
    }

    /// A response without an end counts as not there, and so do its calls.
    fn drop_response(&mut self) {
        self.answering = false;
        for id in self.proposed.drain(..) {
            self.ids.remove(&id);
        }
    }

    /// A call that did something was made: the end of its response was lost.
    fn begin_calls(&mut self, call: CallKey) {
        let proposed = |call: &CallHistory| *call.state() == CallState::Proposed;
        if self.answering && self.history.call(call).is_some_and(proposed) {
            self.push(Event::ResponseEnd {
                finish: Some(Finish::ToolUse),
                usage: Usage::default(),
            });
        }
    }

    fn tell_apart(&mut self, id: &mut String) {
        let mut numbers = self.ids.len()..;
        while !self.ids.insert(id.clone()) {
            self.renamed = true;
            *id = format!("aside-again-{}", numbers.next().unwrap_or_default());
        }
        self.proposed.push(id.clone());
    }

    /// A result for each call that has none.
    fn close_calls(&mut self) {
        let results: Vec<Event> = self.history.open_calls().map(missing_result).collect();
        for result in results {
            self.owed = true;
            self.put(result);
        }
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
