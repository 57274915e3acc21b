//! Open documents of an undo: edited through the editor one after another, and reverted in the same way.

use std::{
    io,
    path::{Path, PathBuf},
};

use aside_base::digest::sha256;
use aside_base::system::folders::canonical;
use aside_session::{
    blobs::Blobs,
    undo::{
        Clash, Conflict, EditorDocument, FileRestore, RestorePlace, Saved, UndoError, UndoPlan,
    },
};
use aside_tool::editor::{BufferEdit, EditError, Editor, FileText, OpenDocument};
use tokio_util::sync::CancellationToken;

use super::failure::UndoFailure;

/// An editor that has files of the workspace open.
#[derive(Clone, Copy)]
pub struct ConnectedEditor<'a> {
    /// The client's editor, which has the files open.
    pub editor: &'a dyn Editor,
    /// Cancelled when the connection ends, which stops waiting for the editor.
    pub gone: &'a CancellationToken,
}

/// The open document of a file in the workspace.
pub(super) fn open(editor: &dyn Editor, root: &Path, path: &str) -> Option<EditorDocument> {
    let document = editor.document(&real(root, path)?)?;
    let buffer = &document.buffer;
    Some(EditorDocument {
        saved: match (buffer.file, buffer.dirty) {
            (_, false) => Saved::Yes,
            (FileText::Alike, true) => Saved::Alike,
            (FileText::Older, true) if buffer.users => Saved::Users,
            (FileText::Older, true) => Saved::No,
        },
        text: document.text,
        editable: editor.applies_edits(),
    })
}

/// The documents that a plan changes.
pub(super) struct Documents<'a> {
    it: ConnectedEditor<'a>,
    all: Vec<PlannedDocument<'a>>,
}

/// A document to change.
struct PlannedDocument<'a> {
    /// Path relative to the workspace.
    path: &'a str,
    /// Path by which the editor knows the document.
    real: PathBuf,
    was: OpenDocument,
    new: String,
}

impl<'a> Documents<'a> {
    /// Collects the documents without changing them.
    ///
    /// # Errors
    /// Fails if a document no longer matches the plan, or its earlier text is not available.
    pub(super) fn of(
        plan: &'a UndoPlan,
        it: ConnectedEditor<'a>,
        root: &Path,
        blobs: &Blobs,
    ) -> Result<Self, UndoFailure> {
        let changes = plan.changes.iter();
        let changes = changes.filter(|change| change.place == RestorePlace::Editor);
        let all = changes.map(|change| PlannedDocument::new(change, it.editor, root, blobs));
        let all = all.collect::<Result<_, _>>()?;
        Ok(Self { it, all })
    }

    /// Edits all documents. If one edit fails, the earlier ones are reverted.
    ///
    /// # Errors
    /// The reason of the failed edit, and the documents that could not be reverted.
    pub(super) fn put(&self) -> Result<(), UndoFailure> {
        for (at, one) in self.all.iter().enumerate() {
            let Err(why) = self.apply(one, &one.was, &one.new) else {
                continue;
            };
            let failed = UndoFailure::Editor {
                path: one.path.to_owned(),
                why,
            };
            // The edit may have been made without confirmation. Any other change is not known to be from this edit.
            let now = self.it.editor.document(&one.real);
            let made = now.is_some_and(|now| now.text == one.new);
            let touched = at + usize::from(made);
            return Err(failed.with(self.put_back_first(touched)));
        }
        Ok(())
    }

    /// Reverts all documents, and returns those that could not be reverted.
    pub(super) fn put_back(&self) -> Vec<String> {
        self.put_back_first(self.all.len())
    }

    /// Saves the documents without changes by the user, if the editor supports that. Returns those that are unsaved.
    pub(super) fn save(&self) -> Vec<String> {
        for one in self.all.iter().filter(|one| !one.was.buffer.users) {
            // After an error the document stays unsaved, like after an edit.
            let _ = self.it.editor.save(&one.real, self.it.gone);
        }
        let unsaved = self.all.iter().filter(|one| {
            let now = self.it.editor.document(&one.real);
            now.is_some_and(|now| now.buffer.dirty)
        });
        unsaved.map(|one| one.path.to_owned()).collect()
    }

    fn put_back_first(&self, count: usize) -> Vec<String> {
        // In reverse order, like an editor's own undo.
        let touched = self.all[..count].iter().rev();
        let left = touched.filter(|one| !self.revert_document(one));
        let mut left: Vec<String> = left.map(|one| one.path.to_owned()).collect();
        left.reverse();
        left
    }

    /// Reverts a document. Text that somebody typed meanwhile is kept.
    fn revert_document(&self, one: &PlannedDocument<'_>) -> bool {
        match self.it.editor.document(&one.real) {
            Some(now) if now.text == one.was.text => true,
            Some(now) if now.text == one.new => self.apply(one, &now, &one.was.text).is_ok(),
            _ => false,
        }
    }

    fn apply(
        &self,
        one: &PlannedDocument<'_>,
        from: &OpenDocument,
        new: &str,
    ) -> Result<(), EditError> {
        let edit = BufferEdit {
            path: &one.real,
            version: from.buffer.version,
            base: &from.text,
            new,
        };
        self.it.editor.apply(&edit, self.it.gone).map(drop)
    }
}

impl<'a> PlannedDocument<'a> {
    fn new(
        change: &'a FileRestore,
        editor: &dyn Editor,
        root: &Path,
        blobs: &Blobs,
    ) -> Result<Self, UndoError> {
        let path = change.path.as_str();
        let real = real(root, path);
        let was = real.and_then(|real| Some((editor.document(&real)?, real)));
        let as_planned = |document: &OpenDocument| {
            let now = sha256(document.text.as_bytes());
            change.now.as_ref() == Some(&now)
        };
        let Some((was, real)) = was.filter(|(document, _)| as_planned(document)) else {
            return Err(UndoError::Conflicts(vec![Conflict {
                path: path.to_owned(),
                clash: Clash::Changed,
            }]));
        };
        let blob = change.to.as_deref().unwrap_or_default();
        let bytes = blobs.read(blob, 0..u64::MAX);
        let new = bytes.and_then(|bytes| String::from_utf8(bytes).map_err(io::Error::other));
        Ok(Self {
            new: new.map_err(|source| UndoError::Io {
                path: path.to_owned(),
                source,
            })?,
            path,
            real,
            was,
        })
    }
}

/// The canonical path of a file, even if the file is missing; `None` if it is not in the workspace.
fn real(root: &Path, path: &str) -> Option<PathBuf> {
    let path = root.join(path);
    let real = canonical(&path).ok().or_else(|| {
        let folder = canonical(path.parent()?).ok()?;
        Some(folder.join(path.file_name()?))
    })?;
    real.starts_with(canonical(root).ok()?).then_some(real)
}
