//! Performs what the turn decides: the only owner of tasks, time and cancellation.
//!
//! | module | contents |
//! |---|---|
//! | [`start`] | from a [`TurnRequest`] to a [`StartedTurn`]: configuration, trust, tools, rules, the log |
//! | [`undo`] | undoes the file changes of a turn, on disk and in an editor |
//! | `shared` | [`Engine`], one per process: its conversations, models and services for turns |
//! | [`conversations`] | the conversations of a process, and the turns that run in them |
//! | [`drive`] | runs a turn: effects out, inputs in |
//! | [`models`] | models: addresses, keys, abilities, lists |
//! | [`clock`] | time for turns |
//! | `blocking` | [`blocking()`], which runs blocking work on tokio's blocking pool, and a test for free threads |
//!
//! Each module uses only those below it.
//!
//! Invariant: nothing is decided here. A task that panics becomes an error of its request or call. A tool's task that
//! does not end after its token was cancelled is abandoned.

mod blocking;
pub mod clock;
pub mod conversations;
pub mod drive;
pub mod models;
mod shared;
pub mod start;
pub mod undo;

pub use blocking::{NoThread, blocking, look_for_thread};
pub use drive::{
    handle::{TurnHandle, TurnMessage},
    notice::TurnNotice,
};
pub use shared::Engine;
pub use start::{
    ConversationTarget, Layers, RunFlags, StartError, StartedTurn, TrustedBy, TurnConfig,
    TurnRequest, TurnStart,
};
