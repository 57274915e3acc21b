//! The front end for editors: a Language Server over standard input and output.
//!
//! | module | what lives there |
//! |---|---|
//! | [`claim`] | takes descriptors 0 and 1 away from everybody else |
//! | [`frame`] | cuts the client's bytes into messages, within bounds (pure) |
//! | [`pump`] | the two threads between the pipes and tower-lsp |
//! | [`inbox`], [`outbox`] | the bounded queues of those threads |
//! | [`end`] | why a connection is over |
//! | [`pieces`] | joins the text pieces of a turn that wait for a slow client (pure) |
pub mod claim;
pub mod end;
pub mod frame;
pub mod inbox;
pub mod outbox;
pub mod pieces;
pub mod pump;
