//! Why a turn was not taken back, in words.

use std::io;

use aside_base::visible::short_line;

use crate::{
    session::undo::{Clash, Conflict, UndoError},
    tool::editor::EditError,
};

/// Characters of a path in a sentence.
const PATH: usize = 1000;

/// A turn to take back.
#[derive(Clone, Debug)]
pub struct UndoTarget {
    /// The id of the turn.
    pub id: String,
    /// As the model and the user are told of it: `turn 3`, `the last turn`.
    pub name: String,
}

/// Why a turn was not taken back, or not wholly.
#[derive(Debug, thiserror::Error)]
pub enum UndoFailure {
    /// Nothing was changed.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// The editor did not change a document. Nothing was changed.
    #[error("{}", not_made(path, why))]
    Editor {
        /// Relative to the workspace.
        path: String,
        /// Why the editor did not make the edit.
        why: EditError,
    },
    /// Nothing was changed on disk, but documents in the editor are not as they were.
    #[error("{why}; in the editor these are not as they were: {}; put them back there with its own undo", listed(files.iter()))]
    Left {
        /// Why the turn was not taken back.
        why: Box<UndoFailure>,
        /// Relative to the workspace.
        files: Vec<String>,
    },
    /// Only the record is missing.
    #[error("the files were put back, but the model cannot be told of it: {0}")]
    Record(io::Error),
}

impl UndoFailure {
    /// The files for which the turn was not taken back, relative to the workspace; none where it is not for files.
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

    /// A sentence for people.
    #[must_use]
    pub fn sentence(&self, which: &UndoTarget) -> String {
        let name = &which.name;
        match self {
            Self::Undo(UndoError::Conflicts(conflicts)) => {
                format!("{name} was not undone, as {}", clauses(conflicts))
            }
            Self::Record(_) => self.to_string(),
            other => format!("{name} was not undone: {other}"),
        }
    }

    /// The same, with documents that are not as they were.
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

/// Paths in a sentence.
pub fn listed<'a>(files: impl Iterator<Item = &'a String>) -> String {
    let shown: Vec<String> = files.map(|path| short_line(path, PATH)).collect();
    shown.join(", ")
}

/// Why files cannot be put back, and what to do about each.
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
            "put them back yourself, or undo later turns first",
        ),
        of(
            Clash::OnDisk,
            "these files have another text on disk than in the editor, which is not the turn's",
            "save them there, or load them again",
        ),
        of(
            Clash::Unsaved,
            "these files are not saved in an editor that cannot be told to change them",
            "save them there",
        ),
    ];
    let clauses: Vec<String> = clauses.into_iter().flatten().collect();
    clauses.join("; and ")
}

fn not_made(path: &str, why: &EditError) -> String {
    let path = short_line(path, PATH);
    match why {
        EditError::Stale => format!("{path} changed in the editor meanwhile"),
        EditError::Refused(None) => format!("the editor did not make the edit of {path}"),
        EditError::Refused(Some(why)) => {
            format!("the editor did not make the edit of {path}: {why}")
        }
        EditError::Incapable => format!("the editor cannot be told to change {path}"),
        EditError::Unconfirmed => {
            format!("the editor did not confirm the edit of {path}; look at it there")
        }
        EditError::Cancelled => format!("the editor went before it made the edit of {path}"),
    }
}
