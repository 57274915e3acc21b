//! Inquiries: asking a model in a side request that leaves the conversation as it is.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{event::CallKey, response::Item};

/// How an inquiry is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Strategy {
    /// The turn's own next request and one more message: everything stays cached.
    InBand,
    /// The same with the tool choice forced to `answer_inquiry`.
    ForcedTool,
    /// An answer by JSON schema.
    Structured,
}

/// One side request.
#[derive(Clone, Debug, PartialEq)]
pub struct Ask {
    /// How.
    pub strategy: Strategy,
    /// Another model than the turn's, as `provider/model`; the history then goes as flattened text.
    pub assistant: Option<String>,
    /// What follows the shared transcript, alternating, a user's message first and last.
    pub messages: Vec<Message>,
    /// For `structured`.
    pub schema: Option<Value>,
    /// The asking calls.
    pub calls: Vec<CallKey>,
}

/// A message of a fork.
#[derive(Clone, Debug, PartialEq)]
pub enum Message {
    /// A result for every open call before it, in call order, then the text.
    User {
        /// Provider's id, tool and content.
        results: Vec<CallResult>,
        /// What is asked.
        text: String,
    },
    /// A reply that did not answer, verbatim.
    Assistant(Vec<Item>),
}

/// A result in a fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallResult {
    /// The provider's id of the call.
    pub id: String,
    /// The tool.
    pub name: String,
    /// What the model is told.
    pub content: String,
    /// It is an error.
    pub is_error: bool,
}
