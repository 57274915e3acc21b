//! A turn's updates put together from its log: pieces joined, without what a tool printed on the way and without
//! retries.

use std::collections::HashMap;

use serde_json::Value;

use super::{CallStatus, InquiryStatus, PromptKind, PromptOutcome, QuestionUpdate, Update, Usage};
use crate::{
    session::{record::Edit, replay::Turn},
    turn::{
        event::{By, CallKey, Closed, Event, InquiryResponse, PromptSubject},
        question::{Question, Source},
        response,
    },
};

/// The updates of a turn. `uri` makes one of a path from the workspace's root; `hidden` says of a tool whether its
/// calls are not shown.
#[must_use]
pub fn updates(
    turn: &Turn,
    uri: impl Fn(&str) -> String,
    hidden: impl Fn(&str) -> bool,
) -> Vec<Update> {
    let mut put = Put {
        updates: Vec::new(),
        step: 0,
        calls: HashMap::new(),
        asked: HashMap::new(),
        prompts: HashMap::new(),
        usage: response::Usage::default(),
        hidden: &hidden,
    };
    for event in &turn.events {
        put.event(event);
    }
    put.edits(&turn.edits, &uri);
    put.updates
}

/// What is known so far.
struct Put<'a> {
    updates: Vec<Update>,
    step: u32,
    /// Id and tool of each call.
    calls: HashMap<CallKey, (String, String)>,
    /// Questions by the id of their pair.
    asked: HashMap<String, (Question, Source)>,
    /// What open prompts are for, by id: the pair of a question, or a kind.
    prompts: HashMap<String, Option<String>>,
    usage: response::Usage,
    hidden: &'a dyn Fn(&str) -> bool,
}

