//! Undoes a turn, from reading its log to recording the undo.

use std::{io, path::PathBuf};

use aside_session::{conversation::Conversation, log::OpenError, replay, undo::UndoError};

use super::{
    carry_out::TurnUndo,
    documents::ConnectedEditor,
    failure::{UndoFailure, UndoTarget},
};
use crate::engine::clock::Clock;

/// A turn to undo. No turn of this process runs in its conversation meanwhile.
#[derive(Clone, Debug)]
pub struct TurnToUndo {
    /// Conversation of the turn.
    pub conversation: Conversation,
    /// Root of the workspace.
    pub root: PathBuf,
    /// Id of the turn.
    pub turn: String,
    /// Files to restore, relative to the workspace; `None` for all.
    pub only: Option<Vec<String>>,
}

/// A turn that was undone. Its files are relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneTurn {
    /// The user's message that started the turn.
    pub prompt: String,
    /// Restored files.
    pub files: Vec<String>,
    /// Files that were restored in the editor and are unsaved there.
    pub unsaved: Vec<String>,
    /// Whether commands ran in the turn. Their changes are not undone.
    pub untracked: bool,
}

/// Reason why a turn of a conversation was not undone.
#[derive(Debug, thiserror::Error)]
pub enum TakeBackError {
    /// The conversation is in use, or cannot be written to.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The conversation cannot be read.
    #[error("the conversation cannot be read: {0}")]
    Read(#[from] io::Error),
    /// The conversation has no turn with this id.
    #[error("there is no turn {0:?}")]
    NoTurn(String),
    /// The turn was not taken back, or not wholly.
    #[error("{}", why.message(which))]
    Failed {
        /// The turn that was to be undone.
        which: UndoTarget,
        /// The reason why it was not, or not wholly.
        why: UndoFailure,
    },
}

impl TurnToUndo {
    /// Undoes the turn: all files or none, and only on disk without an editor. Blocks, and may wait for the editor.
    ///
    /// # Errors
    /// [`TakeBackError`].
    pub fn take_back(
        &self,
        editor: Option<ConnectedEditor<'_>>,
    ) -> Result<UndoneTurn, TakeBackError> {
        // The open log keeps turns of other processes from changing files.
        let mut log = self.conversation.log(Clock::start().now())?;
        let lines = self.conversation.read_all()?;
        let turns = replay::turns(&lines.records);
        let place = turns.iter().position(|turn| turn.id == self.turn);
        let place = place.ok_or_else(|| TakeBackError::NoTurn(self.turn.clone()))?;
        let which = UndoTarget {
            id: self.turn.clone(),
            name: format!("turn {}", place + 1),
        };
        let undo = TurnUndo {
            which: &which,
            conversation: &self.conversation,
            root: &self.root,
            editor,
        };
        let failed = |why| match why {
            UndoFailure::Undo(UndoError::NoTurn(turn)) => TakeBackError::NoTurn(turn),
            why => TakeBackError::Failed {
                which: which.clone(),
                why,
            },
        };
        let plan = undo.plan(&lines, self.only.as_deref());
        let plan = plan.map_err(|error| failed(error.into()))?;
        let report = undo.carry_out(&plan, &mut log).map_err(failed)?;
        let files = plan.changes.into_iter().map(|change| change.path);
        Ok(UndoneTurn {
            prompt: turns[place].prompt.clone(),
            files: files.collect(),
            unsaved: report.unsaved,
            untracked: plan.untracked,
        })
    }
}
