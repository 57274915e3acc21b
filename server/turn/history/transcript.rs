//! What a provider is sent, in its order: the one place that decides which events those are.
//!
//! A transcript is a chain of links that never change, one for each request and response. Forking it for an
//! inquiry is copying one pointer, and two forks share all bytes that they have in common.

use std::sync::Arc;

use crate::{
    model::{attachment::Attachment, response::Feature},
    record::{CallEnd, CallKey, DirectiveKind, Event},
};

/// What stands for a response that was cancelled before it said anything.
pub const INTERRUPTED: &str = "[interrupted]";

/// Something that providers are sent.
#[derive(Clone, Debug, PartialEq)]
pub enum Item {
    /// What the user asked for.
    User {
        /// What the user wrote.
        text: String,
        /// What was attached.
        attachments: Vec<Attachment>,
    },
    /// What Aside itself says on the user's side.
    Directive(String),
    /// What the user added.
    Steer(String),
    /// Words of the model.
    Text {
        /// The words of the model.
        text: String,
        /// What the provider needs back.
        opaque: Option<String>,
    },
    /// Reasoning of the model.
    Reasoning {
        /// As far as it may be shown.
        text: String,
        /// What the provider needs back.
        opaque: Option<String>,
    },
    /// A call of the model.
    ToolCall {
        /// Its place in its turn.
        call: CallKey,
        /// The provider's id.
        id: String,
        /// The tool that was called.
        name: String,
        /// The raw arguments.
        arguments: String,
        /// What the provider needs back.
        opaque: Option<String>,
    },
    /// What came of a call.
    ToolResult {
        /// Its place in its turn.
        call: CallKey,
        /// The provider's id.
        id: String,
        /// The tool that was called.
        name: String,
        /// What the model is told.
        content: String,
        /// It is an error.
        is_error: bool,
    },
}

/// One request's or one response's share of a transcript. Never changes.
#[derive(Debug)]
pub struct Link {
    /// What came before.
    pub previous: Option<Arc<Link>>,
    /// In order; never empty.
    pub items: Vec<Item>,
    /// The turn that it belongs to, counted from 1 in its conversation.
    pub turn: u32,
    /// Which stretch of the conversation it belongs to; see [`Fork::epoch`].
    pub epoch: u32,
}

/// A transcript up to some point: shared, not copied.
#[derive(Clone, Debug, Default)]
pub struct Fork {
    /// The newest link.
    pub newest: Option<Arc<Link>>,
    /// The stretch of now. It ends where model, tools or instructions change: reasoning and opaque data of earlier
    /// stretches are bound to what is no more, and are left out.
    pub epoch: u32,
    /// Something in it has bytes that are not here: an image or PDF is attached.
    pub has_media: bool,
}

/// The transcript of a conversation, as its events say.
#[derive(Debug, Default)]
pub struct Transcript {
    sent: Fork,
    turn: u32,
    /// Results that wait for the next request, with what the provider needs to know of their calls.
    results: Vec<Item>,
    /// Everything else on the user's side that waits for it, in order of arrival.
    waiting: Vec<Item>,
    /// Items of a response whose end has not come. Without it they count as not there.
    response: Vec<Item>,
    /// Calls of this turn: id and name, by place.
    calls: Vec<(CallKey, String, String)>,
}

impl Transcript {
    /// Takes an event in. Events that no provider is ever sent change nothing: inquiries, prompts and all the
    /// rest are not in this list.
    pub fn push(&mut self, event: &Event) {
        match event {
            Event::TurnStart => {
                // A turn that was closed without another request leaves its results to the next one.
                self.flush();
                self.turn += 1;
                self.calls.clear();
            }
            Event::UserMessage { text, attachments } => self.message(text, attachments),
            Event::Directive { kind, text } => {
                self.waiting.push(Item::Directive(text.clone()));
                if let DirectiveKind::Lost { .. } = kind {
                    // What providers gave is bound to what is no longer whole.
                    self.change();
                }
            }
            Event::Steer { text } => self.waiting.push(Item::Steer(text.clone())),
            Event::Text { text, opaque } => {
                self.response.push(Item::Text {
                    text: text.clone(),
                    opaque: opaque.clone(),
                });
            }
            Event::Reasoning { text, opaque } => {
                self.response.push(Item::Reasoning {
                    text: text.clone(),
                    opaque: opaque.clone(),
                });
            }
            Event::ToolCall {
                call,
                id,
                name,
                arguments,
                opaque,
            } => {
                self.response.push(Item::ToolCall {
                    call: *call,
                    id: id.clone(),
                    name: name.clone(),
                    arguments: arguments.clone(),
                    opaque: opaque.clone(),
                });
            }
            Event::ToolResult {
                call,
                end,
                content,
                held: false,
                ..
            } => {
                self.result(*call, end, content);
            }
            Event::RequestSent { .. } => {
                self.response.clear();
                self.flush();
            }
            Event::ResponseEnd { finish, .. } => self.end_response(finish.is_none()),
            Event::Learned { refuses, .. } if refuses.known() == Some(Feature::History) => {
                self.change();
            }
            _ => {}
        }
    }

