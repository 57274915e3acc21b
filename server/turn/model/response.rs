//! A provider's response: the pieces in which it arrives, and their sum.

use serde::{Deserialize, Serialize};

use crate::rules::LeftOut;

pub use crate::rules::Feature;

/// A piece of a response, independent of the API. A response is any number of pieces followed by exactly one
/// [`Piece::Finish`], or by a [`Failure`] in its place.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    /// An item begins. Slots are dense and count from 0 in order of first appearance.
    Open {
        /// The item's slot.
        slot: u32,
        /// Kind of the item.
        kind: Kind,
    },
    /// Text of an item: words, reasoning, or a fragment of raw arguments.
    Delta {
        /// The item's slot.
        slot: u32,
        /// The text to add.
        text: String,
    },
    /// The provider says a call anew: this replaces its name and the arguments so far.
    Anew {
        /// The call's slot.
        slot: u32,
        /// The tool's name, as the model wrote it.
        name: String,
        /// The raw arguments.
        text: String,
    },
    /// An item ends.
    Close {
        /// The item's slot.
        slot: u32,
        /// Raw JSON that the provider needs back, verbatim.
        opaque: Option<String>,
        /// Whether the item is complete; false if it was truncated.
        complete: bool,
    },
    /// Tokens so far. A later piece overrides earlier ones, field by field.
    Usage(Usage),
    /// A sign of life without content.
    KeepAlive,
    /// The response is over; nothing follows.
    Finish(Finish),
}

/// Kind of an item of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Words for the user.
    Text,
    /// Reasoning of the model.
    Reasoning,
    /// A tool call. Its deltas are the raw arguments.
    ToolCall {
        /// The provider's id of the call.
        id: String,
        /// The tool's name, as the model wrote it.
        name: String,
    },
    /// A summary of the conversation in the provider's own form. Its text is what of it can be read, if any.
    Compaction,
    /// A block that only the provider understands. It is kept and sent back.
    Opaque,
}

/// Reason why a response ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Finish {
    /// The response is complete.
    Stop,
    /// The model waits for the results of its calls.
    ToolUse,
    /// The token limit cut the response off.
    MaxTokens,
    /// A stop sequence came.
    StopSequence,
    /// The provider wants the same request again.
    Pause,
    /// The model or the provider refused.
    Refusal,
    /// The context window is full.
    ContextFull,
    /// A filter removed the response.
    ContentFilter,
    /// The provider could not parse the model's call.
    MalformedCall,
    /// A reason that this version does not know; treated as [`Finish::Stop`].
    #[serde(untagged)]
    Other(String),
}

/// Numbers of tokens and, if known, their price.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Usage {
    /// Input tokens that were neither read from a cache nor written to one.
    #[serde(skip_serializing_if = "is_zero")]
    pub input: u64,
    /// Input tokens read from the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_read: u64,
    /// Input tokens written to the cache.
    #[serde(skip_serializing_if = "is_zero")]
    pub cache_write: u64,
    /// Output tokens, reasoning included.
    #[serde(skip_serializing_if = "is_zero")]
    pub output: u64,
    /// Cost in US dollars, if the provider or the price table gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<f64>,
    /// Whether more was used than is known, because a response did not say it or broke off before it did.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub partial: bool,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_zero(tokens: &u64) -> bool {
    *tokens == 0
}

/// A failed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Class of the failure, which decides the reaction.
    pub class: FailureClass,
    /// What happened, and to what, for the user.
    pub text: String,
    /// What to do next, if the text does not say it. For a request that is sent again anyway it is not told.
    pub advice: Option<String>,
    /// The server's `Retry-After`.
    pub retry_after: Option<std::time::Duration>,
}

impl Failure {
    /// One sentence for the user: what happened, to what, and what to do next.
    #[must_use]
    pub fn sentence(&self) -> String {
        match &self.advice {
            Some(advice) => format!("{}; {advice}", self.text),
            None => self.text.clone(),
        }
    }
}

