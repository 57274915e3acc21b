//! What every turn keeps to, whatever happens to it.

use std::collections::{BTreeMap, BTreeSet};

use aside_turn::{
    effect::{Effect, QuestionUpdate, RequestKind, Update},
    input::{Input, RequestId},
    record::{CallKey, Event, Outcome, PromptId, PromptSubject},
    response::Piece,
};
use serde_json::Value;

use super::history;

/// Watches the effects of a turn go by.
#[derive(Debug, Default)]
pub(super) struct Watch {
    secrets: Vec<String>,
    over: bool,
    resumed: bool,
    unwritten: bool,
    started: BTreeSet<CallKey>,
    /// Requests whose responses still arrive.
    sent: BTreeSet<RequestId>,
    /// Calls whose tools run, and whether they are to stop.
    runs: BTreeMap<CallKey, bool>,
    /// Prompts that a person sees.
    asked: BTreeSet<PromptId>,
}

impl Watch {
    /// A person typed this unseen: it is never shown again.
    pub(super) fn secret(&mut self, value: &Value) {
        // A short one may be a word of any sentence.
        let text = value.as_str().filter(|text| text.len() > 7);
        self.secrets.extend(text.map(str::to_owned));
    }

    /// Looks at an input before the turn has it.
    pub(super) fn input(&mut self, input: &Input) {
        match input {
            Input::Piece(request, Piece::Finish(_)) | Input::Failed(request, _) => {
                self.sent.remove(request);
            }
            Input::Finished(call, _) => drop(self.runs.remove(call)),
            Input::Answer(prompt, _) => drop(self.asked.remove(prompt)),
            Input::AppendFailed(_) => self.unwritten = true,
            _ => {}
        }
    }

    /// Whether nothing can be recorded any more.
    pub(super) fn is_unwritten(&self) -> bool {
        self.unwritten
    }

    /// The process is gone.
    pub(super) fn crash(&mut self) {
        self.over = false;
        self.unwritten = false;
        self.resumed = true;
        self.started.clear();
        self.sent.clear();
        self.runs.clear();
        self.asked.clear();
    }

    /// Looks at an effect, with all that was recorded before it.
    pub(super) fn effect(&mut self, effect: &Effect, before: &[Event]) {
        // What comes too late for a prompt may come too late for its turn.
        let late = matches!(effect, Effect::Record(Event::LateAnswer { .. }));
        assert!(late || !self.over, "after the end: {effect:?}");
        let text = format!("{effect:?}");
        for secret in &self.secrets {
            assert!(!text.contains(secret.as_str()), "a secret is shown: {text}");
        }
        self.pair(effect, &text);
        match effect {
            Effect::Record(event) => self.record(event, before),
            Effect::Run(work) => {
                let recorded = self.started.remove(&work.call);
                assert!(recorded, "it runs before that is recorded: {text}");
            }
            Effect::OpenPrompt(prompt) => {
                let recorded = before.iter().any(
                    |event| matches!(event, Event::PromptOpened { prompt: id, .. } if *id == prompt.id),
                );
                assert!(recorded, "it is asked before that is recorded: {text}");
                assert!(
                    !prompt.id.0.contains('.'),
                    "a prompt's id has no dot: {text}"
                );
            }
            Effect::Send(request) => {
                if let RequestKind::Turn { step, .. } = request.kind {
                    let sent = Event::RequestSent { step };
                    assert!(
                        before.contains(&sent),
                        "it is sent before that is recorded: {text}"
                    );
                    history::check(before);
                }
            }
            Effect::ClosePrompt(prompt, _) => self.closed(prompt, before, &text),
            Effect::Tell(Update::Question(QuestionUpdate::Closed { prompt_id, .. })) => {
                self.closed(&PromptId(prompt_id.clone()), before, &text);
            }
            Effect::End(end) => {
                self.over = true;
                if end.outcome != Outcome::Interrupted && !text.contains("Internal") {
                    settled(before);
                }
            }
            _ => {}
        }
    }

