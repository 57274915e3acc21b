//! Renders a model's text on a terminal as it arrives, with basic Markdown.
//!
//! Blocks are recognised by the beginnings of their lines; pulldown-cmark parses the text within a line. Text is
//! written as soon as nothing that follows can change it. A possible construct such as `**` is delayed until it ends,
//! until the line ends, or for 200 characters. Only the marks of rendered constructs are removed, and a star that may
//! belong to a file name is not a mark.

#[cfg(test)]
mod tests;

use anstyle::{AnsiColor, Style};
use aside_base::visible::{awaits_more, readable};
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::paint::Paint;

/// Maximum number of characters to delay.
const MAX_HELD: usize = 200;
/// Written characters that may decide how the next ones are shown.
const CONTEXT: usize = 16;
/// Characters that begin a construct within a line.
const MARKS: [char; 4] = ['*', '`', '[', '\\'];
/// Prefix for parsing part of a line, so that its beginning is not taken for a block.
const BEFORE: &str = "· ";

/// Renders a whole page for a terminal.
#[must_use]
pub fn rendered(page: &str, paint: Paint) -> String {
    let mut stream = MarkdownStream::new(paint);
    let shown = stream.push(page);
    shown + &stream.end()
}

/// Renderer of one step's text.
#[derive(Debug)]
pub struct MarkdownStream {
    paint: Paint,
    /// Text of the line that was not written yet.
    held: String,
    line: LineKind,
    /// The last character written of the line.
    last: Option<char>,
    /// The last characters written.
    before: String,
    /// Fence of the open code block.
    fence: Option<String>,
    /// Number of line ends that are written before the next text.
    breaks: usize,
    /// Whether anything was written.
    begun: bool,
}

/// Kind of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    /// Unknown so far.
    Unknown,
    /// Text, or a list item whose bullet was written.
    Text,
    /// A heading, without its mark.
    Heading,
    /// Unchanged text: code, or a row of a table.
    Verbatim,
}

impl MarkdownStream {
    /// Starts a text. Without colours it is shown unchanged.
    #[must_use]
    pub fn new(paint: Paint) -> Self {
        Self {
            paint,
            held: String::new(),
            line: LineKind::Unknown,
            last: None,
            before: String::new(),
            fence: None,
            breaks: 0,
            begun: false,
        }
    }

