//! Open documents, which tools read whether saved or not.
//!
//! | module | contents |
//! |---|---|
//! | `positions` | bytes of a text and LSP's positions, in both encodings (pure) |
//! | `splices` | a change as the smallest edits (pure) |
//! | [`editor`] | open documents for tools: read, change, save |
//! | [`attachments`] | attachments of a message: a text, an open document, a file |

pub(super) mod attachments;
pub(super) mod editor;
mod positions;
mod splices;
#[cfg(test)]
mod tests;

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use aside_base::regular;
use aside_tool::editor::FileText;
use dashmap::DashMap;
use ropey::Rope;
use tokio::sync::oneshot;
use tower_lsp::lsp_types::{TextDocumentContentChangeEvent, Url};

use self::{
    positions::rope_span,
    splices::{EditsSeen, Splices},
};

/// Size in bytes from which a closed document's memory is returned.
const LARGE: usize = 1 << 20;

/// Maximum size in bytes of a file that is compared with its document.
const COMPARED: u64 = 64 << 20;

/// The documents that are open in the client.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: DashMap<Url, Document>,
    /// Documents by the real path of their file, which need not exist.
    files: DashMap<PathBuf, Url>,
}

/// An open document.
#[derive(Debug)]
struct Document {
    version: i32,
    text: Rope,
    changed: UnsavedChanges,
    path: Option<PathBuf>,
    awaited: Option<AwaitedEdit>,
}

/// A version of an open document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DocumentState {
    /// The client's version number.
    pub(super) version: i32,
    /// The whole text.
    pub(super) text: String,
    /// Unsaved changes, by author.
    pub(super) changed: UnsavedChanges,
}

/// Unsaved changes of a document, by author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum UnsavedChanges {
    /// None are known.
    No,
    /// Only tools made them.
    ByTools,
    /// The user may have made some of them.
    ByUser,
}

/// A change that the client was asked to make.
#[derive(Debug)]
struct AwaitedEdit {
    splices: Splices,
    /// Whether part of it was made.
    begun: bool,
    /// Receives whether the next version of the document has the expected text.
    tell: oneshot::Sender<bool>,
}

impl Documents {
    /// Adds an opened document.
    pub(super) fn open(&self, uri: Url, version: i32, text: String) {
        let path = uri.to_file_path().ok().map(|path| real(&path));
        if let Some(path) = &path {
            self.files.insert(path.clone(), uri.clone());
        }
        let document = Document {
            version,
            text: Rope::from(text),
            changed: UnsavedChanges::No,
            path,
            awaited: None,
        };
        self.open.insert(uri, document);
    }

    /// Applies changes. Those of a document that is not open are ignored.
    pub(super) fn change(
        &self,
        uri: &Url,
        version: i32,
        changes: Vec<TextDocumentContentChangeEvent>,
        utf8: bool,
    ) {
        let Some(mut document) = self.open.get_mut(uri) else {
            return;
        };
        document.version = version;
        if changes.is_empty() {
            return;
        }
        for change in changes {
            match change.range {
                None => document.text = Rope::from(change.text),
                Some(range) => {
                    let span = rope_span(&document.text, range, utf8);
                    document.text.remove(span.clone());
                    document.text.insert(span.start, &change.text);
                }
            }
        }
        document.look();
    }

    /// Marks a document as saved.
    pub(super) fn saved(&self, uri: &Url) {
        if let Some(mut document) = self.open.get_mut(uri) {
            document.changed = UnsavedChanges::No;
        }
    }

    /// Marks a document as saved on request. Text that the user typed since is not saved.
    pub(super) fn saved_for_tools(&self, uri: &Url) {
        if let Some(mut document) = self.open.get_mut(uri)
            && document.changed == UnsavedChanges::ByTools
        {
            document.changed = UnsavedChanges::No;
        }
    }

    /// Removes a closed document, so that the file counts again. Returns whether it was so large that [`Self::give_back`]
    /// is worthwhile.
    pub(super) fn close(&self, uri: &Url) -> bool {
        let Some((_, Document { path, text, .. })) = self.open.remove(uri) else {
            return false;
        };
        if let Some(path) = path {
            self.files.remove_if(&path, |_, other| other == uri);
        }
        text.len_bytes() >= LARGE
    }

    /// Returns the memory of closed documents to the system. Blocks.
    pub(super) fn give_back() {
        give_back_memory();
    }

    /// The document with this URI.
    pub(super) fn get(&self, uri: &Url) -> Option<DocumentState> {
        self.open.get(uri).map(|document| DocumentState {
            version: document.version,
            text: document.text.to_string(),
            changed: document.changed,
        })
    }

    /// A line of a document, counted from 0.
    pub(super) fn line(&self, uri: &Url, number: u32) -> Option<String> {
        let document = self.open.get(uri)?;
        let line = document.text.get_line(usize::try_from(number).ok()?)?;
        Some(line.to_string())
    }

    /// The document of a file, by its real path.
    pub(super) fn uri_of(&self, path: &Path) -> Option<Url> {
        self.files.get(path).map(|uri| uri.clone())
    }

