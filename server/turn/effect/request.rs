//! Requests to providers: the turn's own, and those beside it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    input::RequestId,
    model::response::Item,
    record::{CallKey, DirectiveKind},
    rules::{Assistant, Feature, LeftOut, Strategy, ToolChoice},
};

/// A request to a provider.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// The id that its pieces and its failure name.
    pub id: RequestId,
    /// Owner of the request.
    pub kind: RequestKind,
    /// The forced tool choice.
    pub tool_choice: ToolChoice,
    /// The model reasons: as configured, but for a retry or an inquiry with a forced tool that it takes only
    /// without.
    pub reasoning: bool,
    /// Features that its model refused in this conversation, which are not sent.
    pub without: BTreeSet<Feature>,
    /// Parts that its model refused in this conversation, which are not sent.
    pub left_out: BTreeSet<LeftOut>,
}

/// Owner of a request.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestKind {
    /// The turn's next step: the whole transcript.
    Turn {
        /// Counts from 1.
        step: u32,
        /// Ask for the schema natively: a repair of the final answer.
        native_schema: bool,
    },
    /// A side request: the transcript so far, which it leaves as it is, and these messages.
    Inquiry(SideRequest),
    /// A summary of the conversation: the transcript as it was sent last, and these messages.
    Compaction {
        /// The messages: what a summary is, after a bad one also that.
        messages: Vec<Message>,
        /// Send the results of tools with their ends alone, because the context window has no room for all of them.
        shortened: bool,
    },
    /// A summary in the provider's own form: the transcript exactly as it was sent last.
    NativeCompaction,
}

/// One side request.
#[derive(Clone, Debug, PartialEq)]
pub struct SideRequest {
    /// Strategy of the inquiry.
    pub strategy: Strategy,
    /// An assistant of its own; the conversation then goes as text.
    pub assistant: Option<Assistant>,
    /// Messages after the shared transcript, alternating, with a user's message first and last.
    pub messages: Vec<Message>,
    /// The schema of the answer, for `structured` alone.
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
        /// The questions as text.
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
    /// The tool that was called.
    pub name: String,
    /// Text for the model.
    pub content: String,
    /// Whether the result is an error.
    pub is_error: bool,
}

/// Options of the next request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sending {
    /// The tool choice on the wire.
    pub tool_choice: ToolChoice,
    /// Whether the model reasons.
    pub reasoning: bool,
    /// Directive to send first.
    pub directive: Option<DirectiveKind>,
}
