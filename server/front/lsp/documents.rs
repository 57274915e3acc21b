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
    /// The file has another text, though the client told of no change.
    pub(super) behind: bool,
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
            behind: false,
        })
    }

    /// The document of the file with this real path.
    pub(super) fn uri_of(&self, path: &Path) -> Option<Url> {
        self.files.get(path).map(|uri| uri.clone())
    }

    /// The state of the document of the file with this real path. What a client opens may have been unsaved all
    /// along, and a file may have changed behind an editor: then what stands there counts as the user's. Reads the
    /// file.
    pub(super) fn of_file(&self, path: &Path) -> Option<(Url, State)> {
        let uri = self.uri_of(path)?;
        let mut state = self.get(&uri)?;
        let on_disk = on_disk(path, &state.text);
        state.behind = state.changed == Changed::No && on_disk == OnDisk::Otherwise;
        state.changed = match (state.changed, on_disk) {
            // Taken back, or loaded again.
            (_, OnDisk::Same) => Changed::No,
            (Changed::No, OnDisk::Otherwise) => Changed::ByUser,
            (changed, _) => changed,
        };
        Some((uri, state))
    }

    /// Real paths of files whose documents have changes that are not saved, in order. Reads the files.
    pub(super) fn unsaved(&self) -> Vec<PathBuf> {
        let files = self.files.iter().map(|file| file.key().clone());
        let mut files: Vec<PathBuf> = files.collect();
        files.sort();
        files.retain(|path| {
            let document = self.of_file(path);
            document.is_some_and(|(_, state)| state.changed != Changed::No)
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
mod tests {
    use super::*;

    const TEXT: &str = "one\r\ntwö €\r\n𝄞 clef\rlast";

    #[test]
    fn positions_are_found_in_both_encodings_and_cut_to_the_text() {
        for utf8 in [true, false] {
            for at in TEXT.char_indices().map(|(at, _)| at).chain([TEXT.len()]) {
                // Between CR and LF there is no position.
                if TEXT[..at].ends_with('\r') && TEXT[at..].starts_with('\n') {
                    continue;
                }
                let place = Places::new(TEXT, utf8).of(at);
                assert_eq!(offset(TEXT, place, utf8), at, "{place:?}");
            }
            let past = |line, character| offset(TEXT, Position { line, character }, utf8);
            assert_eq!(past(0, 99), 3);
            assert_eq!(past(9, 0), TEXT.len());
        }
        assert_eq!(
            Places::new(TEXT, false).of(TEXT.find("clef").unwrap()),
            Position::new(2, 3)
        );
        assert_eq!(
            Places::new(TEXT, true).of(TEXT.find("clef").unwrap()),
            Position::new(2, 5)
        );
    }

    #[test]
    fn changes_apply_one_after_another() {
        let documents = Documents::default();
        let uri = Url::parse("file:///a.txt").unwrap();
        documents.open(uri.clone(), 1, TEXT.into());
        let change =
            |from: (u32, u32), to: (u32, u32), text: &str| TextDocumentContentChangeEvent {
                range: Some(Range::new(
                    Position::new(from.0, from.1),
                    Position::new(to.0, to.1),
                )),
                range_length: None,
                text: text.into(),
            };
        let changes = vec![change((2, 0), (2, 2), "G"), change((0, 0), (1, 0), "")];
        documents.change(&uri, 2, changes, false);
        let document = documents.get(&uri).unwrap();
        assert_eq!(
            (document.text.as_str(), document.version, document.changed),
            ("twö €\r\nG clef\rlast", 2, Changed::ByUser)
        );
        documents.saved(&uri);
        assert_eq!(documents.get(&uri).unwrap().changed, Changed::No);
    }

    #[test]
    fn a_document_is_found_by_the_real_path_of_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
        fs::write(at("a.txt"), "one\n").unwrap();
        std::os::unix::fs::symlink("a.txt", at("link")).unwrap();
        let documents = Documents::default();
        let link = Url::from_file_path(at("link")).unwrap();
        documents.open(link.clone(), 1, "one\n".into());
        documents.open(
            Url::from_file_path(at("new file")).unwrap(),
            1,
            "new".into(),
        );
        documents.open(Url::parse("untitled:1").unwrap(), 1, "draft".into());
        assert_eq!(documents.uri_of(&at("a.txt")), Some(link.clone()));
        assert_eq!(documents.unsaved(), [at("new file")]);
        documents.close(&link);
        assert_eq!(documents.uri_of(&at("a.txt")), None);
    }

    #[test]
    fn what_is_not_on_disk_counts_as_the_users() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap().join("a.txt");
        let check = |file: Option<&[u8]>, text: &str, changed: Changed| {
            let _ = fs::remove_file(&path);
            if let Some(bytes) = file {
                fs::write(&path, bytes).unwrap();
            }
            let documents = Documents::default();
            documents.open(Url::from_file_path(&path).unwrap(), 1, text.into());
            let of_file = || documents.of_file(&path).unwrap().1.changed;
            assert_eq!(of_file(), changed, "{file:?} and {text:?}");
            // A file that was loaded again, after it was changed behind the editor.
            let again = TextDocumentContentChangeEvent {
                range: None,
                range_length: None,
                text: "again\n".into(),
            };
            documents.change(&Url::from_file_path(&path).unwrap(), 2, vec![again], true);
            assert_eq!(of_file(), Changed::ByUser);
            fs::write(&path, "again\n").unwrap();
            assert_eq!(of_file(), Changed::No);
        };
        check(Some(b"one\n"), "one\n", Changed::No);
        check(Some(b"one\n"), "two\n", Changed::ByUser);
        check(Some(b"one\n"), "one\n\n", Changed::ByUser);
        check(None, "", Changed::No);
        check(Some(b""), "\n", Changed::No);
        check(None, "\r\n", Changed::No);
        check(None, "one", Changed::ByUser);
        // What editors convert when they open a file.
        check(Some(b"\xef\xbb\xbfone\r\ntwo"), "one\ntwo\n", Changed::No);
        // Another encoding: nobody knows.
        check(Some(b"gr\xfc\xdfe\n"), "gr\u{fc}\u{df}e\n", Changed::No);
    }
}
