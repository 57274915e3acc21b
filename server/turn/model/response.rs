//! A provider's response: the neutral pieces it comes in, and what they add up to.

use serde::{Deserialize, Serialize};

pub use crate::rules::Feature;

/// One piece of a response, whichever API it came through. A response is any number of pieces and then
/// exactly one [`Piece::Finish`], or a [`Failure`] in its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// An item begins. Slots are dense and count from 0 in order of first appearance.
    Open {
        /// The item's slot.
        slot: u32,
        /// What it is.
        kind: Kind,
    },
    /// Text of an item: words, reasoning, or a fragment of raw arguments.
    Delta {
        /// The item's slot.
        slot: u32,
        /// The text to add.
        text: String,
    },
    /// An item ends.
    Close {
        /// The item's slot.
        slot: u32,
        /// What the provider needs back, verbatim (raw JSON).
        opaque: Option<String>,
        /// False where the item was truncated.
        complete: bool,
    },
    /// Tokens so far; the last one wins, field by field.
    Usage(Usage),
    /// Something came that says nothing.
    KeepAlive,
    /// The response is over; nothing follows.
    Finish(Finish),
}

/// What an item of a response is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words for the user.
    Text,
    /// Reasoning of the model.
    Reasoning,
    /// A call of a tool; its deltas are the raw arguments.
    ToolCall {
        /// The provider's id of the call.
        id: String,
        /// The tool's name, as the model wrote it.
        name: String,
    },
    /// A block without neutral meaning, kept for the provider alone.
    Opaque,
}

/// Why a response ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// It said all it had to say.
    Stop,
    /// It waits for the results of its calls.
    ToolUse,
    /// Cut at its token limit.
    MaxTokens,
    /// A stop sequence came.
    StopSequence,
    /// The provider wants the same request again.
    Pause,
    /// The model or provider refuses.
    Refusal,
    /// The context window is full.
    ContextFull,
    /// A filter took the response.
    ContentFilter,
    /// The model's call could not be read by the provider.
    MalformedCall,
    /// A reason that this version does not know; treated as [`Finish::Stop`].
    Other(String),
}

/// Tokens and, where known, their price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that were neither read from a cache nor written to one.
    pub input: u64,
    /// Input tokens read from the cache.
    pub cache_read: u64,
    /// Input tokens written to the cache.
    pub cache_write: u64,
    /// Output tokens, reasoning included.
    pub output: u64,
    /// US dollars, where the provider or the price table says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
}

/// Why a request failed, as far as anyone acts on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What is to be done about it.
    pub class: FailureClass,
    /// One sentence for the person: what happened, to what, what to do next.
    pub text: String,
    /// What the server said about when to come back.
    pub retry_after: Option<std::time::Duration>,
}

/// What is to be done about a failed request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// The key or the model is rejected: a person must change something.
    Auth,
    /// The account has no credit left.
    Money,
    /// Too many requests: wait.
    Rate,
    /// The server is overloaded: wait longer.
    Overload,
    /// The connection or the server broke: try again.
    Transient,
    /// The context window is full.
    Context,
    /// The model or provider refuses this content.
    Refusal,
    /// The model does not take this of the request: learned, and never sent again in this conversation.
    Refused(Feature),
    /// Anything else that asking again does not mend.
    Other,
}

/// An item of a response, put together.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// What it is.
    pub kind: Kind,
    /// Its text, or the raw arguments of a call.
    pub text: String,
    /// What the provider needs back, verbatim.
    pub opaque: Option<String>,
    /// It closed, and whole.
    pub complete: bool,
}

/// What the pieces so far add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// In order of first appearance.
    pub items: Vec<Item>,
    /// The last that was said of tokens.
    pub usage: Usage,
}

impl Response {
    /// Adds a piece. Pieces of a slot that was never opened are ignored: no provider's decoder sends them.
    pub fn add(&mut self, piece: Piece) {
        match piece {
            Piece::Open { kind, .. } => {
                self.items.push(Item {
                    kind,
                    text: String::new(),
                    opaque: None,
                    complete: false,
                });
            }
            Piece::Delta { slot, text } => {
                if let Some(item) = self.items.get_mut(slot as usize) {
                    item.text.push_str(&text);
                }
            }
            Piece::Close {
                slot,
                opaque,
                complete,
            } => {
                if let Some(item) = self.items.get_mut(slot as usize) {
                    item.opaque = opaque;
                    item.complete = complete;
                }
            }
            Piece::Usage(usage) => self.usage.merge(&usage),
            Piece::KeepAlive | Piece::Finish(_) => {}
        }
    }

    /// The words of the response, its text items joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.items
            .iter()
            .filter(|item| item.kind == Kind::Text)
            .map(|item| item.text.as_str())
            .collect()
    }

    /// A call began and did not come whole.
    #[must_use]
    pub fn has_open_call(&self) -> bool {
        let open = |item: &Item| !item.complete && matches!(item.kind, Kind::ToolCall { .. });
        self.items.iter().any(open)
    }

    /// The calls that came whole.
    pub fn complete_calls(&self) -> impl Iterator<Item = &Item> {
        self.items
            .iter()
            .filter(|item| item.complete && matches!(item.kind, Kind::ToolCall { .. }))
    }
}

impl Usage {
    /// What is newer wins, field by field; a zero says nothing.
    pub fn merge(&mut self, newer: &Self) {
        let pick = |old: &mut u64, new: u64| {
            if new != 0 {
                *old = new;
            }
        };
        pick(&mut self.input, newer.input);
        pick(&mut self.cache_read, newer.cache_read);
        pick(&mut self.cache_write, newer.cache_write);
        pick(&mut self.output, newer.output);
        self.cost = newer.cost.or(self.cost);
    }

    /// Counts another request's usage in. The cost of both is known where that of each is: of a part it would pass for
    /// the whole.
    pub fn count(&mut self, other: &Self) {
        self.cost = match (self.cost, other.cost) {
            (Some(cost), Some(more)) => Some(cost + more),
            (None, more) if self.is_nothing() => more,
            (cost, None) if other.is_nothing() => cost,
            _ => None,
        };
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.output, other.output);
    }

    /// No tokens went either way.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        [self.input, self.cache_read, self.cache_write, self.output] == [0; 4]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_adds_up_over_requests_and_the_last_word_counts_within_one() {
        let first = Usage {
            input: 1,
            cache_read: 20,
            cache_write: 300,
            output: 4000,
            cost: Some(0.5),
        };
        let mut sum = first;
        sum.count(&first);
        sum.count(&Usage {
            cost: None,
            ..first
        });
        let three = Usage {
            input: 3,
            cache_read: 60,
            cache_write: 900,
            output: 12000,
            // Of what the third cost nothing is known.
            cost: None,
        };
        assert_eq!(sum, three);
        let mut priced = Usage::default();
        priced.count(&first);
        priced.count(&Usage::default());
        assert_eq!(priced, first, "nothing costs nothing");
        let mut said = first;
        said.merge(&Usage {
            output: 5000,
            ..Usage::default()
        });
        assert_eq!(
            said,
            Usage {
                output: 5000,
                ..first
            }
        );
    }
}
