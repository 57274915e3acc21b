//! Passages of a conversation: what people, the model and tools said, with who said it.

use std::collections::HashMap;

use crate::{
    model::attachment::Content,
    record::{CallKey, Closed, Event, InquiryResponse},
};

use super::ledger::{author, verbatim};

/// Bytes of a call's arguments by which its result is told.
const ARGUMENTS: usize = 200;

/// A passage of a conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Passage {
    /// Number of the turn in its conversation, from 1.
    pub turn: u32,
    /// The one who said it, in words: a person, the model, or a tool with its arguments.
    pub who: String,
    /// The tool that was called, of a call and of its result.
    pub tool: Option<String>,
    /// The text, as the model had it. What was kept from the model is no passage.
    pub text: String,
}

/// Passages of a conversation, folded from its events.
#[derive(Debug, Default)]
pub struct PassageFold {
    turn: u32,
    /// Calls of this turn: the tool, and the call in words.
    calls: HashMap<CallKey, (String, String)>,
    /// Questions that have no outcome yet, by the id of their pair.
    asked: HashMap<String, String>,
}

impl PassageFold {
    /// Applies the next event of the conversation, and returns its passage, if it is one.
    pub fn push(&mut self, event: &Event) -> Option<Passage> {
        let mut tool = None;
        let (who, text) = match event {
            Event::TurnStart => {
                self.turn += 1;
                self.calls.clear();
                self.asked.clear();
                return None;
            }
            Event::UserMessage { text, attachments } => {
                let attached = attachments.iter().map(|attached| match &attached.content {
                    Content::Text(text) => format!("\n{}:\n{text}", attached.name),
                    Content::Media(media) => format!("\n{}: {media}", attached.name),
                });
                let text = text.clone() + &attached.collect::<String>();
                ("the user".to_owned(), text)
            }
            Event::Steer { text } => ("the user, meanwhile".to_owned(), text.clone()),
            Event::Text { text, .. } => ("the model".to_owned(), text.clone()),
            Event::ToolCall {
                call,
                name,
                arguments,
                ..
            } => {
                let end = arguments.floor_char_boundary(ARGUMENTS);
                let cut = if end < arguments.len() { "…" } else { "" };
                let words = format!("{name} {}{cut}", &arguments[..end]);
                self.calls.insert(*call, (name.clone(), words));
                tool = Some(name.clone());
                // Long arguments hold what was written, which may be looked for.
                (format!("the model, calling {name}"), arguments.clone())
            }
            Event::ToolResult {
                call,
                content,
                held: false,
                ..
            } => {
                let (name, call) = self.calls.get(call)?;
                tool = Some(name.clone());
                (format!("result of {call}"), content.clone())
            }
            Event::InquiryRequest { id, question, .. } => {
                self.asked.insert(id.clone(), question.text.clone());
                return None;
            }
            Event::InquiryResponse { id, response, .. } => {
                let asked = self.asked.remove(id)?;
                match response {
                    InquiryResponse::Answered { answer, by, .. } => {
                        let text = format!("{asked}\n{}", verbatim(answer));
                        (format!("answer of {}", author(*by)), text)
                    }
                    InquiryResponse::Redacted { .. } => return None,
                    InquiryResponse::Cancelled { note, .. } => {
                        let note = note.as_deref().unwrap_or("No answer.");
                        ("the user, to a question".into(), format!("{asked}\n{note}"))
                    }
                }
            }
            Event::PromptClosed {
                closed:
                    Closed::Declined {
                        note: Some(note), ..
                    },
                ..
            } => ("the user, refusing".to_owned(), note.clone()),
            Event::Compacted { summary, .. } => ("summary".to_owned(), summary.clone()),
            _ => return None,
        };
        let turn = self.turn;
        (!text.trim().is_empty()).then_some(Passage {
            turn,
            who,
            tool,
            text,
        })
    }
}
