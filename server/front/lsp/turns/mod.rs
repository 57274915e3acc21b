//! The start of a turn, its display to the client, and settings that apply to a running turn.

pub(super) mod asker;
pub(super) mod client_tools;
pub(super) mod start;
mod view;
