//! Text of a model on a terminal, as it comes: light markdown.
//!
//! Blocks are told apart by how their lines begin, and what stands in a line is read by pulldown-cmark. Text is given
//! out as soon as nothing that may follow changes it: what may be the beginning of something, such as `**`, is held
//! back until that ends, with its line or after 200 characters. Nothing of the text is left out but the marks of what
//! is shown in another way, and a star that may belong to the name of a file is no mark.

#[cfg(test)]
mod tests;

use aside_base::visible::visible;
use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::paint::{Paint, Tone};

/// Characters that are held back at the most.
const HELD: usize = 200;
/// What begins something within a line.
const MARKS: [char; 4] = ['*', '`', '[', '\\'];
/// What a part of a line is read behind, so that no beginning of a block is seen in it.
const BEFORE: &str = "· ";

/// A page as it is shown on a terminal.
#[must_use]
pub fn rendered(page: &str, paint: Paint) -> String {
    let mut stream = MarkdownStream::new(paint);
    let shown = stream.push(page);
    shown + &stream.end()
}

/// The text of one step.
#[derive(Debug)]
pub struct MarkdownStream {
    paint: Paint,
    /// What came of the line and was not given out yet.
    held: String,
    line: LineKind,
    /// The last character that was given out of the line.
    last: Option<char>,
    /// The fence that ends the block of code that the text is in.
    fence: Option<String>,
    /// Line ends that are given out with what follows them.
    breaks: usize,
    /// Something was given out.
    begun: bool,
}

/// What a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineKind {
    /// Too little of it came to know.
    Unknown,
    /// Text, or an item of a list whose mark was given out.
    Text,
    /// A heading whose mark was left out.
    Heading,
    /// As it is: code, a row of a table.
    Verbatim,
}

impl MarkdownStream {
    /// Nothing came yet. Without colours the text is shown as it is.
    #[must_use]
    pub fn new(paint: Paint) -> Self {
        Self {
            paint,
            held: String::new(),
            line: LineKind::Unknown,
            last: None,
            fence: None,
            breaks: 0,
            begun: false,
        }
    }

    /// Takes a piece of the text, and gives what is to be written.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::new();
        for part in piece.split_inclusive('\n') {
            match part.strip_suffix('\n') {
                Some(text) => {
                    self.held.push_str(text.strip_suffix('\r').unwrap_or(text));
                    self.end_line(&mut out);
                }
                None => {
                    self.held.push_str(part);
                    self.go_on(&mut out);
                }
            }
        }
        out
    }

    /// The text is over: what was held back, and the end of its last line.
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

    /// The cursor is behind text that was given out.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.begun
    }

    /// Gives out what cannot change of a line that goes on.
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
        // A text begins with its first line that says something.
        if self.begun {
            self.breaks += 1;
        }
    }

    /// Looks at how the line begins, and gives out what stands for its mark.
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
                self.take_all(Tone::DIM, out);
            }
            return;
        }
        if let Some(fence) = fence(text) {
            self.fence = Some(fence.to_owned());
            self.line = LineKind::Verbatim;
            self.take_all(Tone::DIM, out);
        } else if is_rule(text) {
            self.line = LineKind::Verbatim;
            self.held = "─".repeat(20);
            self.take_all(Tone::DIM, out);
        } else if let Some(rest) = heading(text) {
            self.line = LineKind::Heading;
            self.held = rest.trim_end().trim_end_matches('#').trim_end().to_owned();
        } else if let Some(rest) = item(text) {
            let (mark, rest) = (format!("{}• ", &self.held[..indent]), rest.to_owned());
            self.write(&mark, Tone::PLAIN, out);
            self.held = rest;
        } else if let Some(rest) = text.strip_prefix("> ") {
            let rest = rest.to_owned();
            self.write("│ ", Tone::DIM, out);
            self.held = rest;
        } else if text.starts_with('|') {
            self.line = LineKind::Verbatim;
        }
    }

    /// Gives out what is held back of the line, as far as nothing that may follow changes it.
    fn give(&mut self, is_whole: bool, out: &mut String) {
        let tone = if self.line == LineKind::Heading {
            Tone::BOLD
        } else {
            Tone::PLAIN
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

    /// What the mark at the beginning of what is held back begins.
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
            // What follows the end may still change where it ends.
            Some(length) if is_whole || length < self.held.len() => Construct::Whole(length),
            _ if is_whole || self.held.chars().count() > HELD => Construct::Literal(run),
            _ => Construct::Open,
        }
    }

    fn take_all(&mut self, tone: Tone, out: &mut String) {
        let text = std::mem::take(&mut self.held);
        self.write(&text, tone, out);
    }

    fn write(&mut self, text: &str, tone: Tone, out: &mut String) {
        if text.is_empty() || (!self.begun && text.trim().is_empty()) {
            return;
        }
        self.begun = true;
        out.extend(std::iter::repeat_n('\n', std::mem::take(&mut self.breaks)));
        self.last = text.chars().last();
        out.push_str(&self.paint.with(tone, &visible(text)));
    }
}

