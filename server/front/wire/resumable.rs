//! The prompts of an interrupted turn, put together from its log: questions whole, the others with what the log
//! knows of them. What a call would do is prepared anew when the turn is resumed.

use std::collections::HashMap;

use serde_json::Value;

use super::{Position, Preview, Prompt, PromptKind, PromptTool, TurnRef};
use crate::{
    session::replay::Turn,
    turn::{
        event::{CallKey, Event, Permission, PromptId, PromptSubject},
        question::{AnswerType, Question, Source},
    },
};

/// The open prompts of a turn, in order. `label` gives the header of a tool's question, where the tool has one for
/// it.
#[must_use]
pub fn prompts(
    turn: &Turn,
    of: &TurnRef,
    label: impl Fn(&str, &str) -> Option<String>,
) -> Vec<Prompt> {
    let known = Known::of(turn);
    let open = turn.standing.open.iter();
    let open = open.filter_map(|open| known.prompt(&open.prompt, of, &label));
    let mut prompts: Vec<Prompt> = open.collect();
    let all = prompts.len();
    for (at, prompt) in prompts.iter_mut().enumerate() {
        prompt.position = Position { n: at + 1, of: all };
    }
    prompts
}

/// What the log says.
#[derive(Default)]
struct Known<'a> {
    calls: HashMap<CallKey, PromptTool>,
    asked: HashMap<&'a str, (&'a Question, &'a Source)>,
    opened: HashMap<&'a PromptId, (CallKey, &'a PromptSubject)>,
    held: HashMap<CallKey, &'a str>,
}

impl<'a> Known<'a> {
    fn of(turn: &'a Turn) -> Self {
        let mut known = Self::default();
        for event in &turn.events {
            known.take(event);
        }
        known
    }

    fn take(&mut self, event: &'a Event) {
        match event {
            Event::ToolCall {
                call,
                id,
                name,
                arguments,
                ..
            } => {
                let tool = PromptTool {
                    name: name.clone(),
                    call_id: id.clone(),
                    arguments: serde_json::from_str(arguments).unwrap_or(Value::Null),
                    server: None,
                };
                self.calls.insert(*call, tool);
            }
            Event::InquiryRequest {
                id,
                source,
                question,
                ..
            } => {
                self.asked.insert(id, (question, source));
            }
            Event::PromptOpened {
                prompt,
                call,
                subject,
            } => {
                self.opened.insert(prompt, (*call, subject));
            }
            Event::ToolResult {
                call,
                content,
                held: true,
                ..
            } => {
                self.held.insert(*call, content);
            }
            _ => {}
        }
    }

    fn prompt(
        &self,
        id: &PromptId,
        of: &TurnRef,
        label: &impl Fn(&str, &str) -> Option<String>,
    ) -> Option<Prompt> {
        let (call, subject) = self.opened.get(id)?;
        let tool = self.calls.get(call)?;
        let mut prompt = bare(id, of, tool);
        prompt.text = subject.text(&tool.name).unwrap_or_default();
        match subject {
            PromptSubject::Question { inquiry } => {
                let (question, source) = *self.asked.get(inquiry.as_str())?;
                prompt.label = match source {
                    Source::Assistant => "Assistant".to_owned(),
                    Source::Tool { name } => name.clone(),
                };
                if let Some(own) = label(&tool.name, &question.id) {
                    prompt.label = own;
                }
                prompt.text.clone_from(&question.text);
                prompt.context.clone_from(&question.context);
                prompt.answer_type = question.answer_type.clone();
                prompt.default.clone_from(&question.default);
                prompt.remember = question.may_be_remembered();
                prompt.exclusive = question.is_exclusive();
                prompt.source = source.clone();
            }
            PromptSubject::RunTool { diff, .. } => {
                prompt.kind = PromptKind::RunTool;
                prompt.answer_type = AnswerType::Select {
                    options: Permission::words(*diff),
                };
            }
            PromptSubject::DeliverResult => {
                prompt.kind = PromptKind::DeliverResult;
                let text = self.held.get(call).map(|text| (*text).to_owned());
                prompt.preview = text.map(|text| Preview::Text { text });
            }
        }
        Some(prompt)
    }
}

/// What all kinds have in common; for people alone, a boolean, until the kind says otherwise.
fn bare(id: &PromptId, of: &TurnRef, tool: &PromptTool) -> Prompt {
    Prompt {
        prompt_id: id.0.clone(),
        conversation_id: of.conversation_id.clone(),
        turn_id: of.turn_id.clone(),
        tool: tool.clone(),
        kind: PromptKind::Question,
        label: tool.name.clone(),
        text: String::new(),
        context: None,
        answer_type: AnswerType::Boolean,
        default: None,
        remember: false,
        exclusive: true,
        source: Source::Tool {
            name: tool.name.clone(),
        },
        preview: None,
        position: Position { n: 0, of: 0 },
        resumable: Some(true),
    }
}
