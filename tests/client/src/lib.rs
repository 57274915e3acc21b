//! The client's end of a Language Server, for everything here that drives one.
//!
//! | module | what lives there |
//! |---|---|
//! | [`acp`] | messages of the Agent Client Protocol, checked against its schema |
//! | [`framing`] | `Content-Length`: messages cut out of a pipe, and framed for one |
//! | [`pipes`] | the thread that reads what a server says, and one that writes so that nobody waits for the server |
//! | [`server`] | the server as a child: what it wrote to its standard error, and its end |
//! | [`client`] | requests, notifications and waits, for tests and benchmarks; what does not come is a panic |
//!
//! The conformance driver has a session of its own on top of the first three: what it sees is judged, not asserted.
//!
//! Invariant: nothing sleeps, and every wait has a deadline.

pub mod acp;
pub mod client;
pub mod framing;
pub mod pipes;
pub mod server;

pub use client::Client;
pub use framing::Message;
pub use server::Server;
