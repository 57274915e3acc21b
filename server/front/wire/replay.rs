//! A turn's updates put together from its log: pieces joined, without what a tool printed on the way and without
//! retries.

use std::collections::BTreeMap;

use aside_turn::{
    history::{CallHistory, TurnHistory},
    input::ToolOutput,
    question::Source,
    record::{
        By, CallEnd, CallKey, Closed, Event, InquiryResponse, PromptId, PromptSubject, Reason,
    },
    response,
};
use serde_json::Value;

use super::{CallStatus, InquiryStatus, PromptKind, PromptOutcome, QuestionUpdate, Update, Usage};
use crate::session::{record::Edit, replay::Turn};

/// The updates of a turn. `uri` makes one of a path from the workspace's root; `hidden` says of a tool whether its
/// calls are not shown.
#[must_use]
pub fn updates(
    turn: &Turn,
    uri: impl Fn(&str) -> String,
    hidden: impl Fn(&str) -> bool,
) -> Vec<Update> {
    let history = turn.history();
    let mut put = Put {
        updates: Vec::new(),
        step: 0,
        usage: response::Usage::default(),
        edits: edits(&turn.edits, &uri),
        history: &history,
        hidden: &hidden,
    };
    for (place, event) in (0..).zip(&turn.events) {
        put.event(place, event);
    }
    for (call, uris) in std::mem::take(&mut put.edits) {
        put.edited(call, uris);
    }
    put.updates
}

/// The files that each call changed, as URIs. They are on record beside the turn's own events.
fn edits(edits: &[Edit], uri: &dyn Fn(&str) -> String) -> BTreeMap<CallKey, Vec<String>> {
    let mut by_call: BTreeMap<CallKey, Vec<String>> = BTreeMap::new();
    for edit in edits {
        let uris = by_call.entry(CallKey(edit.call)).or_default();
        uris.push(uri(&edit.path));
    }
    by_call
}

/// One pass over the events, with what became of all that they are about.
struct Put<'a> {
    updates: Vec<Update>,
    step: u32,
    usage: response::Usage,
    /// What was not told yet: it stands before the result of its call.
    edits: BTreeMap<CallKey, Vec<String>>,
    history: &'a TurnHistory,
    hidden: &'a dyn Fn(&str) -> bool,
}