/// What begins with a mark.
enum Construct {
    /// These bytes are shown in another way.
    Whole(usize),
    /// These bytes are text.
    Literal(usize),
    /// It is not known yet.
    Open,
}

/// How many bytes the construct has with which this text begins, if it does and the construct has an end.
fn whole_construct(text: &str) -> Option<usize> {
    let source = format!("{BEFORE}{text}");
    let mut events = Parser::new(&source).into_offset_iter();
    let (event, range) = events.find(|(_, range)| range.start >= BEFORE.len())?;
    let begins = range.start == BEFORE.len() && matches!(event, Event::Start(_) | Event::Code(_));
    begins.then(|| range.end - BEFORE.len())
}

/// The texts of a construct, and how each is shown.
fn leaves(source: &str, tone: Tone) -> Vec<(String, Tone)> {
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
                    now.underlined()
                }
                _ => now,
            }),
            Event::End(tag) => {
                tones.pop();
                if tag == TagEnd::Link
                    && let Some(url) = links.pop()
                    && leaves.last().is_none_or(|(text, _)| *text != url)
                {
                    leaves.push((format!(" ({url})"), tone.dim()));
                }
            }
            Event::Code(code) => leaves.push((code.into_string(), now.code())),
            Event::Text(text) => {
                let skipped = BEFORE.len().saturating_sub(range.start).min(text.len());
                leaves.push((text[skipped..].to_owned(), now));
            }
            Event::SoftBreak | Event::HardBreak => leaves.push((" ".into(), now)),
            // HTML and the like stays as it is.
            _ => leaves.push((source[range].to_owned(), now)),
        }
    }
    leaves.retain(|(text, _)| !text.is_empty());
    leaves
}

/// Whether more of the line may make something else of it.
fn may_become_another(line: &str, fence: Option<&str>, painted: bool) -> bool {
    if !painted {
        return false;
    }
    let text = line.trim_start();
    let first = text.chars().next();
    if let Some(fence) = fence {
        // The end of the block is known when its line is whole.
        return first.is_none_or(|first| fence.starts_with(first))
            && text.trim_start_matches(&fence[..1]).trim().is_empty();
    }
    match first {
        None => true,
        Some('`' | '~') => {
            let mark = &text[..1];
            let rest = text.trim_start_matches(mark);
            // A fence's line has what language it is; it is known when it is whole.
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

/// The fence that begins a block of code.
fn fence(text: &str) -> Option<&str> {
    let mark = text.chars().next().filter(|mark| "`~".contains(*mark))?;
    let rest = text.trim_start_matches(mark);
    let fence = &text[..text.len() - rest.len()];
    (fence.len() >= 3 && !rest.contains('`')).then_some(fence)
}

/// Whether this line ends the block that begins with this fence.
fn is_fence(text: &str, fence: &str) -> bool {
    let rest = text.trim_end();
    rest.len() >= fence.len() && rest.chars().all(|mark| fence.starts_with(mark))
}

fn is_rule(text: &str) -> bool {
    let marks: Vec<char> = text.chars().filter(|mark| !mark.is_whitespace()).collect();
    marks.len() >= 3 && "-*_".contains(marks[0]) && marks.iter().all(|mark| *mark == marks[0])
}

/// What a heading says.
fn heading(text: &str) -> Option<&str> {
    let rest = text.trim_start_matches('#');
    let level = text.len() - rest.len();
    ((1..=6).contains(&level) && rest.starts_with(' ')).then(|| rest.trim_start())
}

/// What an item of a list says that has no number.
fn item(text: &str) -> Option<&str> {
    ["- ", "* ", "+ "]
        .iter()
        .find_map(|mark| text.strip_prefix(mark))
}

/// How many bytes at the end may be a part of a character that is made of several.
fn unfinished(text: &str) -> usize {
    let joins = |letter: &char| !letter.is_ascii() && !letter.is_alphanumeric();
    let tail = text.chars().rev().take_while(joins).take(16);
    tail.map(char::len_utf8).sum()
}
