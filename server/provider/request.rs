//! A request to a model, and the trait of a model.

use std::{collections::BTreeSet, pin::Pin, sync::Arc};

use aside_turn::{
    inquiry::{Message, Strategy},
    response::{Failure, Feature, Piece},
    rules::{LeftOut, Model, ToolChoice},
    transcript::Fork,
};
use async_trait::async_trait;
use futures_core::Stream;
use serde_json::Value;

use super::{body::SharedBody, head::Head};

/// The pieces of a response. Dropping the stream cancels the request.
pub type ResponseStream = Pin<Box<dyn Stream<Item = Result<Piece, Failure>> + Send>>;

/// A model behind an API.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Name and abilities of the model.
    fn model(&self) -> &Model;

    /// Sends a request and returns when the first byte of the response arrives.
    ///
    /// # Errors
    /// A [`Failure`] with a message for the user.
    async fn send(&self, request: ModelRequest) -> Result<ResponseStream, Failure>;
}

/// One request to a model: the conversation so far, and requirements for the response.
#[derive(Clone, Debug)]
pub struct ModelRequest {
    /// System text and tools, the same in all requests of a conversation.
    pub head: Arc<Head>,
    /// The conversation so far, shared with every other request of it.
    pub transcript: Fork,
    /// The encoded common part of the conversation's requests to this model.
    pub shared: Arc<SharedBody>,
    /// Messages that an inquiry adds; empty for the turn's own request.
    pub messages: Vec<Message>,
    /// Whether the provider is asked for a summary in its own form.
    pub compacts: bool,
    /// Strategy of the inquiry, if this is one.
    pub inquiry: Option<Strategy>,
    /// Tool choice of the request.
    pub tool_choice: ToolChoice,
    /// Whether the model should reason, if it can.
    pub reasoning: bool,
    /// JSON schema of the answer, if the answer must be JSON.
    pub schema: Option<Value>,
    /// Features that the model refused in this conversation.
    pub without: BTreeSet<Feature>,
    /// Parts that the model refused in this conversation by their names.
    pub left_out: BTreeSet<LeftOut>,
}