impl Put<'_> {
    /// `place` is that of the event in its turn.
    fn event(&mut self, place: u32, event: &Event) {
        match event {
            Event::RequestSent { step } => self.step = *step,
            Event::Text { text, .. } if !text.is_empty() => {
                let (step, text) = (self.step, text.clone());
                self.updates.push(Update::Text { step, text });
            }
            Event::Reasoning { text, .. } if !text.is_empty() => {
                let (step, text) = (self.step, text.clone());
                self.updates.push(Update::Reasoning { step, text });
            }
            Event::ToolCall { .. } => self.call(place, event),
            Event::ToolResult {
                call,
                end,
                content,
                held: false,
                details,
            } => self.result(*call, end, content, details.as_ref()),
            Event::Steer { text } => self.updates.push(Update::Steered { text: text.clone() }),
            Event::Notice { level, text } => self.updates.push(Update::Notice {
                level: *level,
                text: text.clone(),
            }),
            Event::ResponseEnd { usage, .. } => {
                self.usage.count(usage);
                self.updates.push(Update::Usage(Usage::from(self.usage)));
            }
            Event::PromptOpened { prompt, .. } => self.opened(place, prompt),
            Event::PromptClosed { prompt, closed } if self.is_last(place, prompt) => {
                let closed = of_closed(prompt.0.clone(), closed);
                self.updates.push(Update::Question(closed));
            }
            Event::InquiryResponse { id, call, response } => {
                self.answered(place, id, *call, response);
            }
            _ => {}
        }
    }

    fn call(&mut self, place: u32, event: &Event) {
        let Event::ToolCall {
            call,
            id,
            name,
            arguments,
            ..
        } = event
        else {
            return;
        };
        if (self.hidden)(name) {
            return;
        }
        // A response that was cut off may have made another call with this key.
        let known = self.history.call(*call);
        let title = known
            .filter(|call| call.first() == place)
            .map(CallHistory::title)
            .filter(|title| !title.is_empty());
        self.updates.push(Update::ToolCall {
            step: self.step,
            call_id: id.clone(),
            name: name.clone(),
            title: title.unwrap_or(name).to_owned(),
            arguments: serde_json::from_str(arguments).unwrap_or(Value::Null),
            status: CallStatus::Running,
        });
    }

    fn result(&mut self, key: CallKey, end: &CallEnd, content: &str, details: Option<&Value>) {
        if let Some(uris) = self.edits.remove(&key) {
            self.edited(key, uris);
        }
        if let Some(call) = self.history.call(key)
            && !(self.hidden)(call.tool())
        {
            self.updates.push(Update::ToolResult {
                call_id: call.id().to_owned(),
                status: end.status(),
                summary: content.lines().next().unwrap_or_default().to_owned(),
                exit_status: ToolOutput::exit_status(details),
                diff: None,
            });
        }
    }

    fn edited(&mut self, call: CallKey, uris: Vec<String>) {
        if let Some(call) = self.history.call(call) {
            let call_id = call.id().to_owned();
            self.updates.push(Update::Edit { call_id, uris });
        }
    }

    fn opened(&mut self, place: u32, id: &PromptId) {
        let opened = self.history.prompt(id);
        let Some(opened) = opened.filter(|prompt| prompt.first() == place) else {
            // Older programs open the same prompt again on a resume.
            return;
        };
        let Some(call) = self.history.call(opened.call()) else {
            return;
        };
        let tool = call.tool();
        let text = opened.subject().text(tool).unwrap_or_default();
        let (prompt_kind, label, text) = match opened.subject() {
            PromptSubject::Question { inquiry } => {
                let Some(asked) = self.history.question(inquiry) else {
                    return;
                };
                let text = asked.question().text.clone();
                (PromptKind::Question, label(asked.source()), text)
            }
            PromptSubject::RunTool { .. } => (PromptKind::RunTool, tool.to_owned(), text),
            PromptSubject::DeliverResult => (PromptKind::DeliverResult, tool.to_owned(), text),
        };
        self.updates.push(Update::Question(QuestionUpdate::Opened {
            prompt_id: id.0.clone(),
            call_id: call.id().to_owned(),
            prompt_kind,
            label,
            text,
        }));
    }

    fn answered(&mut self, place: u32, pair: &str, call: CallKey, response: &InquiryResponse) {
        if let InquiryResponse::Answered {
            effort: Some(effort),
            ..
        }
        | InquiryResponse::Cancelled {
            effort: Some(effort),
            ..
        } = response
        {
            self.usage.count(&effort.usage);
        }
        let asked = self.history.question(pair);
        if let Some(prompt) = asked.and_then(|asked| asked.prompt())
            && self.is_last(place, prompt)
        {
            let closed = of_response(prompt.0.clone(), response);
            return self.updates.push(Update::Question(closed));
        }
        let status = match response {
            InquiryResponse::Answered {
                effort: Some(_), ..
            } => InquiryStatus::Answered,
            InquiryResponse::Cancelled {
                effort: Some(_), ..
            } => InquiryStatus::Failed,
            _ => return self.settled_unasked(pair, response),
        };
        if let Some(call) = self.history.call(call) {
            // When it was asked is not on record.
            for status in [InquiryStatus::Asked, status] {
                let call_ids = vec![call.id().to_owned()];
                self.updates.push(Update::Inquiry { call_ids, status });
            }
        }
    }

    /// A question that was put to nobody: the configuration, a default or what was said before decided.
    fn settled_unasked(&mut self, pair: &str, response: &InquiryResponse) {
        let by_configuration = match response {
            InquiryResponse::Answered { by, .. } => {
                matches!(by, By::Config | By::Remembered | By::Default)
            }
            InquiryResponse::Cancelled { reason, .. } => reason.is_by_configuration(),
            InquiryResponse::Redacted { .. } => false,
        };
        let asked = self.history.question(pair);
        let Some(asked) = asked.filter(|asked| by_configuration && asked.prompt().is_none()) else {
            return;
        };
        let Some(call) = self.history.call(asked.call()) else {
            return;
        };
        self.updates.push(Update::Question(QuestionUpdate::Opened {
            prompt_id: pair.to_owned(),
            call_id: call.id().to_owned(),
            prompt_kind: PromptKind::Question,
            label: label(asked.source()),
            text: asked.question().text.clone(),
        }));
        let closed = of_response(pair.to_owned(), response);
        self.updates.push(Update::Question(closed));
    }

    /// Whether nothing comes after this event that is about the prompt.
    fn is_last(&self, place: u32, prompt: &PromptId) -> bool {
        let known = self.history.prompt(prompt);
        known.is_some_and(|prompt| prompt.last() == place)
    }
}

/// Who asks.
fn label(source: &Source) -> String {
    match source {
        Source::Assistant => "Assistant".to_owned(),
        Source::Tool { name } => name.clone(),
    }
}

fn of_response(prompt_id: String, response: &InquiryResponse) -> QuestionUpdate {
    let (outcome, by, reason, answer) = match response {
        InquiryResponse::Answered { answer, by, .. } => (
            PromptOutcome::Answered,
            Some(*by),
            None,
            Some(answer.clone()),
        ),
        InquiryResponse::Redacted { .. } => (PromptOutcome::Redacted, Some(By::User), None, None),
        InquiryResponse::Cancelled { reason, .. } => {
            (PromptOutcome::Cancelled, None, Some(reason.clone()), None)
        }
    };
    QuestionUpdate::Closed {
        prompt_id,
        outcome,
        by,
        reason,
        answer,
    }
}

fn of_closed(prompt_id: String, closed: &Closed) -> QuestionUpdate {
    let cancelled = |reason| (PromptOutcome::Cancelled, None, Some(reason), None);
    let (outcome, by, reason, answer) = match closed {
        Closed::Permitted { .. } | Closed::Delivered { .. } => (
            PromptOutcome::Answered,
            Some(By::User),
            None,
            closed.answer(),
        ),
        Closed::Declined { .. } => cancelled(Reason::User),
        Closed::Withdrawn => cancelled(Reason::Withdrawn),
        Closed::Failed { .. } => cancelled(Reason::BackendError),
    };
    QuestionUpdate::Closed {
        prompt_id,
        outcome,
        by,
        reason,
        answer,
    }
}
