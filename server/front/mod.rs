//! The views of a turn: the protocol's messages, and the front ends that speak them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`headless`] | the front end for terminals and CI |
//! | [`lsp`] | the front end for editors: a Language Server |
//! | [`acp`] | the front end for clients of the Agent Client Protocol |
//! | [`relay`] | what a turn says to a client, and a client to a turn, for any protocol |
//! | [`transport`] | bytes in and out over pipes, bounded and in order, for any protocol |
//! | `trusting` | what trust in a workspace would change, in words |
//! | [`notices`] | what a person is told as a turn begins, in words |
//! | `params` | reads params, and says by field what is wrong with them |
//! | `uri` | files by their URIs |
//! | [`error`] | why a request cannot be done, as data |
//! | [`wire`] | the protocol's messages as they are on the wire |
//!
//! Each uses only those below it.

pub mod acp;
pub mod error;
pub mod headless;
pub mod lsp;
pub mod notices;
mod params;
pub mod relay;
pub mod transport;
mod trusting;
mod uri;
pub mod wire;
