//! Bounded and ordered input and output over pipes, for any protocol of framed JSON-RPC messages.
//!
//! | module | contents |
//! |---|---|
//! | [`framing`] | the trait that splits bytes into messages, and limits of messages |
//! | [`pump`] | the two threads between the pipes and the protocol |
//! | [`inbox`], [`outbox`] | bounded queues of those threads |
//! | [`end`] | reasons for the end of a connection |
//! | `last` | shutdown after the end |
//! | [`tasks`] | tasks of a connection, each with an owner |
//! | [`in_order`] | runs handlers in the order of their messages, and allows late answers |
//! | [`disk`] | file work of requests, in the order of [`lanes`] |
//! | [`lanes`] | the order of work that waits for a disk |
//!
//! Invariant: nothing here depends on a method, or on the way in which a protocol represents errors.

pub mod disk;
pub mod end;
pub mod framing;
pub mod in_order;
pub mod inbox;
pub mod lanes;
pub(in crate::front) mod last;
pub mod outbox;
pub mod pump;
pub mod tasks;