    /// Model, tools or instructions are others from here on.
    pub fn change(&mut self) {
        self.sent.epoch += 1;
    }

    /// All that was sent or answered so far.
    #[must_use]
    pub fn fork(&self) -> Fork {
        self.sent.clone()
    }

    /// Turns so far, this one included.
    #[must_use]
    pub fn turn(&self) -> u32 {
        self.turn
    }

    fn message(&mut self, text: &str, attachments: &[Attachment]) {
        let is_media = |one: &Attachment| one.media().is_some();
        self.sent.has_media |= attachments.iter().any(is_media);
        self.waiting.push(Item::User {
            text: text.to_owned(),
            attachments: attachments.to_vec(),
        });
    }

    fn result(&mut self, call: CallKey, end: &CallEnd, content: &str) {
        let Some((_, id, name)) = self.calls.iter().find(|(key, ..)| *key == call) else {
            return;
        };
        self.results.push(Item::ToolResult {
            call,
            id: id.clone(),
            name: name.clone(),
            content: content.to_owned(),
            is_error: *end != CallEnd::Success,
        });
    }

    fn end_response(&mut self, cancelled: bool) {
        if cancelled && !self.response.iter().any(Item::is_text) {
            // A history in which the user speaks twice in a row would not say that there was an answer.
            let text = INTERRUPTED.to_owned();
            self.response.push(Item::Text { text, opaque: None });
        }
        for item in &self.response {
            if let Item::ToolCall { call, id, name, .. } = item {
                self.calls.push((*call, id.clone(), name.clone()));
            }
        }
        let items = std::mem::take(&mut self.response);
        self.link(items);
    }

    /// Results in call order, whatever order they came in; the rest after them, in order of arrival.
    fn flush(&mut self) {
        self.results.sort_by_key(|item| match item {
            Item::ToolResult { call, .. } => *call,
            _ => CallKey(u32::MAX),
        });
        let mut items = std::mem::take(&mut self.results);
        items.append(&mut self.waiting);
        self.link(items);
    }

    fn link(&mut self, items: Vec<Item>) {
        if !items.is_empty() {
            let previous = self.sent.newest.take();
            self.sent.newest = Some(Arc::new(Link {
                previous,
                items,
                turn: self.turn,
                epoch: self.sent.epoch,
            }));
        }
    }
}

impl Item {
    /// Words of the model, and at least one.
    fn is_text(&self) -> bool {
        matches!(self, Self::Text { text, .. } if !text.is_empty())
    }

    /// It is on the model's side of the conversation.
    #[must_use]
    pub fn is_of_model(&self) -> bool {
        matches!(
            self,
            Self::Text { .. } | Self::Reasoning { .. } | Self::ToolCall { .. }
        )
    }
}

impl Link {
    /// It is a response.
    #[must_use]
    pub fn is_of_model(&self) -> bool {
        self.items.iter().any(Item::is_of_model)
    }
}

impl Fork {
    /// The links from the newest to the oldest.
    pub fn newest_first(&self) -> impl Iterator<Item = &Link> {
        std::iter::successors(self.newest.as_deref(), |link| link.previous.as_deref())
    }

    /// All items from the oldest to the newest.
    #[must_use]
    pub fn items(&self) -> Vec<&Item> {
        let mut links: Vec<&Link> = self.newest_first().collect();
        links.reverse();
        links.into_iter().flat_map(|link| &link.items).collect()
    }
}

impl Drop for Link {
    /// A long chain is taken apart link by link: the usual drop would recurse once a link.
    fn drop(&mut self) {
        let mut next = self.previous.take();
        while let Some(link) = next.and_then(Arc::into_inner) {
            let mut link = link;
            next = link.previous.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::response::Usage;

    #[test]
    fn turns_are_counted_and_a_long_chain_is_taken_apart_without_recursion() {
        let mut transcript = Transcript::default();
        for _ in 0..200_000 {
            transcript.push(&Event::TurnStart);
            transcript.push(&Event::UserMessage {
                text: "Go.".into(),
                attachments: Vec::new(),
            });
            transcript.push(&Event::RequestSent { step: 1 });
            transcript.push(&Event::Text {
                text: "Done.".into(),
                opaque: None,
            });
            transcript.push(&Event::ResponseEnd {
                finish: None,
                usage: Usage::default(),
            });
        }
        assert_eq!(transcript.turn(), 200_000);
        let fork = transcript.fork();
        assert_eq!(
            fork.newest_first().next().map(|link| link.turn),
            Some(200_000)
        );
        assert_eq!(fork.items().len(), 400_000);
        drop(transcript);
        assert_eq!(
            fork.newest_first().count(),
            400_000,
            "a fork outlives what it was made of"
        );
    }
}
