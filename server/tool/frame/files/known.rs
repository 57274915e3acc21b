//! Files that a tool changes: only over the text that the model knows.

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use aside_base::{digest::sha256, visible::short_line};

use super::{Files, TextSource};
use crate::{
    editor::{Applied, Buffer, BufferEdit, EditError, EditorView},
    line_ends::alike,
    workspace::{PathError, TextFile},
};

/// The file that the model is about to change.
pub struct KnownFile {
    /// The real path from the root.
    pub path: String,
    /// The text, which the model read. `None` if there is no file.
    pub old: Option<TextFile>,
    /// The reason why a person must be asked, whatever the mode.
    pub must_ask: Option<String>,
    /// The turn to edit. Each edit starts from the text that the one before left.
    _turn: OwnedMutexGuard<()>,
}

/// Place to which a text was written.
#[derive(Debug, PartialEq, Eq)]
pub enum WrittenTo {
    /// On disk, where no document is open.
    OnDisk,
    /// In the editor, which saved it.
    Saved,
    /// In the editor, which changed the text once more when saving.
    SavedOtherwise,
    /// In the editor, unsaved for this reason.
    Unsaved(String),
    /// Unknown: the call was cancelled while the editor was asked.
    Cancelled,
}

impl Files {
    /// The `file://` URI of a path from the root.
    #[must_use]
    pub fn uri(&self, path: &str) -> String {
        self.workspace.uri(path)
    }

    /// Finds a file to change, with the text whose hash the model has `seen` last. Waits for the edits before.
    ///
    /// # Errors
    /// Text for the model: tools do not write there, or the model does not know the text of the file.
    pub(in crate::frame) fn known(
        &self,
        path: &str,
        seen: impl Fn(&str) -> Option<String>,
    ) -> Result<KnownFile, String> {
        let turn = self.workspace.edit_turn();
        let place = self.workspace.place(path)?;
        let view = self.look(&place.path);
        let doubt = match &view {
            EditorView::Doubtful(doubt) => Some(doubt.reason(&short_line(&place.path, 80))),
            _ => None,
        };
        let reasons: Vec<String> = place.must_ask.into_iter().chain(doubt).collect();
        let file = |path: String, old: Option<TextFile>| KnownFile {
            path,
            old,
            must_ask: (!reasons.is_empty()).then(|| reasons.join("; ")),
            _turn: turn,
        };
        let source = match (view, place.old) {
            (EditorView::Document(document), _) => TextSource::Document(document),
            (view, Some(opened)) => TextSource::of(opened, view),
            (_, None) => return Ok(file(place.path, None)),
        };
        // Checked before the text is read: a text that the model never read is not compared with anything either.
        let Some(seen) = seen(&place.path) else {
            return Err(format!(
                "You have not read `{}`; read the file first.",
                place.path
            ));
        };
        let old = source.text(place.path)?;
        match old.hash == seen {
            true => Ok(file(old.path.clone(), Some(old))),
            false => Err(PathError::Stale(old.path).into()),
        }
    }
}

impl KnownFile {
    /// Puts a text in the place of the known one. Returns also the hash of the text that is there now, where that is this
    /// one in other line ends.
    ///
    /// # Errors
    /// Text for the model. The file was not changed, unless the editor did not confirm the change.
    pub(in crate::frame) fn put(
        &self,
        files: &Files,
        text: &str,
        cancelled: &CancellationToken,
    ) -> Result<(WrittenTo, String), String> {
        let to = match self.old.as_ref().and_then(|file| file.buffer.as_ref()) {
            None => self.put_on_disk(files, text)?,
            Some(buffer) => self.put_in_editor(files, buffer, text, cancelled)?,
        };
        let there = match to {
            WrittenTo::Saved => self.text_now(files),
            _ => None,
        };
        let there = there.filter(|there| alike(there, text));
        let hash = sha256(there.as_deref().unwrap_or(text).as_bytes());
        Ok((to, hash))
    }

    fn put_on_disk(&self, files: &Files, text: &str) -> Result<WrittenTo, String> {
        let expected = self.old.as_ref().map(|file| file.hash.as_str());
        files
            .workspace
            .write(&self.path, expected, text.as_bytes())?;
        if let Some(editor) = &files.editor {
            editor.written(&files.root().join(&self.path), text);
        }
        Ok(WrittenTo::OnDisk)
    }

    /// Changes the open document. Saves the document if the user had no unsaved changes.
    fn put_in_editor(
        &self,
        files: &Files,
        buffer: &Buffer,
        text: &str,
        cancelled: &CancellationToken,
    ) -> Result<WrittenTo, String> {
        let Some(editor) = files.editor.as_ref() else {
            return Err(PathError::Stale(self.path.clone()).into());
        };
        let path = files.root().join(&self.path);
        let edit = BufferEdit {
            path: &path,
            version: buffer.version,
            base: self.old.as_ref().map_or("", |file| &file.text),
            new: text,
        };
        match editor.apply(&edit, cancelled) {
            Ok(Applied::InDocument) => {}
            Ok(Applied::Saved) => return Ok(WrittenTo::Saved),
            Ok(Applied::SavedOtherwise) => return Ok(WrittenTo::SavedOtherwise),
            Err(EditError::Stale) => return Err(PathError::Stale(self.path.clone()).into()),
            Err(EditError::Cancelled) => return Ok(WrittenTo::Cancelled),
            Err(error) => return Err(format!("`{}`: {error}.", self.path)),
        }
        if buffer.users {
            let why = "it has changes of the user's that are not saved".to_owned();
            return Ok(WrittenTo::Unsaved(why));
        }
        if let Err(why) = editor.save(&path, cancelled) {
            return Ok(WrittenTo::Unsaved(why));
        }
        let now = editor.document(&path);
        Ok(match now.is_none_or(|now| now.text == text) {
            true => WrittenTo::Saved,
            false => WrittenTo::SavedOtherwise,
        })
    }

    /// The text that counts now.
    fn text_now(&self, files: &Files) -> Option<String> {
        match files.document(&self.path) {
            Some(document) => Some(document.text),
            None => files
                .workspace
                .file(&self.path)
                .ok()?
                .text()
                .ok()
                .map(|file| file.text),
        }
    }
}
