//! The start of a turn and its display to the client.

pub(super) mod start;
mod view;
