//! Files that a tool changes: only over the text that the model knows.

use std::path::Path;

use tokio::sync::OwnedMutexGuard;
use tokio_util::sync::CancellationToken;

use aside_base::{digest::sha256, visible::short_line};

use super::{Files, TextSource};
use crate::{
    editor::{Applied, Buffer, BufferEdit, EditError, Editor, EditorView, carried},
    line_ends::alike,
    workspace::{PathError, TextFile},
};

/// How often an edit is made anew where the user types meanwhile.
const TRIES: u32 = 8;

/// The file that the model is about to change.
pub struct KnownFile {
    /// The real path from the root.
    pub path: String,
    /// The text, which the model read. `None` if there is no file.
    pub old: Option<TextFile>,
    /// The reason why a person must be asked, whatever the mode.
    pub must_ask: Option<String>,
    /// The text is that of an open document, and not the one that the model read.
    pub moved: bool,
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
    /// In the editor, beside what the user typed meanwhile, unsaved.
    BesideTyping,
    /// Unknown: the call was cancelled while the editor was asked.
    Cancelled,
}

impl Files {
    /// The `file://` URI of a path from the root.
    #[must_use]
    pub fn uri(&self, path: &str) -> String {
        self.workspace.uri(path)
    }

    /// Finds a file to change, with the text whose hash the model has `seen` last, or that of an open document. Waits for
    /// the edits before.
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
        let file = |path: String, old: Option<TextFile>, moved: bool| KnownFile {
            path,
            old,
            must_ask: (!reasons.is_empty()).then(|| reasons.join("; ")),
            moved,
            _turn: turn,
        };
        let source = match (view, place.old) {
            (EditorView::Document(document), _) => TextSource::Document(document),
            (view, Some(opened)) => TextSource::of(opened, view),
            (_, None) => return Ok(file(place.path, None, false)),
        };
        // Checked before the text is read: a text that the model never read is not compared with anything either.
        let Some(seen) = seen(&place.path) else {
            return Err(format!(
                "`{}` was not read in this conversation; read the file first.",
                place.path
            ));
        };
        let old = source.text(place.path)?;
        let moved = old.hash != seen;
        match moved && old.buffer.is_none() {
            false => Ok(file(old.path.clone(), Some(old), moved)),
            true => Err(PathError::Stale(old.path).into()),
        }
    }
}

impl KnownFile {
    /// The file, if its text is the one that the model read.
    ///
    /// # Errors
    /// Text for the model: it is another one.
    pub fn unmoved(self) -> Result<Self, String> {
        match self.moved {
            true => Err(PathError::Stale(self.path).into()),
            false => Ok(self),
        }
    }

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
        match self.apply(editor.as_ref(), &path, (buffer, text), cancelled)? {
            Some(Applied::InDocument) => {}
            Some(Applied::Saved) => return Ok(WrittenTo::Saved),
            Some(Applied::SavedOtherwise) => return Ok(WrittenTo::SavedOtherwise),
            None => return Ok(WrittenTo::Cancelled),
        }
        if editor.document(&path).is_some_and(|now| now.text != text) {
            return Ok(WrittenTo::BesideTyping);
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

    /// Changes the open document, which may be another one by now: the user types. `None` where the call was cancelled.
    fn apply(
        &self,
        editor: &dyn Editor,
        path: &Path,
        (buffer, text): (&Buffer, &str),
        cancelled: &CancellationToken,
    ) -> Result<Option<Applied>, String> {
        let base = self.old.as_ref().map_or("", |file| &file.text);
        let (mut version, mut before, mut after) =
            (buffer.version, base.to_owned(), text.to_owned());
        let mut tries = TRIES;
        loop {
            let edit = BufferEdit {
                path,
                version,
                base: &before,
                new: &after,
            };
            let error = match editor.apply(&edit, cancelled) {
                Ok(applied) => return Ok(Some(applied)),
                Err(EditError::Cancelled) => return Ok(None),
                Err(error) => error,
            };
            tries -= 1;
            let may_retry = matches!(error, EditError::Stale | EditError::Refused(_)) && tries > 0;
            // An editor that refuses the text that it has refuses it for another reason.
            let typed = editor
                .document(path)
                .filter(|now| may_retry && now.buffer.version != version);
            let carried = typed.and_then(|now| {
                let carried = carried(base, text, &now.text)?;
                Some((now.buffer.version, now.text, carried))
            });
            (version, before, after) = match (carried, error) {
                (Some(carried), _) => carried,
                (None, EditError::Stale) => {
                    return Err(PathError::Stale(self.path.clone()).into());
                }
                (None, error) => return Err(format!("`{}`: {error}.", self.path)),
            };
        }
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
