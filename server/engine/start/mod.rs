//! From the request of a front end to a running turn: [`TurnRequest`] → [`TurnConfig`] → [`StartedTurn`].
//!
//! | module | contents |
//! |---|---|
//! | `context` | the context of a turn's tools |
//! | [`begin`] | [`Engine::begin`](super::Engine::begin): opens the log and starts the turn |
//! | `parts` | rules, model, tools and system text of a turn |
//! | `servers` | configured MCP servers |
//! | `watched` | what an MCP server of the user's starts from, and its changes |
//! | [`costs`] | context costs of MCP servers' tools |
//! | `sandbox` | the configured sandbox |
//! | [`config`] | a request combined with configuration and trust: [`Engine::configure`](super::Engine::configure) |
//! | [`trust`] | the configuration of a workspace, and trust in it |
//! | [`tools`] | the tools of a turn, and their descriptions |
//! | `system` | the system text |
//! | `instructions` | `AGENTS.md` of a workspace |
//! | `moved` | files that are not as an interrupted turn left them |
//! | `head` | the frozen beginning of the conversation's requests, and its changes |
//! | [`request`] | the request of a front end |
//! | [`error`] | reasons why a turn cannot start |
//!
//! Each module uses only those below it.

pub mod begin;
pub mod config;
mod context;
pub mod costs;
pub mod error;
#[cfg(test)]
mod every_key;
mod head;
mod instructions;
mod moved;
mod parts;
pub mod request;
mod sandbox;
mod servers;
mod system;
pub mod tools;
pub mod trust;
mod watched;

pub use begin::StartedTurn;
pub use config::TurnConfig;
pub use error::StartError;
pub use request::{ConversationTarget, Layers, RunFlags, TrustedBy, TurnRequest, TurnStart};
