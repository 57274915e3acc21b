//! A turn of a conversation that is taken back, from its log to the record of it.

use std::{io, path::PathBuf};

use super::{
    carry_out::TurnUndo,
    documents::ConnectedEditor,
    failure::{UndoFailure, UndoTarget},
};
use crate::{
    engine::clock::Clock,
    session::{conversation::Conversation, log::OpenError, replay, undo::UndoError},
};

/// A turn that is to be taken back. No turn of this process runs in its conversation meanwhile.
#[derive(Clone, Debug)]
pub struct TurnToUndo {
    /// The conversation that the turn belongs to.
    pub conversation: Conversation,
    /// The root of the workspace.
    pub root: PathBuf,
    /// The id of the turn.
    pub turn: String,
    /// The only files that are put back, relative to the workspace; none names all of them.
    pub only: Option<Vec<String>>,
}

/// A turn that was taken back. Its files are relative to the workspace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoneTurn {
    /// What the user wrote to begin the turn.
    pub prompt: String,
    /// The files that are as they were before it.
    pub files: Vec<String>,
    /// Files that are back in the editor and not saved there.
    pub unsaved: Vec<String>,
    /// Commands ran in the turn: what they changed is as they left it.
    pub untracked: bool,
}

/// Why a turn of a conversation was not taken back.
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
    #[error("{}", why.sentence(which))]
    Failed {
        /// The turn.
        which: UndoTarget,
        /// Why it was not.
        why: UndoFailure,
    },
}

impl TurnToUndo {
    /// Takes the turn back: all files or none; on disk alone where there is no editor. To be called on a thread that may
    /// wait for the editor.
    ///
    /// # Errors
    /// [`TakeBackError`].
    pub fn take_back(
        &self,
        editor: Option<ConnectedEditor<'_>>,
    ) -> Result<UndoneTurn, TakeBackError> {
        // While it is open here, no turn of another process changes files.
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