impl Put<'_> {
    fn event(&mut self, event: &Event) {
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
            Event::ToolCall {
                call,
                id,
                name,
                arguments,
                ..
            } => self.call(*call, id, name, arguments),
            Event::CallStarted { call, title, .. }
            | Event::PromptOpened {
                call,
                subject: PromptSubject::RunTool { title, .. },
                ..
            } if !title.is_empty() => {
                self.title(*call, title);
                self.asking(event);
            }
            Event::ToolResult {
                call,
                end,
                content,
                held: false,
                ..
            } => {
                if let Some((call_id, _)) = self.shown(*call) {
                    self.updates.push(Update::ToolResult {
                        call_id,
                        status: end.status(),
                        summary: content.lines().next().unwrap_or_default().to_owned(),
                        diff: None,
                    });
                }
            }
            Event::Steer { text } => self.updates.push(Update::Steered { text: text.clone() }),
            Event::Notice { level, text } => self.updates.push(Update::Notice {
                level: *level,
                text: text.clone(),
            }),
            Event::ResponseEnd { usage, .. } => {
                self.usage.count(usage);
                self.updates.push(Update::Usage(Usage::from(self.usage)));
            }
            _ => self.asking(event),
        }
    }

    fn call(&mut self, call: CallKey, id: &str, name: &str, arguments: &str) {
        self.calls.insert(call, (id.to_owned(), name.to_owned()));
        if (self.hidden)(name) {
            return;
        }
        self.updates.push(Update::ToolCall {
            step: self.step,
            call_id: id.to_owned(),
            name: name.to_owned(),
            title: name.to_owned(),
            arguments: serde_json::from_str(arguments).unwrap_or(Value::Null),
            status: CallStatus::Running,
        });
    }

    /// What a call does is on record where it runs, or where it is asked whether it may.
    fn title(&mut self, call: CallKey, told: &str) {
        let Some((id, _)) = self.calls.get(&call) else {
            return;
        };
        let told_of = self
            .updates
            .iter_mut()
            .rev()
            .find_map(|update| match update {
                Update::ToolCall { call_id, title, .. } if call_id == id => Some(title),
                _ => None,
            });
        if let Some(title) = told_of {
            told.clone_into(title);
        }
    }

    fn asking(&mut self, event: &Event) {
        match event {
            Event::InquiryRequest {
                id,
                source,
                question,
                ..
            } => {
                let asked = (question.clone(), source.clone());
                self.asked.insert(id.clone(), asked);
            }
            Event::PromptOpened {
                prompt,
                call,
                subject,
            } => self.opened(&prompt.0, *call, subject),
            Event::InquiryResponse { id, call, response } => self.answered(id, *call, response),
            Event::PromptClosed { prompt, closed } if self.prompts.remove(&prompt.0).is_some() => {
                let closed = of_closed(prompt.0.clone(), closed);
                self.updates.push(Update::Question(closed));
            }
            _ => {}
        }
    }

    fn opened(&mut self, prompt: &str, call: CallKey, subject: &PromptSubject) {
        let Some((call_id, tool)) = self.calls.get(&call).cloned() else {
            return;
        };
        let (prompt_kind, label, text, pair) = match subject {
            PromptSubject::Question { inquiry } => {
                let Some((question, source)) = self.asked.get(inquiry) else {
                    return;
                };
                let label = match source {
                    Source::Assistant => "Assistant".to_owned(),
                    Source::Tool { name } => name.clone(),
                };
                let text = question.text.clone();
                (PromptKind::Question, label, text, Some(inquiry.clone()))
            }
            PromptSubject::RunTool { .. } => {
                (PromptKind::RunTool, tool.clone(), String::new(), None)
            }
            PromptSubject::DeliverResult => {
                (PromptKind::DeliverResult, tool.clone(), String::new(), None)
            }
        };
        let text = subject.text(&tool).unwrap_or(text);
        // A resume opens the same prompt again.
        if self.prompts.insert(prompt.to_owned(), pair).is_some() {
            return;
        }
        self.updates.push(Update::Question(QuestionUpdate::Opened {
            prompt_id: prompt.to_owned(),
            call_id,
            prompt_kind,
            label,
            text,
        }));
    }

    fn answered(&mut self, pair: &str, call: CallKey, response: &InquiryResponse) {
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
        let prompt = self.prompts.iter();
        let prompt = prompt
            .filter(|(_, about)| about.as_deref() == Some(pair))
            .map(|(prompt, _)| prompt.clone())
            .next();
        if let Some(prompt) = prompt {
            self.prompts.remove(&prompt);
            let closed = of_response(prompt, response);
            return self.updates.push(Update::Question(closed));
        }
        let status = match response {
            InquiryResponse::Answered {
                effort: Some(_), ..
            } => InquiryStatus::Answered,
            InquiryResponse::Cancelled {
                effort: Some(_), ..
            } => InquiryStatus::Failed,
            _ => return,
        };
        if let Some((call_id, _)) = self.calls.get(&call).cloned() {
            // When it was asked is not on record.
            for status in [InquiryStatus::Asked, status] {
                let call_ids = vec![call_id.clone()];
                self.updates.push(Update::Inquiry { call_ids, status });
            }
        }
    }

    /// Edits are on record beside the turn's own events, by call: each stands before its call's result.
    fn edits(&mut self, edits: &[Edit], uri: &dyn Fn(&str) -> String) {
        let mut by_call: Vec<(CallKey, Vec<String>)> = Vec::new();
        for edit in edits {
            let (call, uri) = (CallKey(edit.call), uri(&edit.path));
            match by_call.iter_mut().find(|(known, _)| *known == call) {
                Some((_, uris)) => uris.push(uri),
                None => by_call.push((call, vec![uri])),
            }
        }
        for (call, uris) in by_call {
            let Some((id, _)) = self.calls.get(&call).cloned() else {
                continue;
            };
            let result = self.updates.iter().position(
                |update| matches!(update, Update::ToolResult { call_id, .. } if *call_id == id),
            );
            let at = result.unwrap_or(self.updates.len());
            self.updates.insert(at, Update::Edit { call_id: id, uris });
        }
    }

    fn shown(&self, call: CallKey) -> Option<(String, String)> {
        let known = self.calls.get(&call)?;
        (!(self.hidden)(&known.1)).then(|| known.clone())
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
        InquiryResponse::Cancelled { reason, .. } => (
            PromptOutcome::Cancelled,
            None,
            Some(reason.name().to_owned()),
            None,
        ),
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
    let cancelled = |reason: &str| {
        (
            PromptOutcome::Cancelled,
            None,
            Some(reason.to_owned()),
            None,
        )
    };
    let (outcome, by, reason, answer) = match closed {
        Closed::Permitted { .. } | Closed::Delivered { .. } | Closed::Unknown { .. } => (
            PromptOutcome::Answered,
            Some(By::User),
            None,
            closed.answer(),
        ),
        Closed::Declined { .. } => cancelled("user"),
        Closed::Withdrawn => cancelled("withdrawn"),
        Closed::Failed { .. } => cancelled("backend_error"),
    };
    QuestionUpdate::Closed {
        prompt_id,
        outcome,
        by,
        reason,
        answer,
    }
}