    /// Adds a piece of the text, and returns the text to write.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for part in piece.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(text) => {
                    self.held.push_str(text);
                    if self.held.ends_with('\r') {
                        self.held.pop();
                    }
                    self.end_line(&mut out);
                }
                None => {
                    self.held.push_str(part);
                    // What comes next may decide how the end is shown, or whether it is one of a line.
                    let is_open = |c: char| c == '\r' || awaits_more(c);
                    let whole = self.held.trim_end_matches(is_open).len();
                    let open = self.held.split_off(whole);
                    self.go_on(&mut out);
                    self.held.push_str(&open);
                }
            }
        }
        out
    }

    /// Ends the text: returns what was delayed and the last line end.
    pub fn end(&mut self) -> String {
        let mut out = String::new();
        if !self.held.is_empty() {
            self.end_line(&mut out);
        }
        if self.begun {
            out.push('\n');
        }
        *self = Self::new(self.paint);
        out
    }

    /// Whether the cursor stands behind written text.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.begun
    }

    /// Writes the part of an unfinished line that cannot change.
    fn go_on(&mut self, out: &mut String) {
        if self.line == LineKind::Unknown {
            if may_become_another(&self.held, self.fence.as_deref(), self.paint.on) {
                return;
            }
            self.begin_line(out);
        }
        self.give(false, out);
    }

    fn end_line(&mut self, out: &mut String) {
        if self.line == LineKind::Unknown {
            self.begin_line(out);
        }
        self.give(true, out);
        self.line = LineKind::Unknown;
        self.last = None;
        // Blank lines before the text are dropped.
        if self.begun {
            self.breaks += 1;
        }
    }

    /// Determines the kind of the line, and writes the replacement of its mark.
    fn begin_line(&mut self, out: &mut String) {
        self.line = LineKind::Text;
        if !self.paint.on {
            self.line = LineKind::Verbatim;
            return;
        }
        let text = self.held.trim_start();
        let indent = self.held.len() - text.len();
        if let Some(fence) = &self.fence {
            self.line = LineKind::Verbatim;
            if is_fence(text, fence) {
                self.fence = None;
                self.take_all(Style::new().dimmed(), out);
            }
            return;
        }
        if let Some(fence) = fence(text) {
            self.fence = Some(fence.to_owned());
            self.line = LineKind::Verbatim;
            self.take_all(Style::new().dimmed(), out);
        } else if is_rule(text) {
            self.line = LineKind::Verbatim;
            self.held = "─".repeat(20);
            self.take_all(Style::new().dimmed(), out);
        } else if let Some(rest) = heading(text) {
            self.line = LineKind::Heading;
            self.held = without_closing_mark(rest.trim_end()).to_owned();
        } else if let Some(rest) = item(text) {
            let (mark, rest) = (format!("{}• ", &self.held[..indent]), rest.to_owned());
            self.write(&mark, Style::new(), out);
            self.held = rest;
        } else if let Some(rest) = text.strip_prefix("> ") {
            let rest = rest.to_owned();
            self.write("│ ", Style::new().dimmed(), out);
            self.held = rest;
        } else if text.starts_with('|') {
            self.line = LineKind::Verbatim;
        }
    }

    /// Writes the delayed text of the line as far as nothing that follows can change it.
    fn give(&mut self, is_whole: bool, out: &mut String) {
        let tone = if self.line == LineKind::Heading {
            Style::new().bold()
        } else {
            Style::new()
        };
        while !self.held.is_empty() {
            let mark = (self.line != LineKind::Verbatim)
                .then(|| self.held.find(MARKS))
                .flatten();
            let plain = mark.unwrap_or(self.held.len());
            if plain > 0 {
                let stays = if is_whole || mark.is_some() {
                    0
                } else {
                    unfinished(&self.held)
                };
                let rest = self.held.split_off(plain - stays);
                let text = std::mem::replace(&mut self.held, rest);
                self.write(&text, tone, out);
                if stays > 0 {
                    return;
                }
                continue;
            }
            match self.construct(is_whole) {
                Construct::Whole(length) => {
                    let rest = self.held.split_off(length);
                    let source = std::mem::replace(&mut self.held, rest);
                    for (text, tone) in leaves(&source, tone) {
                        self.write(&text, tone, out);
                    }
                }
                Construct::Literal(length) => {
                    let rest = self.held.split_off(length);
                    let text = std::mem::replace(&mut self.held, rest);
                    self.write(&text, tone, out);
                }
                Construct::Open => return,
            }
        }
    }

    /// Determines the construct that begins with the mark at the start of the delayed text.
    fn construct(&self, is_whole: bool) -> Construct {
        let mark = self.held.chars().next().unwrap_or_default();
        let run = self.held.len() - self.held.trim_start_matches(mark).len();
        let after = self.held[run..].chars().next();
        let is_text = match (mark, after) {
            (_, None) => is_whole,
            ('\\', Some(after)) if run == 1 && after.is_ascii_punctuation() => {
                return Construct::Whole(1 + after.len_utf8());
            }
            ('\\', _) => true,
            ('*', Some(after)) => {
                let begins = after.is_alphanumeric() || "`\"'([{“‘„«".contains(after);
                let in_name = |last: char| last.is_alphanumeric() || "/.*".contains(last);
                !begins || self.last.is_some_and(in_name)
            }
            ('[', _) => {
                let follows = self.held.split_once(']').map(|(_, rest)| rest);
                follows.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('('))
            }
            _ => false,
        };
        if is_text {
            return Construct::Literal(run);
        }
        match whole_construct(&self.held) {
            // Text after the end may still move the end.
            Some(length) if is_whole || length < self.held.len() => Construct::Whole(length),
            _ if is_whole || self.held.chars().count() > MAX_HELD => Construct::Literal(run),
            _ => Construct::Open,
        }
    }

    fn take_all(&mut self, tone: Style, out: &mut String) {
        let text = std::mem::take(&mut self.held);
        self.write(&text, tone, out);
    }

    fn write(&mut self, text: &str, tone: Style, out: &mut String) {
        if text.is_empty() || (!self.begun && text.trim().is_empty()) {
            return;
        }
        self.begun = true;
        out.extend(std::iter::repeat_n('\n', std::mem::take(&mut self.breaks)));
        self.last = text.chars().last();
        out.push_str(&self.paint.with(tone, &readable(&self.before, text)));
        self.before.push_str(text);
        let kept = self.before.char_indices().rev().nth(CONTEXT);
        if let Some((from, _)) = kept {
            self.before.drain(..from);
        }
    }
}

/// A heading without the mark that may close it, which has a blank before it: `C#` ends with none.
fn without_closing_mark(heading: &str) -> &str {
    let text = heading.trim_end_matches('#');
    match text.is_empty() || text.ends_with([' ', '\t']) {
        true => text.trim_end(),
        false => heading,
    }
}

/// A possible construct at a mark.
enum Construct {
    /// A construct of this length in bytes.
    Whole(usize),
    /// Plain text of this length in bytes.
    Literal(usize),
    /// Undecided so far.
    Open,
}

