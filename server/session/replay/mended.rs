//! Mends the events of a damaged log, so that the conversation can go on.

use std::collections::HashSet;

use aside_turn::{
    history::{CallHistory, CallState, TurnHistory},
    model_text::ModelText,
    record::{CallKey, DirectiveKind, Event, FaultKind, Outcome, ResultReason},
    response::{Finish, Usage},
};

/// Adds the events without which no provider accepts the conversation. The events of an undamaged log are unchanged.
#[derive(Default)]
pub(super) struct MendedEvents {
    turns: HashSet<String>,
    /// History of the turn of the last event.
    history: TurnHistory,
    ids: HashSet<String>,
    /// Ids of calls whose response has not ended.
    proposed: Vec<String>,
    /// Whether a call's duplicate id was changed.
    renamed: bool,
    speaker: Speaker,
    /// Whether the user's side waits for the next request.
    owed: bool,
    /// Whether a request is out.
    requested: bool,
    /// Whether its response began and has not ended.
    answering: bool,
    out: Vec<Event>,
}

/// Last speaker in the transcript.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Speaker {
    /// Nobody yet.
    #[default]
    Nobody,
    User,
    Model,
    /// The model, which continues without a message of the user.
    PausedModel,
}

impl MendedEvents {
    /// The events that replace the next event; the event itself is the last of them.
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

    /// Whether opaque data of the provider names an id that was changed.
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

    /// Handles a request. If its new content was lost, the model is told so, unless it had paused.
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

    /// Handles a response, which needs a request and closes earlier calls.
    fn answer(&mut self) {
        if !self.requested {
            self.push(Event::RequestSent {
                step: self.history.step().saturating_add(1),
            });
        }
        self.answering = true;
    }

    fn end_response(&mut self, finish: Option<&Finish>) {
        // A response that was cancelled before its first word counts.
        if self.answering || finish.is_none() {
            self.speaker = match finish {
                Some(Finish::Pause) => Speaker::PausedModel,
                _ => Speaker::Model,
            };
        }
        self.proposed.clear();
        (self.requested, self.answering) = (false, false);
    }

    /// Drops a response without an end and its calls.
    fn drop_response(&mut self) {
        self.answering = false;
        for id in self.proposed.drain(..) {
            self.ids.remove(&id);
        }
    }

    /// Ends the response of a call that has events of its own: the end was lost.
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

    /// Adds a result for each call without one.
    fn close_calls(&mut self) {
        let results: Vec<Event> = self.history.open_calls().map(missing_result).collect();
        for result in results {
            self.owed = true;
            self.put(result);
        }
    }
}

/// The result for a call whose own was lost.
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
        media: Vec::new(),
        summary: None,
    }
}
