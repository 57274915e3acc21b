//! Undoes the file changes of a turn, on disk and in an editor, and records that for the model too.

mod carry_out;
mod documents;
mod failure;
mod whole;

pub use self::{
    carry_out::{TurnUndo, UndoReport},
    documents::ConnectedEditor,
    failure::{UndoFailure, UndoTarget, listed},
    whole::{TakeBackError, TurnToUndo, UndoneTurn},
};
