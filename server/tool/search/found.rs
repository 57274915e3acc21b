//! Findings in one file.

use std::{fmt::Write, io};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};

use super::super::{
    frame::{ReadPermit, Readable, TextSource},
    workspace::PathError,
};
use aside_base::visible::visible;

/// Lines that match, of all files.
pub(super) const MATCHES: usize = 200;
/// Characters of a line that are shown.
const WIDTH: usize = 400;
/// Lines of context before and after.
pub(super) const CONTEXT: usize = 10;
/// Bytes of a line that are held.
const HEAP: usize = 16 << 20;

/// The pattern of a search.
///
/// # Errors
/// Text for the model: the pattern is not a regular expression.
pub(super) fn matcher(pattern: &str) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .line_terminator(Some(b'\n'))
        .size_limit(10 << 20)
        .build(pattern)
        .map_err(|error| format!("`pattern` is not a regular expression: {error}."))
}

/// Findings in a file.
#[derive(Debug)]
pub(super) enum FileFindings {
    /// None: the file may hold secrets, and the permit does not cover it.
    Secret,
    /// None: the file could not be opened.
    Unread,
    /// Lines, as many as can be told of all files.
    Lines {
        /// In their order.
        lines: Vec<FoundLine>,
        /// Whether the file could be read to its end, or as far as wanted.
        whole: bool,
    },
}

/// A line as it is told to the model, with its file and number.
#[derive(Debug)]
pub(super) struct FoundLine {
    pub(super) text: String,
    /// Whether the line matches. Other lines are around or between matches.
    pub(super) is_match: bool,
}

/// Searches files, one after another.
#[derive(Clone)]
pub(super) struct FileSearcher {
    matcher: RegexMatcher,
    searcher: Searcher,
    /// Bytes of text that are wanted of one file.
    room: usize,
}

impl FileSearcher {
    /// Searches for a pattern, and shows so many lines around each match. `room`: bytes of text that are wanted of one
    /// file.
    ///
    /// # Errors
    /// Text for the model: the pattern is not a regular expression.
    pub(super) fn new(pattern: &str, around: usize, room: usize) -> Result<Self, String> {
        let around = around.min(CONTEXT);
        let searcher = SearcherBuilder::new()
            .before_context(around)
            .after_context(around)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP))
            .build();
        Ok(Self {
            matcher: matcher(pattern)?,
            searcher,
            room,
        })
    }

    /// Searches a file, if it could be opened and the permit covers it.
    pub(super) fn in_readable(
        &mut self,
        file: Result<Readable, PathError>,
        permit: &ReadPermit,
    ) -> FileFindings {
        let Ok(file) = file else {
            return FileFindings::Unread;
        };
        let path = file.path().to_owned();
        let Ok(source) = file.source(permit) else {
            return FileFindings::Secret;
        };
        let mut lines = LineSink {
            path: &path,
            shown: None,
            lines: Vec::new(),
            matches: 0,
            room: self.room,
        };
        let searched = match source {
            TextSource::File(file, _) => {
                self.searcher
                    .search_file(&self.matcher, &file.into_file(), &mut lines)
            }
            TextSource::Document(document) => {
                self.searcher
                    .search_slice(&self.matcher, document.text.as_bytes(), &mut lines)
            }
        };
        FileFindings::Lines {
            lines: lines.lines,
            whole: searched.is_ok(),
        }
    }
}

/// Takes the lines of one file.
struct LineSink<'a> {
    path: &'a str,
    /// The path as it is shown, once there is something to show.
    shown: Option<String>,
    lines: Vec<FoundLine>,
    matches: usize,
    room: usize,
}

impl LineSink<'_> {
    fn line(&mut self, mark: char, number: Option<u64>, bytes: &[u8]) -> bool {
        let path = self
            .shown
            .get_or_insert_with(|| visible(self.path).into_owned());
        let text = String::from_utf8_lossy(bytes);
        let text = visible(text.trim_end_matches(['\r', '\n']));
        let number = number.unwrap_or_default();
        let shown: String = text.chars().take(WIDTH).collect();
        let cut = if shown.len() < text.len() { "…" } else { "" };
        let mut line = String::new();
        let _ = writeln!(line, "{path}{mark}{number}{mark}{shown}{cut}");
        self.push(line, mark == ':')
    }

    fn push(&mut self, text: String, is_match: bool) -> bool {
        self.matches += usize::from(is_match);
        self.room = self.room.saturating_sub(text.len());
        self.lines.push(FoundLine { text, is_match });
        self.matches < MATCHES && self.room > 0
    }
}

impl Sink for LineSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        Ok(self.line(':', found.line_number(), found.bytes()))
    }

    fn context(&mut self, _: &Searcher, around: &SinkContext<'_>) -> Result<bool, io::Error> {
        Ok(self.line('-', around.line_number(), around.bytes()))
    }

    fn context_break(&mut self, _: &Searcher) -> Result<bool, io::Error> {
        self.push("--\n".to_owned(), false);
        Ok(true)
    }
}