/// Length in bytes of the complete construct at the start of `text`, if there is one.
fn whole_construct(text: &str) -> Option<usize> {
    let source = format!("{BEFORE}{text}");
    let mut events = Parser::new(&source).into_offset_iter();
    let (event, range) = events.find(|(_, range)| range.start >= BEFORE.len())?;
    let begins = range.start == BEFORE.len() && matches!(event, Event::Start(_) | Event::Code(_));
    begins.then(|| range.end - BEFORE.len())
}

/// The texts of a construct, and how each is shown.
fn leaves(source: &str, tone: Style) -> Vec<(String, Style)> {
    if let Some(escaped) = source.strip_prefix('\\') {
        return vec![(escaped.to_owned(), tone)];
    }
    let source = format!("{BEFORE}{source}");
    let (mut tones, mut leaves, mut links) = (vec![tone], Vec::new(), Vec::new());
    for (event, range) in Parser::new(&source).into_offset_iter() {
        let now = tones.last().copied().unwrap_or(tone);
        match event {
            Event::Start(Tag::Paragraph) | Event::End(TagEnd::Paragraph) => {}
            Event::Start(tag) => tones.push(match tag {
                Tag::Strong => now.bold(),
                Tag::Emphasis => now.italic(),
                Tag::Link { dest_url, .. } => {
                    links.push(dest_url.into_string());
                    now.underline()
                }
                _ => now,
            }),
            Event::End(tag) => {
                tones.pop();
                if tag == TagEnd::Link
                    && let Some(url) = links.pop()
                    && leaves.last().is_none_or(|(text, _)| *text != url)
                {
                    leaves.push((format!(" ({url})"), tone.dimmed()));
                }
            }
            Event::Code(code) => leaves.push((
                code.into_string(),
                now.fg_color(Some(AnsiColor::Cyan.into())),
            )),
            Event::Text(text) => {
                let skipped = BEFORE.len().saturating_sub(range.start).min(text.len());
                leaves.push((text[skipped..].to_owned(), now));
            }
            Event::SoftBreak | Event::HardBreak => leaves.push((" ".into(), now)),
            // HTML and the like stay unchanged.
            _ => leaves.push((source[range].to_owned(), now)),
        }
    }
    leaves.retain(|(text, _)| !text.is_empty());
    leaves
}

/// Whether further text may change the kind of the line.
fn may_become_another(line: &str, fence: Option<&str>, painted: bool) -> bool {
    if !painted {
        return false;
    }
    let text = line.trim_start();
    let first = text.chars().next();
    if let Some(fence) = fence {
        // The end of a block is certain only when its line ends.
        return first.is_none_or(|first| fence.starts_with(first))
            && text.trim_start_matches(&fence[..1]).trim().is_empty();
    }
    match first {
        None => true,
        Some('`' | '~') => {
            let mark = &text[..1];
            let rest = text.trim_start_matches(mark);
            // The line of a fence names the language, so it is certain only when it ends.
            rest.is_empty() || text.len() - rest.len() >= 3
        }
        Some('#') => {
            let rest = text.trim_start_matches('#');
            rest.is_empty() || (rest.starts_with(' ') && text.len() - rest.len() <= 6)
        }
        Some(mark @ ('-' | '*' | '_' | '+' | '>')) => {
            text.chars().all(|letter| letter == mark || letter == ' ')
        }
        Some(_) => false,
    }
}

/// The opening fence of a code block in this line.
fn fence(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|mark| "`~".contains(*mark))?;
    let rest = text.trim_start_matches(mark);
    let fence = &text[..text.len() - rest.len()];
    (fence.len() >= 3 && !rest.contains('`')).then_some(fence)
}

/// Whether this line closes a code block with this fence.
fn is_fence(text: &str, fence: &str) -> bool {
    let rest = text.trim_end();
    rest.len() >= fence.len() && rest.chars().all(|mark| fence.starts_with(mark))
}

fn is_rule(text: &str) -> bool {
    let marks: Vec<char> = text.chars().filter(|mark| !mark.is_whitespace()).collect();
    marks.len() >= 3 && "-*_".contains(marks[0]) && marks.iter().all(|mark| *mark == marks[0])
}

/// Text of a heading.
fn heading(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with(' ')).then(|| rest.trim_start())
}

/// Text of a bulleted list item.
fn item(text: &str) -> Option<&str> {
    ["- ", "* ", "+ "]
        .iter()
        .find_map(|mark| text.strip_prefix(mark))
}

/// Number of bytes at the end that may be part of a character made of several code points.
fn unfinished(text: &str) -> usize {
    let joins = |letter: &char| !letter.is_ascii() && !letter.is_alphanumeric();
    let tail = text.chars().rev().take_while(joins).take(16);
    tail.map(char::len_utf8).sum()
}
