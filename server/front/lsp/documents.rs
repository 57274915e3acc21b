//! Open documents: what tools read, saved or not.

use std::path::{Path, PathBuf};

use dashmap::DashMap;
use tower_lsp::lsp_types::{Position, Range, TextDocumentContentChangeEvent, Url};

/// The documents that are open in the client, by URI.
#[derive(Debug, Default)]
pub(super) struct Documents {
    open: DashMap<Url, Document>,
}

/// An open document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Document {
    /// The client's count of its states.
    pub(super) version: i32,
    /// Its whole text.
    pub(super) text: String,
    /// It changed since it was opened or saved.
    pub(super) dirty: bool,
}

impl Documents {
    /// A document was opened.
    pub(super) fn open(&self, uri: Url, version: i32, text: String) {
        let document = Document {
            version,
            text,
            dirty: false,
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
        for change in changes {
            match change.range {
                None => document.text = change.text,
                Some(range) => {
                    let span = span(&document.text, range, utf8);
                    document.text.replace_range(span, &change.text);
                }
            }
        }
        document.version = version;
        document.dirty = true;
    }

    /// A document was saved.
    pub(super) fn saved(&self, uri: &Url) {
        if let Some(mut document) = self.open.get_mut(uri) {
            document.dirty = false;
        }
    }

    /// A document was closed: the file is what counts again.
    pub(super) fn close(&self, uri: &Url) {
        self.open.remove(uri);
    }

    /// The document of this URI.
    pub(super) fn get(&self, uri: &Url) -> Option<Document> {
        self.open.get(uri).map(|document| document.clone())
    }

    /// The document of this file.
    pub(super) fn of_file(&self, path: &Path) -> Option<(Url, Document)> {
        let uri = Url::from_file_path(path).ok()?;
        let document = self.get(&uri)?;
        Some((uri, document))
    }

    /// Files whose documents have changes that are not saved.
    pub(super) fn unsaved(&self) -> Vec<PathBuf> {
        let open = self.open.iter().filter(|entry| entry.dirty);
        open.filter_map(|entry| entry.key().to_file_path().ok())
            .collect()
    }
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

/// The position of a byte.
pub(super) fn position(text: &str, byte: usize, utf8: bool) -> Position {
    let before = &text[..byte];
    let breaks = before.bytes().enumerate().filter(|(at, letter)| {
        *letter == b'\n' || (*letter == b'\r' && text.as_bytes().get(at + 1) != Some(&b'\n'))
    });
    let (mut line, mut start) = (0, 0);
    for (at, _) in breaks {
        line += 1;
        start = at + 1;
    }
    let within = &before[start..];
    let character = if utf8 {
        within.len()
    } else {
        within.encode_utf16().count()
    };
    Position {
        line,
        character: u32::try_from(character).unwrap_or(u32::MAX),
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
                let place = position(TEXT, at, utf8);
                assert_eq!(offset(TEXT, place, utf8), at, "{place:?}");
            }
            let past = |line, character| offset(TEXT, Position { line, character }, utf8);
            assert_eq!(past(0, 99), 3);
            assert_eq!(past(9, 0), TEXT.len());
        }
        assert_eq!(
            position(TEXT, TEXT.find("clef").unwrap(), false),
            Position::new(2, 3)
        );
        assert_eq!(
            position(TEXT, TEXT.find("clef").unwrap(), true),
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
            (document.text.as_str(), document.version, document.dirty),
            ("twö €\r\nG clef\rlast", 2, true)
        );
        documents.saved(&uri);
        assert_eq!(documents.unsaved(), Vec::<PathBuf>::new());
    }
}
