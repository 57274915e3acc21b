//! Takes back what a turn changed in files, on disk and in an editor, and puts it on record, for the model too.

use std::{io, path::Path};

use tokio_util::sync::CancellationToken;

use self::documents::Documents;
use super::clock::Clock;
use crate::{
    session::{
        conversation::Conversation,
        lines::LogLines,
        log::Log,
        record::{Entry, Undone},
        undo::{self, Clash, Conflict, UndoError, UndoPlan, UndoRequest},
    },
    tool::{
        Registry,
        editor::{EditError, Editor},
    },
    turn::{
        event::{DirectiveKind, Event},
        model_text::ModelText,
    },
    visible::short_line,
};

mod documents;

/// Characters of a path in a sentence.
const PATH: usize = 1000;

/// A turn to take back.
#[derive(Clone, Debug)]
pub struct Which {
    /// The id of the turn.
    pub id: String,
    /// As the model and the user are told of it: `turn 3`, `the last turn`.
    pub name: String,
}

/// An editor that has files of the workspace open.
#[derive(Clone, Copy)]
pub struct InEditor<'a> {
    /// The editor that has some of the files open.
    pub editor: &'a dyn Editor,
    /// The connection is over: it is not waited for any more.
    pub gone: &'a CancellationToken,
}

/// A turn that is taken back. Everything here is called on threads that may wait for the editor.
#[derive(Clone, Copy)]
pub struct Undoing<'a> {
    /// The turn that is taken back.
    pub which: &'a Which,
    /// The conversation that the turn belongs to.
    pub conversation: &'a Conversation,
    /// The root of the workspace.
    pub root: &'a Path,
    /// Who has files of it open; none where only the disk counts.
    pub editor: Option<InEditor<'a>>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Files that are back in the editor and not saved there, relative to the workspace.
    pub unsaved: Vec<String>,
}

/// Why a turn was not taken back, or not wholly.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
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
        why: Box<Failed>,
        /// Relative to the workspace.
        files: Vec<String>,
    },
    /// Only the record is missing.
    #[error("the files were put back, but the model cannot be told of it: {0}")]
    Record(io::Error),
}

impl Undoing<'_> {
    /// What is to be done; changes nothing. `only` names the files, all where it is none.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn plan(&self, lines: &LogLines, only: Option<&[String]>) -> Result<UndoPlan, UndoError> {
        let registry = Registry::builtin();
        // Nobody knows what a tool did that is not there any more.
        let runs_commands = |tool: &str| {
            registry
                .get(tool)
                .is_none_or(|tool| tool.about().runs_commands)
        };
        let wanted = UndoRequest {
            turn: &self.which.id,
            root: self.root,
            blobs: &self.conversation.blobs(),
            only,
        };
        let open = |path: &str| documents::open(self.editor?.editor, self.root, path);
        undo::plan(&lines.records, &wanted, runs_commands, open)
    }

    /// Does it: all files or none, and then the record. The log is that of the conversation.
    ///
    /// What the disk may refuse is done first, as far as it changes nothing; then the editor is asked, which may
    /// refuse too and can put back what it did; then the disk is changed.
    ///
    /// # Errors
    /// [`Failed`].
    pub fn carry_out(&self, plan: &UndoPlan, log: &mut Log) -> Result<Done, Failed> {
        let blobs = self.conversation.blobs();
        let staged = undo::stage(plan, self.root, &blobs)?;
        let documents = match self.editor {
            Some(it) => Some(Documents::of(plan, it, self.root, &blobs)?),
            None => None,
        };
        if let Some(documents) = &documents {
            documents.put()?;
        }
        if let Err(error) = staged.put() {
            let left = documents.map(|documents| documents.put_back());
            return Err(Failed::from(error).with(left.unwrap_or_default()));
        }
        let unsaved = documents.map(|documents| documents.save());
        if !plan.changes.is_empty() {
            record(log, self.which, plan).map_err(Failed::Record)?;
        }
        Ok(Done {
            unsaved: unsaved.unwrap_or_default(),
        })
    }
}

impl Failed {
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
    pub fn sentence(&self, which: &Which) -> String {
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
    fn with(self, files: Vec<String>) -> Self {
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

/// Neither belongs to a turn: a turn that has ended stays so.
fn record(log: &mut Log, which: &Which, plan: &UndoPlan) -> io::Result<()> {
    let files: Vec<String> = plan
        .changes
        .iter()
        .map(|change| change.path.clone())
        .collect();
    let what = format!("{} made to: {}", which.name, listed(files.iter()));
    let undone = Entry::Undone(Undone {
        undone: which.id.clone(),
        files,
    });
    let kind = DirectiveKind::Undone {
        turn: which.id.clone(),
    };
    let text = ModelText::default().directive(&kind, &what);
    for entry in [undone, Event::Directive { kind, text }.into()] {
        log.append(Clock::start().now(), None, &entry)?;
    }
    log.sync()()
}

#[cfg(test)]
mod tests;
