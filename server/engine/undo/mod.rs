//! Takes back what a turn changed in files, on disk and in an editor, and puts it on record, for the model too.

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