/// Class of a failed request, which decides the reaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FailureClass {
    /// The key or the model was rejected; the user must change something.
    Auth,
    /// The account has no credit.
    Money,
    /// Too many requests: wait, then retry.
    Rate,
    /// The server is overloaded: wait longer, then retry.
    Overload,
    /// The connection or the server failed: retry.
    Transient,
    /// The response broke off, or none came to a request that was sent: retry. The provider may charge for it.
    Broken,
    /// The context window is full.
    Context,
    /// The model or the provider refuses this content.
    Refusal,
    /// The model does not support this feature. It is recorded and never sent again in this conversation.
    Refused(Feature),
    /// The model does not take these parts, which it named. They are never sent again in this conversation.
    RefusedParts(Vec<LeftOut>),
    /// Any other failure that a retry does not mend.
    Other,
}

/// An item of a response, assembled from its pieces.
#[derive(Clone, Debug, PartialEq)]
pub struct Item {
    /// Kind of the item.
    pub kind: Kind,
    /// Text, or the raw arguments of a call.
    pub text: String,
    /// Raw JSON that the provider needs back, verbatim.
    pub opaque: Option<String>,
    /// Whether the item was closed and not truncated.
    pub complete: bool,
}

/// A response, assembled from the pieces so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Response {
    /// Items in order of first appearance.
    pub items: Vec<Item>,
    /// Latest numbers of tokens.
    pub usage: Usage,
}

impl Response {
    /// Adds a piece. Pieces of a slot that was never opened are ignored; no decoder sends them.
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
            Piece::Anew { slot, name, text } => {
                let item = self.items.get_mut(slot as usize);
                if let Some(item) = item
                    && let Kind::ToolCall { name: said, .. } = &mut item.kind
                {
                    *said = name;
                    item.text = text;
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

    /// The text items, joined.
    #[must_use]
    pub fn text(&self) -> String {
        self.items
            .iter()
            .filter(|item| item.kind == Kind::Text)
            .map(|item| item.text.as_str())
            .collect()
    }

    /// Whether a call began and is incomplete.
    #[must_use]
    pub fn has_open_call(&self) -> bool {
        let open = |item: &Item| !item.complete && matches!(item.kind, Kind::ToolCall { .. });
        self.items.iter().any(open)
    }

    /// The complete calls.
    pub fn complete_calls(&self) -> impl Iterator<Item = &Item> {
        self.items
            .iter()
            .filter(|item| item.complete && matches!(item.kind, Kind::ToolCall { .. }))
    }
}

impl Usage {
    /// Tokens that the conversation has after this response; none where nobody counted.
    #[must_use]
    pub fn context(&self) -> Option<u64> {
        let all = [self.cache_read, self.cache_write, self.output];
        let all = all.into_iter().fold(self.input, u64::saturating_add);
        (all > 0).then_some(all)
    }

    /// Overrides fields by newer values; a zero overrides nothing.
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
        self.partial |= newer.partial;
    }

    /// Adds the usage of another request. The sum has a cost only if both have one, because a part must not pass for
    /// the whole.
    pub fn count(&mut self, other: &Self) {
        self.cost = match (self.cost, other.cost) {
            (Some(cost), Some(more)) => Some(cost + more),
            (None, more) if self.is_nothing() => more,
            (cost, None) if other.is_nothing() => cost,
            _ => None,
        };
        self.partial |= other.partial;
        let add = |sum: &mut u64, more: u64| *sum = sum.saturating_add(more);
        add(&mut self.input, other.input);
        add(&mut self.cache_read, other.cache_read);
        add(&mut self.cache_write, other.cache_write);
        add(&mut self.output, other.output);
    }

    /// Whether no tokens were used.
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
            partial: false,
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
            partial: false,
        };
        assert_eq!(sum, three);
        let lost = Usage {
            partial: true,
            ..Usage::default()
        };
        let mut broken = first;
        broken.count(&lost);
        assert_eq!(
            broken,
            Usage {
                partial: true,
                ..first
            },
            "what broke off may have cost more"
        );
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
