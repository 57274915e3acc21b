//! Open documents: what tools read, saved or not.

use std::{
    fs,
    io::Read,
    path::{Path, PathBuf},
};

use dashmap::DashMap;
use tokio::sync::oneshot;
use tower_lsp::lsp_types::{Position, Range, TextDocumentContentChangeEvent, Url};

use super::splices::{Made, Splices};
use crate::tool::editor::FileText;

/// Bytes of a file that is compared with its document.
const COMPARED: u64 = 64 << 20;

/// The documents that are open in the client.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: DashMap<Url, Document>,
    /// By the real path of their file, which need not be there.
    files: DashMap<PathBuf, Url>,
}

/// An open document.
#[derive(Debug)]
struct Document {
    version: i32,
    text: String,
    changed: Changed,
    path: Option<PathBuf>,
    awaited: Option<Awaited>,
}

/// A state of an open document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// The client's count of its states.
    pub(super) version: i32,
    /// Its whole text.
    pub(super) text: String,
    /// What came about since it was opened or saved.
    pub(super) changed: Changed,
}

/// What came about in a document since it was opened or saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Changed {
    /// Nothing.
    No,
    /// Edits of tools alone.
    ByTools,
    /// Something else too: it may be the user's.
    ByUser,
}

/// A change that the client was told to make.
#[derive(Debug)]
struct Awaited {
    splices: Splices,
    /// Part of it was made.
    begun: bool,
    /// Is told whether the first state after it is what it should be.
    tell: oneshot::Sender<bool>,
}

impl Documents {
    /// A document was opened.
    pub(super) fn open(&self, uri: Url, version: i32, text: String) {
        let path = uri.to_file_path().ok().map(|path| real(&path));
        if let Some(path) = &path {
            self.files.insert(path.clone(), uri.clone());
        }
        let document = Document {
            version,
            text,
            changed: Changed::No,
            path,
            awaited: None,
        };
        self.open.insert(uri, document);
    }

    /// A document changed. Changes of a document that is not open say nothing.
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
                None => document.text = change.text,
                Some(range) => {
                    let span = span(&document.text, range, utf8);
                    document.text.replace_range(span, &change.text);
                }
            }
        }
        document.look();
    }

    /// A document was saved.
    pub(super) fn saved(&self, uri: &Url) {
        if let Some(mut document) = self.open.get_mut(uri) {
            document.changed = Changed::No;
        }
    }

    /// The client says that it saved the document as it was told. What the user typed since is not saved.
    pub(super) fn saved_for_tools(&self, uri: &Url) {
        if let Some(mut document) = self.open.get_mut(uri)
            && document.changed == Changed::ByTools
        {
            document.changed = Changed::No;
        }
    }

    /// A document was closed: the file is what counts again.
    pub(super) fn close(&self, uri: &Url) {
        if let Some((
            _,
            Document {
                path: Some(path), ..
            },
        )) = self.open.remove(uri)
        {
            self.files.remove_if(&path, |_, other| other == uri);
        }
    }

    /// The document of this URI.
    pub(super) fn get(&self, uri: &Url) -> Option<State> {
        self.open.get(uri).map(|document| State {
            version: document.version,
            text: document.text.clone(),
            changed: document.changed,
        })
    }

    /// The document of the file with this real path.
    pub(super) fn uri_of(&self, path: &Path) -> Option<Url> {
        self.files.get(path).map(|uri| uri.clone())
    }

    /// The state of the document of the file with this real path, and how the file compares with it. What a client
    /// opens may have been unsaved all along, and a file may have changed behind an editor: then what stands there
    /// counts as the user's. Reads the file.
    pub(super) fn of_file(&self, path: &Path) -> Option<(Url, State, FileText)> {
        let uri = self.uri_of(path)?;
        let mut state = self.get(&uri)?;
        let on_disk = on_disk(path, &state.text);
        let file = match (state.changed, on_disk) {
            (_, OnDisk::Same | OnDisk::Alike) => FileText::Alike,
            (Changed::No, OnDisk::Otherwise) => FileText::Behind,
            (Changed::ByTools | Changed::ByUser, OnDisk::Otherwise) => FileText::Older,
        };
        state.changed = match (state.changed, on_disk) {
            // Taken back, or loaded again.
            (_, OnDisk::Same) => Changed::No,
            (Changed::No, OnDisk::Otherwise) => Changed::ByUser,
            (changed, _) => changed,
        };
        Some((uri, state, file))
    }

    /// Real paths of files whose documents have changes that are not saved, in order. Reads the files.
    pub(super) fn unsaved(&self) -> Vec<PathBuf> {
        let files = self.files.iter().map(|file| file.key().clone());
        let mut files: Vec<PathBuf> = files.collect();
        files.sort();
        files.retain(|path| {
            let document = self.of_file(path);
            document.is_some_and(|(_, state, _)| state.changed != Changed::No)
        });
        files
    }

    /// Gets told whether the next state of a document is its text with this change; an error if it is closed before.
    /// `None` where it is not in this state (any more), or another change is awaited.
    pub(super) fn await_change(
        &self,
        uri: &Url,
        version: i32,
        base: &str,
        splices: Splices,
    ) -> Option<oneshot::Receiver<bool>> {
        let mut document = self.open.get_mut(uri)?;
        if document.version != version || document.text != base || document.awaited.is_some() {
            return None;
        }
        let (tell, told) = oneshot::channel();
        document.awaited = Some(Awaited {
            splices,
            begun: false,
            tell,
        });
        Some(told)
    }

    /// The change is not waited for any more: if it comes, it is the user's.
    pub(super) fn give_up(&self, uri: &Url) {
        if let Some(mut document) = self.open.get_mut(uri)
            && document.awaited.take().is_some_and(|awaited| awaited.begun)
        {
            document.changed = Changed::ByUser;
        }
    }
}

