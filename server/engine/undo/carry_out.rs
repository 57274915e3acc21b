//! What it takes to take a turn back: a plan, then all of its files or none, then the record.

use std::{io, path::Path};

use aside_turn::{
    model_text::ModelText,
    record::{DirectiveKind, Event},
};

use super::{
    documents::{self, ConnectedEditor, Documents},
    failure::{UndoFailure, UndoTarget, listed},
};
use crate::{
    engine::clock::Clock,
    session::{
        conversation::Conversation,
        lines::LogLines,
        log::Log,
        record::{Entry, Undone},
        undo::{self, UndoError, UndoPlan, UndoRequest},
    },
    tool::registry::Registry,
};

/// A turn that is taken back. Everything here is called on threads that may wait for the editor.
#[derive(Clone, Copy)]
pub struct TurnUndo<'a> {
    /// The turn that is taken back.
    pub which: &'a UndoTarget,
    /// The conversation that the turn belongs to.
    pub conversation: &'a Conversation,
    /// The root of the workspace.
    pub root: &'a Path,
    /// Who has files of it open; none where only the disk counts.
    pub editor: Option<ConnectedEditor<'a>>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoReport {
    /// Files that are back in the editor and not saved there, relative to the workspace.
    pub unsaved: Vec<String>,
}

impl TurnUndo<'_> {
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
    /// A file that the disk or the editor does not let us put back: nothing on disk was changed then. A record that could
    /// not be written is the one failure after the files were put back, and it says so.
    pub fn carry_out(&self, plan: &UndoPlan, log: &mut Log) -> Result<UndoReport, UndoFailure> {
        let blobs = self.conversation.blobs();
        let under_way = self.conversation.under_way();
        let staged = undo::staged::stage(plan, self.root, &blobs, &under_way)?;
        let documents = match self.editor {
            Some(it) => Some(Documents::of(plan, it, self.root, &blobs)?),
            None => None,
        };
        if let Some(documents) = &documents {
            documents.put()?;
        }
        if let Err(error) = staged.put() {
            let left = documents.map(|documents| documents.put_back());
            return Err(UndoFailure::from(error).with(left.unwrap_or_default()));
        }
        let unsaved = documents.map(|documents| documents.save());
        if !plan.changes.is_empty() {
            record(log, self.which, plan).map_err(UndoFailure::Record)?;
        }
        Ok(UndoReport {
            unsaved: unsaved.unwrap_or_default(),
        })
    }
}

/// Neither belongs to a turn: a turn that has ended stays so.
fn record(log: &mut Log, which: &UndoTarget, plan: &UndoPlan) -> io::Result<()> {
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
