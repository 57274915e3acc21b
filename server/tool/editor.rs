//! The editor as tools see it: what is open there is read from it and changed through it, saved or not.
//!
//! The path gate comes first: a path is checked as that of any file, and only then the document of the real
//! path is taken instead of the file's bytes.

use std::path::{Path, PathBuf};

use tokio_util::sync::CancellationToken;

/// An editor that has documents open. Everything here is called on threads that may wait.
pub trait Editor: Send + Sync {
    /// The open document of a file, by its real path. The file need not be there.
    fn document(&self, path: &Path) -> Option<OpenDocument>;

    /// Real paths of the documents with changes that are not saved, in order.
    fn unsaved(&self) -> Vec<PathBuf>;

    /// Whether it knows at once of each file whether it is open, so that a walk over all of them may ask.
    fn answers_for_each_file(&self) -> bool {
        true
    }

    /// Whether documents can be changed at all.
    fn applies_edits(&self) -> bool;

    /// Changes an open document, and returns when the editor has shown that it did. Waits 2 s at the most, and not
    /// after `cancelled`.
    ///
    /// # Errors
    /// An [`EditError`]; what each says of the document is said there.
    fn apply(&self, edit: &BufferEdit<'_>, cancelled: &CancellationToken) -> Result<(), EditError>;

    /// Saves an open document. Waits 5 s at the most, and not after `cancelled`.
    ///
    /// # Errors
    /// Why it is not known to be saved, without a dot.
    fn save(&self, path: &Path, cancelled: &CancellationToken) -> Result<(), String>;
}

/// An open document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenDocument {
    /// The text in the editor.
    pub text: String,
    /// The document and its state.
    pub buffer: Buffer,
}

/// A state of an open document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// The document, as the editor names it.
    pub uri: String,
    /// The editor's count of its states.
    pub version: i32,
    /// Whether the document has unsaved changes.
    pub dirty: bool,
    /// Some of these are the user's own, not only edits of tools.
    pub users: bool,
    /// Comparison with its file.
    pub file: FileText,
}

/// The text of a file, as compared with its open document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileText {
    /// The same, up to what editors convert when they open or save one.
    Alike,
    /// Another one, as there are changes that are not saved.
    Older,
    /// Another one, though the editor told of no change: the file may have been changed behind it.
    Behind,
}

/// A change of an open document.
#[derive(Clone, Copy, Debug)]
pub struct BufferEdit<'a> {
    /// The document's real path.
    pub path: &'a Path,
    /// The state that it starts from.
    pub version: i32,
    /// The text of that state.
    pub base: &'a str,
    /// The text that it shall have.
    pub new: &'a str,
}

/// Reason why an open document was not changed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The document is not in the state that the edit starts from. Nothing was changed.
    #[error("the document changed meanwhile; read the file again")]
    Stale,
    /// The editor said no. Nothing was changed.
    #[error("the editor refused the edit{}", .0.as_ref().map(|why| format!(": {why}")).unwrap_or_default())]
    Refused(Option<String>),
    /// The editor cannot be told to change a document. Nothing was changed.
    #[error(
        "it is open in an editor that cannot be told to change it; ask the user to close it there"
    )]
    Incapable,
    /// Nobody knows what was changed.
    #[error("the editor did not confirm the edit; read the file again")]
    Unconfirmed,
    /// The call was cancelled. Nobody knows what was changed.
    #[error("the edit was cancelled")]
    Cancelled,
}

#[cfg(test)]
mod tests;