    /// Only what was begun is ended, once, and nothing that was begun outlives the turn.
    fn pair(&mut self, effect: &Effect, text: &str) {
        let is_paired = match effect {
            Effect::Send(request) => self.sent.insert(request.id),
            Effect::Abort(request) => self.sent.remove(request),
            Effect::Run(work) => self.runs.insert(work.call, false).is_none(),
            Effect::Stop(call) => self.runs.insert(*call, true) == Some(false),
            Effect::OpenPrompt(prompt) => {
                self.asked.insert(prompt.id.clone());
                true
            }
            Effect::ClosePrompt(prompt, _) => self.asked.remove(prompt),
            Effect::End(end) => {
                let is_asked = end.outcome != Outcome::Interrupted && !self.asked.is_empty();
                self.sent.is_empty() && self.runs.values().all(|stops| *stops) && !is_asked
            }
            _ => true,
        };
        assert!(is_paired, "begun and ended are no pairs: {text}: {self:?}");
    }

    fn closed(&self, prompt: &PromptId, before: &[Event], text: &str) {
        assert!(
            self.unwritten || is_closed(before, prompt),
            "it is closed before that is recorded: {text}"
        );
    }

    fn record(&mut self, event: &Event, before: &[Event]) {
        match event {
            Event::CallStarted { call, .. } => {
                assert!(
                    result(before, *call).is_none(),
                    "it runs after its result: {event:?}"
                );
                self.started.insert(*call);
            }
            Event::ToolResult { call, held, .. } => {
                let known = before.iter().any(
                    |event| matches!(event, Event::ToolCall { call: known, .. } if known == call),
                );
                assert!(known, "a result of no call: {event:?}");
                let delivered = result(before, *call) == Some(false);
                assert!(!delivered, "a second result: {event:?}");
                assert!(
                    !held || result(before, *call).is_none(),
                    "held twice: {event:?}"
                );
            }
            Event::InquiryRequest { id, .. } => {
                assert!(
                    !pairs(before).contains_key(id.as_str()),
                    "an id twice: {event:?}"
                );
            }
            Event::InquiryResponse { id, .. } => {
                let open = pairs(before).get(id.as_str()) == Some(&false);
                assert!(open, "the outcome of no open question: {event:?}");
            }
            Event::RequestSent { step } => {
                // Each request goes out once, but again after a crash; and with every result before it.
                assert!(
                    self.resumed || !before.contains(event),
                    "sent twice: {event:?}"
                );
                self.resumed = false;
                assert!(*step > 0);
                settled(before);
            }
            _ => {}
        }
    }
}

/// Every call has its result, every question its outcome, and no prompt is open.
pub(super) fn settled(events: &[Event]) {
    let mut response = Vec::new();
    for event in events {
        match event {
            Event::RequestSent { .. } => response.clear(),
            Event::ToolCall { call, .. } => response.push(*call),
            Event::ResponseEnd { .. } => {
                for call in response.drain(..) {
                    assert_eq!(result(events, call), Some(false), "{call:?} has no result");
                }
            }
            _ => {}
        }
    }
    for (id, answered) in pairs(events) {
        assert!(answered, "the question {id} has no outcome");
    }
    for event in events {
        if let Event::PromptOpened { prompt, .. } = event {
            assert!(
                is_closed(events, prompt),
                "the prompt {prompt:?} is still open"
            );
        }
    }
}

/// Whether the record says how a prompt was settled.
fn is_closed(events: &[Event], id: &PromptId) -> bool {
    let question = events.iter().find_map(|event| match event {
        Event::PromptOpened {
            prompt,
            subject: PromptSubject::Question { inquiry },
            ..
        } if prompt == id => Some(inquiry.as_str()),
        _ => None,
    });
    match question {
        Some(inquiry) => pairs(events).get(inquiry) == Some(&true),
        // A question that was put to nobody is told by the id of its pair.
        None if pairs(events).contains_key(id.0.as_str()) => pairs(events)[id.0.as_str()],
        None => events
            .iter()
            .any(|event| matches!(event, Event::PromptClosed { prompt, .. } if prompt == id)),
    }
}

/// Whether the result of a call is held; none where it has no result.
fn result(events: &[Event], of: CallKey) -> Option<bool> {
    events.iter().rev().find_map(|event| match event {
        Event::ToolResult { call, held, .. } if *call == of => Some(*held),
        _ => None,
    })
}

/// Questions by id, and whether they have an outcome.
fn pairs(events: &[Event]) -> BTreeMap<&str, bool> {
    let mut pairs = BTreeMap::new();
    for event in events {
        match event {
            Event::InquiryRequest { id, .. } => {
                pairs.insert(id.as_str(), false);
            }
            Event::InquiryResponse { id, .. } => {
                pairs.insert(id.as_str(), true);
            }
            _ => {}
        }
    }
    pairs
}
