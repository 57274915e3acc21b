//! Models: what a request is, and how a response comes. Of the rest of the program it knows the turn alone.
//!
//! A request's body grows: what was sent once is kept as bytes, and never written again (`body`). An API writes and
//! reads without input or output (`api`), so that its tests are samples and their outcome (`trial`).
//!
//! | module | what lives there |
//! |---|---|
//! | `apis` | the table of all APIs: each one's word in `aside.toml`, where it is, how it is opened |
//! | `anthropic`, `openai_responses`, `openai_chat`, `google`, `ollama` | a wire API each; what servers of Chat Completions do differently is a table, `openai_chat/server.rs` |
//! | `tags`, `openai_list` | reasoning that stands in the text, told apart from it; lists of models as most servers give them |
//! | `api`, `body`, `sse` | what the APIs share: the trait, bodies that grow, events of a stream |
//! | [`ReadMedia`] (`attached`) | what is attached to a message, as a model is told it; where the bytes of images and PDFs come from |
//! | `answer`, `openai_error`, `api_error`, `retry` | errors: how they are read, as data, and the one place that says what they mean |
//! | `effort`, `call_ids`, `schema`, `slots` | words for reasoning, ids of calls, JSON schemas as APIs take them, items in a row |
//! | `http`, [`client`], `connections`, [`key`], `hiding`, `list` | the network: sending, one client for the process, connections that are kept, secrets and how they are taken out, lists of models |
//! | [`options`], [`abilities`] | one model as it is configured; what models can do and cost (`models.toml`) |
//! | `flatten` | a conversation as text, for a model that did not lead it |
//! | [`rehearsal`] | a script in place of a model |

pub mod abilities;
mod answer;
mod anthropic;
mod api;
mod api_error;
mod apis;
mod attached;
mod body;
mod call_ids;
pub mod client;
mod connections;
mod effort;
mod flatten;
mod google;
mod hiding;
mod http;
pub mod key;
mod list;
mod ollama;
mod openai_chat;
mod openai_error;
mod openai_list;
mod openai_responses;
pub mod options;
pub mod rehearsal;
mod retry;
mod schema;
mod slots;
mod sse;
mod tags;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod trial;

use std::{collections::BTreeSet, pin::Pin, sync::Arc};

use async_trait::async_trait;
use futures_core::Stream;
use serde_json::Value;

pub use self::{
    apis::ApiKind,
    attached::ReadMedia,
    body::SharedBody,
    flatten::flatten,
    http::FindKey,
    list::{describe_models, list_models},
};
use self::{apis::Opens, client::HttpClient, http::Http, options::ModelOptions};
use crate::turn::{
    inquiry::{Message, Strategy},
    response::{Failure, Feature, Piece},
    rules::{Model, ToolChoice},
    transcript::Fork,
};

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

/// Opens a model behind an API. Nothing is sent yet.
///
/// # Errors
/// One sentence that says why it cannot be used.
pub fn open(
    kind: ApiKind,
    options: ModelOptions,
    client: HttpClient,
    key: FindKey,
) -> Result<Arc<dyn Provider>, String> {
    Ok(Arc::new(http(kind, options, client, key)?))
}

fn http(
    kind: ApiKind,
    options: ModelOptions,
    client: HttpClient,
    key: FindKey,
) -> Result<Http, String> {
    let Opens::Http(api) = kind.traits().opens else {
        return Err("a script is played, and no provider is asked for it".to_owned());
    };
    let api = api(&options.base);
    let model = options.to_model();
    Ok(Http {
        api,
        options,
        model,
        client,
        key,
        sent: Arc::default(),
    })
}

/// What a conversation's first request freezes: equal bytes in every later one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Head {
    /// The system text.
    pub system: String,
    /// The tools that the model may call, in the order in which they are sent.
    pub tools: Vec<ToolDeclaration>,
}

/// A tool as a provider is told of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolDeclaration {
    /// The tool's name, which fits `[A-Za-z0-9_-]{1,64}`.
    pub name: String,
    /// What the model reads: the summary where the tool has one, else the description.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
    /// Arguments are to be held to the schema by the provider.
    pub strict: bool,
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
