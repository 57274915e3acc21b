//! The editor as tools see it: what is open there is read from it and changed through it, saved or not.
//!
//! The path gate comes first: a path is checked as that of any file, and only then the document of the real
//! path is taken instead of the file's bytes.
//!
//! Three know a text of a file: the disk, the editor, and the model, by the hash of what it read last. Texts that differ
//! only in what editors keep beside a text ([`alike`](crate::line_ends::alike)) are one. Whose text counts, for every
//! protocol:
//!
//! | the editor | what counts | a change |
//! |---|---|---|
//! | has no document of the file, or one like it and no say in its changes | the file | is made on disk |
//! | has a document like the file, or with changes of tools alone | the document | is made in the editor, and saved |
//! | has a document with changes of the user's | the document | asks, is made in the editor, and is not saved |
//! | has a document that nobody changed, and the file is newer | the file | is made on disk; who reads is told |
//! | did not answer, or has a text of which nobody knows whose it is ([`Doubt`]) | the file | asks, is made on disk; who reads is told |
//!
//! A text that counts and is not the one that the model read is not changed: the model reads it first. Nor is one replaced
//! as a whole of which it read only some lines; where lines are too long to be shown whole, that asks.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use aside_base::diff::merged;
use tokio_util::sync::CancellationToken;

/// An editor that has documents open. Everything here is called on threads that may wait.
pub trait Editor: Send + Sync {
    /// The editor's side of a file, by the file's real path. The file need not be there.
    fn look(&self, path: &Path) -> EditorView;

    /// The open document that counts as the text of a file.
    fn document(&self, path: &Path) -> Option<OpenDocument> {
        match self.look(path) {
            EditorView::Document(document) => Some(document),
            EditorView::Closed | EditorView::Older | EditorView::Doubtful(_) => None,
        }
    }

    /// Notes that a tool wrote this text into a file on disk.
    fn written(&self, _path: &Path, _text: &str) {}

    /// Real paths of the documents with changes that are not saved, in order.
    fn unsaved(&self) -> Vec<PathBuf>;

    /// Whether it knows at once of each file whether it is open, so that a walk over all of them may ask.
    fn answers_for_each_file(&self) -> bool {
        true
    }

    /// Whether documents can be changed at all.
    fn applies_edits(&self) -> bool;

    /// Changes an open document, and returns when the editor has shown that it did. Waits some seconds at the most, and
    /// not after `cancelled`.
    ///
    /// # Errors
    /// An [`EditError`]; what each says of the document is said there.
    fn apply(
        &self,
        edit: &BufferEdit<'_>,
        cancelled: &CancellationToken,
    ) -> Result<Applied, EditError>;

    /// Saves an open document. Waits 5 s at the most, and not after `cancelled`.
    ///
    /// # Errors
    /// Why it is not known to be saved, without a dot.
    fn save(&self, path: &Path, cancelled: &CancellationToken) -> Result<(), String>;
}

/// A file as an editor has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditorView {
    /// Nothing, or nothing but what is in the file.
    Closed,
    /// A document whose text counts.
    Document(OpenDocument),
    /// A document that nobody changed, with an older text than the file.
    Older,
    /// A text of which nobody knows whether it has changes of the user's.
    Doubtful(Doubt),
}

/// Reason why nobody knows whether an editor has changes that are not saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doubt {
    /// The editor did not answer, or with an error.
    Silent,
    /// The editor gave no text, as some do for files that are not open.
    Empty,
    /// The editor has another text than the file, which somebody else changed too.
    Either,
    /// The document was changed at places that are counted in an unknown way.
    Lines,
}

impl Doubt {
    /// The reason for a prompt before the file with this name is changed.
    #[must_use]
    pub fn reason(self, name: &str) -> String {
        match self {
            Self::Silent => {
                format!("the editor did not say whether {name} has changes that are not saved")
            }
            Self::Empty => {
                format!(
                    "the editor gave no text of {name}, which may be what the user did not save"
                )
            }
            Self::Either => format!(
                "{name} was changed on disk, and the editor has another text, which may be what the user did not save"
            ),
            Self::Lines => format!(
                "{name} was changed in an editor of which it is not known how it counts its lines, so that what is not saved there is not known"
            ),
        }
    }
}

/// The way in which an edit was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// In the document, which is not saved yet.
    InDocument,
    /// In the document and the file.
    Saved,
    /// In the document and the file; the editor changed the text once more.
    SavedOtherwise,
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
    /// Nobody knows the editor's lines of the document. Nothing was changed.
    #[error(
        "it has carriage returns within lines, and it is not known how the editor counts those; ask the user to close it there"
    )]
    UnknownLines,
    /// The editor writes other line ends than the edit has. Nothing was changed.
    #[error(
        "the editor would write other line ends into it than it has; ask the user to close it there"
    )]
    OtherEnds,
    /// Nobody knows what was changed.
    #[error("the editor did not confirm the edit; read the file again")]
    Unconfirmed,
    /// The call was cancelled. Nobody knows what was changed.
    #[error("the edit was cancelled")]
    Cancelled,
}

/// The text `now` with the change from `base` to `new`, where the user typed in other lines of `base` meanwhile. `None`
/// where the same lines were changed.
#[must_use]
pub fn carried(base: &str, new: &str, now: &str) -> Option<String> {
    merged(base, new, now).filter(|merged| merged != now)
}

/// Whether `now` has the change from `base` to `new`, and beside it only what the user typed in other lines.
#[must_use]
pub fn is_kept(base: &str, new: &str, now: &str) -> bool {
    let (base, new, now) = (lines(base), lines(new), lines(now));
    let (_, put) = differing(&base, &new);
    let (typed, _) = differing(&new, &now);
    // Lines that were taken away leave no trace: what is typed right there may be those.
    let apart = usize::from(put.is_empty());
    put.end + apart <= typed.start || typed.end + apart <= put.start
}

/// The lines that a change takes away, and those that it puts there: what of it stays the same wherever they are.
#[must_use]
pub fn changed_lines(old: &str, new: &str) -> [String; 2] {
    let (old, new) = (lines(old), lines(new));
    let (gone, put) = differing(&old, &new);
    [old[gone].concat(), new[put].concat()]
}

/// The lines of a text that a change is about, in words, counted from 1.
pub fn place_of(old: &str, new: &str) -> String {
    let (gone, _) = differing(&lines(old), &lines(new));
    match gone.len() {
        0 | 1 => format!("line {}", gone.start + 1),
        _ => format!("lines {} to {}", gone.start + 1, gone.end),
    }
}

/// The lines from the first that differs to the last, in the one text and in the other.
fn differing(one: &[&str], other: &[&str]) -> (Range<usize>, Range<usize>) {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let first = one.iter().zip(other).take_while(same).count();
    let (left, right) = (&one[first..], &other[first..]);
    let last = left.iter().rev().zip(right.iter().rev());
    let last = last.take_while(same).count();
    (first..one.len() - last, first..other.len() - last)
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

#[cfg(test)]
mod tests;
