//! Performs what the turn decides: the only owner of tasks, time and cancellation.
//!
//! | module | what lives there |
//! |---|---|
//! | [`start`] | from a [`TurnRequest`] to a [`StartedTurn`]: configuration, trust, tools, rules, the log |
//! | [`undo`] | takes back what a turn changed in files, on disk and in an editor |
//! | `shared` | [`Engine`], one a process: its conversations, its models, what turns are made with |
//! | [`conversations`] | the conversations of a process, and the turns that run in them |
//! | [`drive`] | runs a turn: effects out, inputs in |
//! | [`models`] | models: where they are, their keys, what they can do, which ones there are |
//! | [`clock`] | the time that the turn is told |
//! | `blocking` | [`blocking()`], which runs blocking work, such as reading files, on tokio's pool for it; whether there are threads |
//!
//! Each uses only those below it.
//!
//! Invariant: nothing is decided here. A task that panics becomes an error of what it was doing, and a tool's
//! task that does not end after its token was cancelled is given up.

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
