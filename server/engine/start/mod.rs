//! From what a front end wants to a running turn: [`TurnRequest`] → [`TurnConfig`] → [`StartedTurn`].
//!
//! | module | what lives there |
//! |---|---|
//! | `host` | what the tools of a turn may use |
//! | [`begin`] | [`Engine::begin`](super::Engine::begin): opens the log and lets the turn run |
//! | `parts` | rules, model, tools and system text of a turn |
//! | `servers` | what configuration makes of MCP servers |
//! | [`costs`] | what the tools of MCP servers take of a model's context |
//! | `sandbox` | what configuration makes of the sandbox |
//! | [`config`] | what configuration and trust make of it: [`Engine::configure`](super::Engine::configure) |
//! | [`trust`] | the configuration of a workspace, and whether it is trusted |
//! | [`tools`] | the tools of a turn, and what they say of themselves |
//! | `system` | the system text |
//! | `head` | what the conversation's requests begin with, and what changed of it since the last turn |
//! | [`request`] | what a front end wants of a turn |
//! | [`error`] | why there is no turn |
//!
//! Each uses only those below it.

pub mod begin;
pub mod config;
pub mod costs;
pub mod error;
#[cfg(test)]
mod every_key;
mod head;
mod host;
mod parts;
pub mod request;
mod sandbox;
mod servers;
mod system;
pub mod tools;
pub mod trust;

pub use begin::StartedTurn;
pub use config::TurnConfig;
pub use error::StartError;
pub use request::{ConversationTarget, Layers, RunFlags, TrustedBy, TurnRequest, TurnStart};
