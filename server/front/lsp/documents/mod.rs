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
#[cfg(unix)]
mod tests;

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use aside_base::{
    regular,
    system::{
        files::{FileFacts, FileId, names as names_of},
        folders::canonical,
    },
};
use aside_tool::{editor::FileText, line_ends::alike};
use dashmap::DashMap;
use ropey::Rope;
use tokio::sync::oneshot;
use tower_lsp::lsp_types::{TextDocumentContentChangeEvent, Url};

use self::{
    super::client::counting::Counting,
    positions::{has_lone_return, is_doubtful, rope_span, span},
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
    /// Documents by the real path of their file, which need not exist, in the order in which they were opened.
    files: DashMap<PathBuf, Vec<Url>>,
    /// Whether a document was opened whose file has another name.
    linked: AtomicBool,
}

/// An open document.
#[derive(Debug)]
struct Document {
    version: i32,
    text: Rope,
    /// Whether the text may have carriage returns of their own, which no rope counts as line ends.
    returns: bool,
    /// Whether a change was made to lines that nobody knows, so that the text is not known any more.
    doubtful: bool,
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
    /// Whether the text is not known any more.
    pub(super) doubtful: bool,
    /// Whether nobody changed the text and the file has a newer one. Found out by a look at the file alone.
    pub(super) behind: bool,
}

/// Unsaved changes of a document, by author.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
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
        let path = crate::front::uri::file_of(&uri).map(|path| real(&path));
        if let Some(path) = &path {
            let mut names = self.files.entry(path.clone()).or_default();
            names.retain(|other| *other != uri);
            names.push(uri.clone());
            if FileFacts::at(path).is_ok_and(|about| names_of(&about) > 1) {
                self.linked.store(true, Ordering::Relaxed);
            }
        }
        // Editors open documents with what was not saved when they were closed.
        let on_disk = path.as_ref().map(|path| on_disk(path, &text));
        let changed = match on_disk {
            Some(OnDisk::Otherwise) => UnsavedChanges::ByUser,
            _ => UnsavedChanges::No,
        };
        let document = Document {
            version,
            returns: has_lone_return(&text),
            doubtful: false,
            text: Rope::from(text),
            changed,
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
        counting: Counting,
    ) {
        let Some(mut document) = self.open.get_mut(uri) else {
            return;
        };
        document.version = version;
        if changes.is_empty() {
            return;
        }
        for change in changes {
            document.apply(change, counting);
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
            if let Some(mut names) = self.files.get_mut(&path) {
                names.retain(|other| other != uri);
            }
            self.files.remove_if(&path, |_, names| names.is_empty());
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
            doubtful: document.doubtful,
            behind: false,
        })
    }

    /// A line of a document, counted from 0.
    pub(super) fn line(&self, uri: &Url, number: u32) -> Option<String> {
        let document = self.open.get(uri)?;
        let line = document.text.get_line(usize::try_from(number).ok()?)?;
        Some(line.to_string())
    }

    /// The document of a file, by its real path: of several the one with unsaved changes, else the last one.
    pub(super) fn uri_of(&self, path: &Path) -> Option<Url> {
        let mut names = self
            .files
            .get(path)
            .map_or_else(Vec::new, |names| names.clone());
        if self.linked.load(Ordering::Relaxed) {
            names.extend(self.other_names(path));
        }
        let changed = |uri: &&Url| {
            let document = self.open.get(*uri);
            document.map(|document| (document.doubtful, document.changed))
        };
        names.iter().max_by_key(changed).cloned()
    }

    /// Documents of the same file by its other names.
    fn other_names(&self, path: &Path) -> Vec<Url> {
        let files = self.files.iter();
        let others = files.filter(|file| file.key() != path && is_same_file(file.key(), path));
        others.flat_map(|file| file.value().clone()).collect()
    }

    /// The document of a file, by its real path, and how the file compares with it. Reads the file.
    pub(super) fn of_file(&self, path: &Path) -> Option<(Url, DocumentState, FileText)> {
        let uri = self.uri_of(path)?;
        let mut state = self.get(&uri)?;
        let file = match (state.changed, on_disk(path, &state.text)) {
            // Undone, or loaded again.
            (_, OnDisk::Same) => {
                self.settle(&uri, state.version);
                state.changed = UnsavedChanges::No;
                FileText::Alike
            }
            (_, OnDisk::Alike) => FileText::Alike,
            (UnsavedChanges::No, OnDisk::Otherwise) => {
                state.behind = true;
                FileText::Older
            }
            // What is in no file any more is the user's.
            (UnsavedChanges::No, OnDisk::Gone) => {
                state.changed = UnsavedChanges::ByUser;
                FileText::Older
            }
            (_, OnDisk::Otherwise | OnDisk::Gone) => FileText::Older,
        };
        Some((uri, state, file))
    }

    /// Notes that nothing is unsaved in this version of a document.
    fn settle(&self, uri: &Url, version: i32) {
        if let Some(mut document) = self.open.get_mut(uri)
            && document.version == version
        {
            document.changed = UnsavedChanges::No;
        }
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
    /// Makes a change that the client made.
    fn apply(&mut self, change: TextDocumentContentChangeEvent, counting: Counting) {
        let Some(range) = change.range else {
            self.returns = has_lone_return(&change.text);
            self.doubtful = false;
            self.text = Rope::from(change.text);
            return;
        };
        let span = match self.returns {
            false => rope_span(&self.text, range, counting),
            true => {
                let text = self.text.to_string();
                self.doubtful |= is_doubtful(&text, counting);
                let bytes = span(&text, range, counting);
                self.text.byte_to_char(bytes.start)..self.text.byte_to_char(bytes.end)
            }
        };
        let start = span.start;
        self.text.remove(span);
        self.text.insert(start, &change.text);
        // Also one that was parted from its `\n`, or one that stands before what was put there.
        let first = start.saturating_sub(1);
        let touched = start + change.text.chars().count() + 1 - first;
        let mut letters = self.text.chars_at(first).peekable();
        for _ in 0..touched {
            let letter = letters.next();
            self.returns |= letter == Some('\r') && letters.peek() != Some(&'\n');
        }
    }

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
    if let Ok(real) = canonical(path) {
        return real;
    }
    let parent = path.parent().and_then(|parent| canonical(parent).ok());
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_owned(),
    }
}

/// Whether two real paths are names of one file.
fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path: &Path| FileFacts::at(path).ok().map(|about| FileId::of(&about));
    one == other || id(one).is_some_and(|one| Some(one) == id(other))
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
    /// Another text than none: there is no file.
    Gone,
}

fn on_disk(path: &Path, text: &str) -> OnDisk {
    let Ok(about) = fs::metadata(path) else {
        return match alike("", text) {
            true => OnDisk::Alike,
            false => OnDisk::Gone,
        };
    };
    if !about.is_file() || about.len() > COMPARED {
        return OnDisk::Alike;
    }
    let mut bytes = Vec::new();
    let read = regular::open(path).and_then(|file| file.take(COMPARED).read_to_end(&mut bytes));
    match (read, String::from_utf8(bytes)) {
        (Ok(_), Ok(file)) if file == text => OnDisk::Same,
        (Ok(_), Ok(file)) if !alike(&file, text) => OnDisk::Otherwise,
        _ => OnDisk::Alike,
    }
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