impl Document {
    /// Looks at a new text: is it what a tool wanted?
    fn look(&mut self) {
        let Some(mut awaited) = self.awaited.take() else {
            self.changed = Changed::ByUser;
            return;
        };
        let made = awaited.splices.made(&self.text);
        if made == Made::Some {
            awaited.begun = true;
            self.awaited = Some(awaited);
            return;
        }
        let all = made == Made::All;
        self.changed = match self.changed {
            Changed::No | Changed::ByTools if all => Changed::ByTools,
            _ => Changed::ByUser,
        };
        // Nobody may wait for it any more.
        let _ = awaited.tell.send(all);
    }
}

/// The real path of a file, whether it is there or not.
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

/// A file, as compared with the text of its document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OnDisk {
    /// It has just this text.
    Same,
    /// What is different is what editors convert, or it cannot be compared.
    Alike,
    /// It has another text.
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
    let read = fs::File::open(path).and_then(|file| file.take(COMPARED).read_to_end(&mut bytes));
    match (read, String::from_utf8(bytes)) {
        (Ok(_), Ok(file)) if file == text => OnDisk::Same,
        (Ok(_), Ok(file)) => alike(&file),
        _ => OnDisk::Alike,
    }
}

/// The lines of a text, however they end, the last one too; without a byte order mark.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.split('\n')
        .map(|line| line.strip_suffix('\r').unwrap_or(line))
}

/// The bytes of a range. What lies outside of the text is cut to it, as LSP wants it.
pub(super) fn span(text: &str, range: Range, utf8: bool) -> std::ops::Range<usize> {
    let start = offset(text, range.start, utf8);
    let end = offset(text, range.end, utf8);
    start..end.max(start)
}

/// The byte of a position: lines end at `\n`, `\r\n` or `\r`.
fn offset(text: &str, position: Position, utf8: bool) -> usize {
    let start = line_start(text, position.line as usize);
    let rest = &text[start..];
    let line = &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())];
    let wanted = position.character as usize;
    if utf8 {
        let mut at = wanted.min(line.len());
        while !line.is_char_boundary(at) {
            at -= 1;
        }
        return start + at;
    }
    let mut units = 0;
    for (at, letter) in line.char_indices() {
        if units >= wanted {
            return start + at;
        }
        units += letter.len_utf16();
    }
    start + line.len()
}

/// The byte at which a line begins; the end of the text where it has fewer lines.
fn line_start(text: &str, line: usize) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut seen) = (0, 0);
    while seen < line {
        let Some(end) = bytes[at..]
            .iter()
            .position(|byte| matches!(byte, b'\n' | b'\r'))
        else {
            return text.len();
        };
        at += end + 1;
        if bytes[at - 1] == b'\r' && bytes.get(at) == Some(&b'\n') {
            at += 1;
        }
        seen += 1;
    }
    at
}

/// Positions of bytes of a text, asked for from its front to its end.
pub(super) struct Places<'a> {
    text: &'a str,
    utf8: bool,
    /// As far as lines were counted.
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'a> Places<'a> {
    pub(super) fn new(text: &'a str, utf8: bool) -> Self {
        Self {
            text,
            utf8,
            at: 0,
            line: 0,
            line_start: 0,
        }
    }

    /// The position of a byte, which does not lie before one that was asked for.
    pub(super) fn of(&mut self, byte: usize) -> Position {
        let bytes = self.text.as_bytes();
        while self.at < byte {
            let letter = bytes[self.at];
            self.at += 1;
            if letter == b'\n' || (letter == b'\r' && bytes.get(self.at) != Some(&b'\n')) {
                self.line += 1;
                self.line_start = self.at;
            }
        }
        let within = &self.text[self.line_start..byte];
        let character = if self.utf8 {
            within.len()
        } else {
            within.encode_utf16().count()
        };
        Position {
            line: self.line,
            character: u32::try_from(character).unwrap_or(u32::MAX),
        }
    }
}

#[cfg(test)]
mod tests;