    /// The document of a file, by its real path, and how the file compares with it. A document may have been unsaved when
    /// it was opened, and a file may have changed behind the editor; the document then counts as the user's. Reads the
    /// file.
    pub(super) fn of_file(&self, path: &Path) -> Option<(Url, DocumentState, FileText)> {
        let uri = self.uri_of(path)?;
        let mut state = self.get(&uri)?;
        let on_disk = on_disk(path, &state.text);
        let file = match (state.changed, on_disk) {
            (_, OnDisk::Same | OnDisk::Alike) => FileText::Alike,
            (UnsavedChanges::No, OnDisk::Otherwise) => FileText::Behind,
            (UnsavedChanges::ByTools | UnsavedChanges::ByUser, OnDisk::Otherwise) => {
                FileText::Older
            }
        };
        state.changed = match (state.changed, on_disk) {
            // Undone, or loaded again.
            (_, OnDisk::Same) => UnsavedChanges::No,
            (UnsavedChanges::No, OnDisk::Otherwise) => UnsavedChanges::ByUser,
            (changed, _) => changed,
        };
        Some((uri, state, file))
    }

    /// Real paths of files with unsaved changes, in order. Reads the files.
    pub(super) fn unsaved(&self) -> Vec<PathBuf> {
        let files = self.files.iter().map(|file| file.key().clone());
        let mut files: Vec<PathBuf> = files.collect();
        files.sort();
        files.retain(|path| {
            let document = self.of_file(path);
            document.is_some_and(|(_, state, _)| state.changed != UnsavedChanges::No)
        });
        files
    }

    /// Awaits a change. The receiver gets whether the next version of the document has it, or an error if the document is
    /// closed. `None` if the document has another version or text by now, or another change is awaited.
    fn await_change(
        &self,
        uri: &Url,
        version: i32,
        base: &str,
        splices: Splices,
    ) -> Option<oneshot::Receiver<bool>> {
        let mut document = self.open.get_mut(uri)?;
        if document.version != version || document.text != *base || document.awaited.is_some() {
            return None;
        }
        let (tell, receiver) = oneshot::channel();
        document.awaited = Some(AwaitedEdit {
            splices,
            begun: false,
            tell,
        });
        Some(receiver)
    }

    /// Stops awaiting the change. If it still comes, it counts as the user's.
    fn give_up(&self, uri: &Url) {
        if let Some(mut document) = self.open.get_mut(uri)
            && document.awaited.take().is_some_and(|awaited| awaited.begun)
        {
            document.changed = UnsavedChanges::ByUser;
        }
    }
}

impl Document {
    /// Compares a new text with the awaited change.
    fn look(&mut self) {
        let Some(mut awaited) = self.awaited.take() else {
            self.changed = UnsavedChanges::ByUser;
            return;
        };
        let made = awaited.splices.made(&self.text.to_string());
        if made == EditsSeen::Some {
            awaited.begun = true;
            self.awaited = Some(awaited);
            return;
        }
        let all = made == EditsSeen::All;
        self.changed = match self.changed {
            UnsavedChanges::No | UnsavedChanges::ByTools if all => UnsavedChanges::ByTools,
            _ => UnsavedChanges::ByUser,
        };
        // The receiver may be gone.
        let _ = awaited.tell.send(all);
    }
}

/// The real path of a file that need not exist.
pub(super) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    let parent = path.parent().and_then(|parent| parent.canonicalize().ok());
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Comparison of a file with its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDisk {
    /// The same text.
    Same,
    /// Differences that editors make when they open a file, or not comparable.
    Alike,
    /// A text with other lines.
    Otherwise,
}

fn on_disk(path: &Path, text: &str) -> OnDisk {
    let alike = |file: &str| match lines(file).eq(lines(text)) {
        true => OnDisk::Alike,
        false => OnDisk::Otherwise,
    };
    let Ok(about) = fs::metadata(path) else {
        return alike("");
    };
    if !about.is_file() || about.len() > COMPARED {
        return OnDisk::Alike;
    }
    let mut bytes = Vec::new();
    let read = regular::open(path).and_then(|file| file.take(COMPARED).read_to_end(&mut bytes));
    match (read, String::from_utf8(bytes)) {
        (Ok(_), Ok(file)) if file == text => OnDisk::Same,
        (Ok(_), Ok(file)) => alike(&file),
        _ => OnDisk::Alike,
    }
}

/// The lines of a text with any line ends, including the last one, without a byte order mark.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// Returns free memory to the system. A rope consists of many small pieces, which the C library would keep unless they
/// are at the end of its heap. Walks the whole heap, so call it on a blocking thread.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "a call of the C library")]
fn give_back_memory() {
    // SAFETY: `malloc_trim` may be called at any time, takes its own locks, and touches no memory in use.
    let any = unsafe { libc::malloc_trim(0) };
    tracing::debug!(any, "free memory was given back");
}

/// Does nothing: other allocators return memory by themselves.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
fn give_back_memory() {}
