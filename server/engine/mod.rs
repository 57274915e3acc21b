//! Performs what the turn decides: the only owner of tasks, time and cancellation.
//!
//! | module | what lives there |
//! |---|---|
//! | [`assemble`] | puts together what a turn needs of the configuration |
//! | [`begin`] | opens a conversation and begins, resumes or closes a turn in it |
//! | [`drive`] | runs a turn: effects out, inputs in |
//! | [`models`] | models: where they are, their keys, what they can do, which ones there are |
//! | [`undo`] | takes back what a turn changed in files, on disk and in an editor |
//! | [`clock`] | the time that the turn is told |
//! | [`blocking()`] | runs blocking work, such as reading files, on tokio's pool for it |
//!
//! Invariant: nothing is decided here. A task that panics becomes an error of what it was doing, and a tool's
//! task that does not end after its token was cancelled is given up.

pub mod assemble;
pub mod begin;
mod blocking;
pub mod clock;
pub mod drive;
pub mod models;
pub mod undo;

pub use blocking::blocking;
pub use drive::{
    assistants::{FindAssistant, InquiryAssistant},
    handle::{QUEUE, TurnHandle, TurnMessage},
    state::ConversationState,
};
