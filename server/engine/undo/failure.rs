//! Reasons why a turn was not undone, as messages.

use std::io;

use aside_base::visible::short_line;
use aside_session::undo::{Clash, Conflict, UndoError};
use aside_tool::editor::EditError;

/// Maximum length of a path in a message, in characters.
const MAX_PATH: usize = 1000;

/// A turn to undo.
#[derive(Clone, Debug)]
pub struct UndoTarget {
    /// The id of the turn.
    pub id: String,
    /// Name of the turn for the model and the user: `turn 3`, `the last turn`.
    pub name: String,
}

/// Reason why a turn was not undone, or only in part.
#[derive(Debug, thiserror::Error)]
pub enum UndoFailure {
    /// The plan failed. Nothing was changed.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The editor did not change a document. Nothing was changed.
    #[error("{}", edit_failed(path, why))]
    Editor {
        /// Path relative to the workspace.
        path: String,
        /// The reason why the editor did not make the edit.
        why: EditError,
    },
    /// Nothing was changed on disk, but some documents in the editor could not be reverted.
    #[error("{why}; these files changed in the editor: {}; undo them there", listed(files.iter()))]
    Left {
        /// The reason why the turn was not undone.
        why: Box<UndoFailure>,
        /// Paths relative to the workspace.
        files: Vec<String>,
    },
    /// The files were restored, but the undo could not be recorded.
    #[error("the files were restored, but the undo could not be recorded for the model: {0}")]
    Record(io::Error),
}

impl UndoFailure {
    /// Files that prevented the undo, relative to the workspace; empty if the reason is another one.
    #[must_use]
    pub fn conflicts(&self) -> Vec<String> {
        match self {
            Self::Undo(UndoError::Conflicts(conflicts)) => {
                conflicts.iter().map(|it| it.path.clone()).collect()
            }
            Self::Editor { path, .. } => vec![path.clone()],
            Self::Left { why, .. } => why.conflicts(),
            Self::Undo(_) | Self::Record(_) => Vec::new(),
        }
    }

    /// The message for people.
    #[must_use]
    pub fn message(&self, which: &UndoTarget) -> String {
        let name = &which.name;
        match self {
            Self::Undo(UndoError::Conflicts(conflicts)) => {
                format!("{name} was not undone, because {}", clauses(conflicts))
            }
            Self::Record(_) => self.to_string(),
            other => format!("{name} was not undone: {other}"),
        }
    }

    /// Adds documents that could not be reverted.
    pub(super) fn with(self, files: Vec<String>) -> Self {
        match files.is_empty() {
            true => self,
            false => Self::Left {
                why: Box::new(self),
                files,
            },
        }
    }
}

/// Lists paths in a sentence.
pub fn listed<'a>(files: impl Iterator<Item = &'a String>) -> String {
    let shown: Vec<String> = files.map(|path| short_line(path, MAX_PATH)).collect();
    shown.join(", ")
}

/// Explains why files cannot be restored, with advice for each kind.
fn clauses(conflicts: &[Conflict]) -> String {
    let of = |wanted: Clash, what: &str, advice: &str| {
        let files = conflicts.iter().filter(|it| it.clash == wanted);
        let files = listed(files.map(|it| &it.path));
        (!files.is_empty()).then(|| format!("{what}: {files}; {advice}"))
    };
    let clauses = [
        of(
            Clash::Changed,
            "these files were changed since",
            "restore them yourself, or undo later turns first",
        ),
        of(
            Clash::Elsewhere,
            "a link that was put on the way to these files leads to others",
            "take it away",
        ),
        of(
            Clash::OnDisk,
            "these files differ on disk and in the editor, and the turn did not cause that",
            "save or reload them in the editor",
        ),
        of(
            Clash::Unsaved,
            "these files are unsaved in an editor that does not support edits",
            "save them there",
        ),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    clauses.join("; and ")
}

fn edit_failed(path: &str, why: &EditError) -> String {
    let path = short_line(path, MAX_PATH);
    match why {
        EditError::Stale => format!("{path} changed in the editor meanwhile"),
        EditError::Refused(None) => format!("the editor did not edit {path}"),
        EditError::Refused(Some(why)) => {
            format!("the editor did not edit {path}: {why}")
        }
        EditError::Incapable => format!("the editor does not support edits of {path}"),
        EditError::UnknownLines | EditError::OtherEnds => format!("{path}: {why}"),
        EditError::Unconfirmed => {
            format!("the editor did not confirm the edit of {path}; check it there")
        }
        EditError::Cancelled => format!("the editor disconnected before it edited {path}"),
    }
}
