//! Models: what a request is, and how a response comes. Of the rest of the program it knows the turn alone.
//!
//! A request's body grows: what was sent once is kept as bytes, and never written again (`body`). An API writes and
//! reads without input or output (`api`), so that its tests are samples and their outcome (`trial`).
//!
//! | module | what lives there |
//! |---|---|
//! | `head`, `request`, `open` | what a request is, who takes it ([`Provider`]), and how one is opened |
//! | `apis` | the table of all APIs: traits of each one's models, and the way to open one |
//! | `anthropic`, `openai_responses`, `openai_chat`, `google`, `ollama` | a wire API each; what servers of Chat Completions do differently is a table, `openai_chat/server.rs` |
//! | `tags`, `openai_list` | reasoning that stands in the text, told apart from it; lists of models as most servers give them |
//! | `api`, `body`, `sse` | what the APIs share: the trait, bodies that grow, events of a stream |
//! | `attached`, `media` | what is attached to a message, as a model is told it; where the bytes of images and PDFs come from |
//! | `answer`, `openai_error`, `api_error`, `retry` | errors: how they are read, as data, and the one place that says what they mean |
//! | `effort`, `call_ids`, `schema`, `slots` | words for reasoning, ids of calls, JSON schemas as APIs take them, items in a row |
//! | `http`, [`client`], `connections`, [`this_computer`], [`key`], `hiding`, `list` | the network: sending, one client for the process, connections that are kept, secrets and how they are taken out, lists of models |
//! | [`options`], [`abilities`], [`models`] | one model as it is configured; what a model can do and cost; what is known of them (`models.toml`) |
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
mod head;
mod hiding;
mod http;
pub mod key;
mod list;
mod media;
pub mod models;
mod ollama;
mod open;
mod openai_chat;
mod openai_error;
mod openai_list;
mod openai_responses;
pub mod options;
pub mod rehearsal;
mod request;
mod retry;
mod schema;
mod slots;
mod sse;
mod tags;
#[cfg(test)]
mod tests;
pub mod this_computer;
#[cfg(test)]
mod trial;

pub use self::{
    body::SharedBody,
    flatten::flatten,
    head::{Head, ToolDeclaration},
    http::FindKey,
    list::{describe_models, list_models},
    media::ReadMedia,
    open::open,
    request::{ModelRequest, Provider, ResponseStream},
};
