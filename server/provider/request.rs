//! What a request to a model is, and who takes it.

use std::{collections::BTreeSet, pin::Pin, sync::Arc};

use aside_turn::{
    inquiry::{Message, Strategy},
    response::{Failure, Feature, Piece},
    rules::{Model, ToolChoice},
    transcript::Fork,
};
use async_trait::async_trait;
use futures_core::Stream;
use serde_json::Value;

use super::{body::SharedBody, head::Head};

/// A response, piece by piece. Dropping it cancels the request.
pub type ResponseStream = Pin<Box<dyn Stream<Item = Result<Piece, Failure>> + Send>>;

/// A model behind an API.
#[async_trait]
pub trait Provider: Send + Sync {
    /// What the model is and can do.
    fn model(&self) -> &Model;

    /// Sends a request and returns when its first byte came.
    ///
    /// # Errors
    /// A [`Failure`] that is already put into words for a person.
    async fn send(&self, request: ModelRequest) -> Result<ResponseStream, Failure>;
}

/// One request to a model: the conversation so far, and how it is to be answered.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// System text and tools, the same in all requests of a conversation.
    pub head: Arc<Head>,
    /// The conversation so far, shared with every other request of it.
    pub transcript: Fork,
    /// What the conversation's requests to this model share, encoded.
    pub shared: Arc<SharedBody>,
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
    /// What the model refused in this conversation.
    pub without: BTreeSet<Feature>,
}
