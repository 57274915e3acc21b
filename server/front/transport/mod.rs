//! Bytes in and bytes out over pipes, bounded and in order, for any protocol of framed JSON-RPC messages.
//!
//! | module | what lives there |
//! |---|---|
//! | [`claim`] | takes descriptors 0 and 1 away from everybody else |
//! | [`parent`] | ends the connection when the client's process is gone |
//! | [`framing`] | the trait that cuts bytes into messages, and the bounds of messages |
//! | [`pump`] | the two threads between the pipes and the protocol |
//! | [`inbox`], [`outbox`] | the bounded queues of those threads |
//! | [`end`] | why a connection is over |
//! | `last` | what is still done then |
//! | [`tasks`] | the tasks of a connection, each with an owner |
//! | [`in_order`] | runs handlers in the order in which their messages came, and lets answers come later |
//! | [`disk`] | work on files for requests, in the order of [`lanes`] |
//! | [`lanes`] | the order of what waits for a disk meanwhile |
//!
//! Invariant: nothing here knows a method, nor how a protocol spells its errors.

pub mod claim;
pub mod disk;
pub mod end;
pub mod framing;
pub mod in_order;
pub mod inbox;
pub mod lanes;
pub(in crate::front) mod last;
pub mod outbox;
pub mod parent;
pub mod pump;
pub mod tasks;
