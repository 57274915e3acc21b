//! Undoes a turn: plans the changes, restores all files or none, and records the undo.

use std::{io, path::Path};

use aside_session::{
    conversation::Conversation,
    lines::LogLines,
    log::Log,
    record::{Entry, Undone},
    undo::{self, UndoError, UndoPlan, UndoRequest},
};
use aside_tool::registry::Registry;
use aside_turn::{
    model_text::ModelText,
    record::{DirectiveKind, Event},
};

use super::{
    documents::{self, ConnectedEditor, Documents},
    failure::{UndoFailure, UndoTarget, listed},
};
use crate::engine::clock::Clock;

/// An undo in progress. All functions block, and may wait for the editor.
#[derive(Clone, Copy)]
pub struct TurnUndo<'a> {
    /// The turn to undo.
    pub which: &'a UndoTarget,
    /// Conversation of the turn.
    pub conversation: &'a Conversation,
    /// Root of the workspace.
    pub root: &'a Path,
    /// The editor with open files; `None` to use only the disk.
    pub editor: Option<ConnectedEditor<'a>>,
}

/// Result of an undo.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoReport {
    /// Files that were restored in the editor and are unsaved there, relative to the workspace.
    pub unsaved: Vec<String>,
}

impl TurnUndo<'_> {
    /// Plans the undo without changing anything. `only` selects files; `None` for all.
    ///
    /// # Errors
    /// [`UndoError`].
    pub fn plan(&self, lines: &LogLines, only: Option<&[String]>) -> Result<UndoPlan, UndoError> {
        let registry = Registry::builtin();
        // A tool that no longer exists may have run commands.
        let runs_commands = |tool: &str| {
            registry
                .get(tool)
                .is_none_or(|tool| tool.spec().runs_commands)
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

    /// Restores all files or none, then records the undo. `log` is the conversation's log.
    ///
    /// Steps on disk that can fail without a change come first. Then the editor is asked, which may refuse but can
    /// revert its edits. The files on disk are changed last.
    ///
    /// # Errors
    /// A file that cannot be restored on disk or in the editor; nothing on disk was changed then. Only a failed record
    /// leaves the files restored, and says so.
    pub fn carry_out(&self, plan: &UndoPlan, log: &mut Log) -> Result<UndoReport, UndoFailure> {
        let blobs = self.conversation.blobs();
        let under_way = self.conversation.under_way();
        let staged = undo::staged::stage(plan, self.root, &blobs, &under_way)?;
        let ready = staged.bring()?;
        let documents = match self.editor {
            Some(it) => Some(Documents::of(plan, it, self.root, &blobs)?),
            None => None,
        };
        if let Some(documents) = &documents {
            documents.put()?;
        }
        if let Err(error) = ready.put() {
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

/// Records the undo for users and the model. Neither entry belongs to a turn, because a turn that has ended is final.
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
