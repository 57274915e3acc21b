//! What is found in one file.

use std::{fmt::Write, io};

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use serde::Deserialize;
use aside_base::visible::visible;

use super::super::{
    ToolContext,
    readable::{Readable, TextSource},
    workspace::PathError,
};

/// Lines that match, of all files.
pub(super) const MATCHES: usize = 200;
/// Characters of a line that are shown.
const WIDTH: usize = 400;
/// Lines of context before and after.
pub(super) const CONTEXT: usize = 10;
/// Bytes of a line that are held.
const HEAP: usize = 16 << 20;

/// What a call of the tool says.
#[derive(Deserialize)]
pub(super) struct SearchArguments {
    pub(super) pattern: String,
    pub(super) path: Option<String>,
    pub(super) glob: Option<String>,
    #[serde(default)]
    pub(super) context: usize,
}

/// The pattern of a search.
///
/// # Errors
/// The sentence for the model: it is no regular expression.
pub(super) fn matcher(pattern: &str) -> Result<RegexMatcher, String> {
    RegexMatcherBuilder::new()
        .line_terminator(Some(b'\n'))
        .size_limit(10 << 20)
        .build(pattern)
        .map_err(|error| format!("`pattern` is not a regular expression: {error}."))
}

/// What was found in a file.
#[derive(Debug)]
pub(super) enum FileFindings {
    /// It may hold secrets, and nobody was asked for it.
    Secret,
    /// It could not be opened.
    Unread,
    /// Its lines, as many as can be told of all files.
    Lines {
        /// In their order.
        lines: Vec<FoundLine>,
        /// It could be read to its end, or as far as was wanted.
        whole: bool,
    },
}

/// A line as it is told to the model, with its file and number.
#[derive(Debug)]
pub(super) struct FoundLine {
    pub(super) text: String,
    /// It matches; others are around one that does, or between such.
    pub(super) is_match: bool,
}

/// Searches files, one after another.
#[derive(Clone)]
pub(super) struct FileSearcher {
    matcher: RegexMatcher,
    searcher: Searcher,
    /// How much text of one file is wanted, in bytes.
    room: usize,
}

impl FileSearcher {
    /// # Errors
    /// The sentence for the model: the pattern is no regular expression.
    pub(super) fn new(args: &SearchArguments, host: &ToolContext) -> Result<Self, String> {
        let around = args.context.min(CONTEXT);
        let searcher = SearcherBuilder::new()
            .before_context(around)
            .after_context(around)
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP))
            .build();
        Ok(Self {
            matcher: matcher(&args.pattern)?,
            searcher,
            room: host.room(),
        })
    }

    /// Searches what could be opened, and may be read unasked.
    pub(super) fn in_readable(&mut self, opened: Result<Readable, PathError>) -> FileFindings {
        match opened {
            Ok(opened) if opened.secret => FileFindings::Secret,
            Ok(opened) => self.in_text(opened),
            Err(_) => FileFindings::Unread,
        }
    }

    /// Searches a file, whatever it may hold.
    pub(super) fn in_text(&mut self, opened: Readable) -> FileFindings {
        let mut lines = LineSink {
            path: &opened.path,
            shown: None,
            lines: Vec::new(),
            matches: 0,
            room: self.room,
        };
        let searched = match opened.source {
            TextSource::File(file) => {
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
