//! Models: requests, responses, and the APIs of providers. Of the rest of the program this room uses only the turn.
//!
//! A request's body grows: bytes that were sent once are kept and never encoded again (`body`). An API encodes and
//! decodes without input or output (`api`), so its tests are samples with their outcome (`trial`).
//!
//! | module | contents |
//! |---|---|
//! | `head`, `request`, `open` | a request, the trait of a model ([`Provider`]), and how a model is opened |
//! | `apis` | the table of all APIs: traits of each one's models, and the way to open one |
//! | `anthropic`, `openai_responses`, `openai_chat`, `google`, `ollama` | one wire API each; differences between servers of Chat Completions are a table, `openai_chat/server.rs` |
//! | `tags`, `openai_list` | reasoning between tags in the text; lists of models in OpenAI's format |
//! | `api`, `body`, `sse` | common parts of the APIs: the trait, bodies that grow, events of a stream |
//! | `attached`, `media` | attachments of a message as a model reads them; the bytes of images and PDFs |
//! | `answer`, `openai_error`, `api_error`, `retry`, `refused` | errors: parsing, data, their classification, and the parts of a request that they name |
//! | `calls`, `call_ids` | the calls of a response: which there are, what their arguments are; their ids |
//! | `effort`, `schema`, `slots` | words for reasoning effort, JSON schemas in each API's subset, numbering of items |
//! | `http`, [`client`], `connections`, [`this_computer`], [`key`], `hiding`, `list` | the network: sending, the HTTP client, connections and proxies, secrets and their removal, lists of models |
//! | [`options`], [`abilities`], [`models`] | one model as configured; abilities and prices of models; the built-in table (`models.toml`) |
//! | `flatten` | a conversation as plain text, for a model that did not take part in it |
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
mod calls;
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
mod refused;
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
