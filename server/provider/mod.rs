//! Models: what a request is, and how a response comes.

pub mod rehearsal;

use std::{pin::Pin, sync::Arc};

use async_trait::async_trait;
use futures_core::Stream;
use serde_json::Value;

use crate::turn::{
    inquiry::{Message, Strategy},
    response::{Failure, Piece},
    rules::{Model, ToolChoice},
    transcript::Fork,
};

/// A response, piece by piece. Dropping it cancels the request.
pub type Pieces = Pin<Box<dyn Stream<Item = Result<Piece, Failure>> + Send>>;

/// A model behind an API.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What the model is and can do.
    fn model(&self) -> &Model;

    /// Sends a request and returns when its first byte came.
    ///
    /// # Errors
    /// A [`Failure`] that is already put into words for a person.
    async fn send(&self, request: Request) -> Result<Pieces, Failure>;
}

/// Opens the model of this name, `<provider>/<model>`. `rehearsal/<script>` plays a script; see [`rehearsal`].
/// Reads files, so not for a thread that must not wait.
///
/// # Errors
/// One sentence that says why there is no such model here, and what to do.
pub fn open(model: &str) -> Result<Arc<dyn Provider>, String> {
    match model.split_once('/') {
        Some(("rehearsal", script)) if !script.is_empty() => {
            Ok(Arc::new(rehearsal::Rehearsal::open(script)?))
        }
        _ => Err(format!(
            "there is no model {model:?}: this version has only rehearsal/<script>; give the path of a script, \
             or rehearsal/demo"
        )),
    }
}

/// What a conversation's first request freezes: equal bytes in every later one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// The system text.
    pub system: String,
    /// The tools.
    pub tools: Vec<ToolSpec>,
}

/// A tool as a provider is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolSpec {
    /// `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What the model reads: the summary where the tool has one, else the description.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
    /// Arguments are to be held to the schema by the provider.
    pub strict: bool,
}

/// One request.
#[derive(Clone, Debug)]
pub struct Request {
    /// Frozen.
    pub head: Arc<Head>,
    /// The conversation so far, shared with every other request of it.
    pub transcript: Fork,
    /// What an inquiry adds; empty for the turn's own request.
    pub messages: Vec<Message>,
    /// The inquiry's strategy, where it is one.
    pub inquiry: Option<Strategy>,
    /// What is forced.
    pub tool_choice: ToolChoice,
    /// The model reasons, where it can.
    pub reasoning: bool,
    /// The answer is JSON that fits this schema.
    pub schema: Option<Value>,
}
