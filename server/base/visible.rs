//! Text of models, files and tools made safe to look at: what cannot be seen is shown, and terminals are not
//! steered by it.
//!
//! [`is_hidden`] is the only definition of a hidden character. Approvals are given on the strength of it, so it
//! follows Unicode's properties rather than a list of known tricks.

use std::{borrow::Cow, collections::HashMap, fmt::Write as _};

use icu_properties::{
    CodePointMapData, CodePointSetData,
    props::{
        DefaultIgnorableCodePoint, Emoji, GeneralCategory as Category, PrependedConcatenationMark,
    },
};

mod alike;
mod belongs;
mod screen;

use alike::alike;
pub use belongs::awaits_more;
use belongs::belongs;
use screen::{Piece, Pieces, Screen};

/// Whether a character takes no place of its own on a screen, steers a terminal, or reorders the text around it.
///
/// These are all control and format characters, separators of lines and paragraphs, and what Unicode calls
/// default-ignorable: zero-width characters, fillers, tags and variation selectors. Line feeds and tabs are not
/// hidden, nor are the few format characters with a shape of their own, such as U+0600.
#[must_use]
pub fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && !matches!(c, '\n' | '\t');
    }
    if CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(c) {
        return true;
    }
    match CodePointMapData::<Category>::new().get(c) {
        Category::Control | Category::LineSeparator | Category::ParagraphSeparator => true,
        Category::Format => !CodePointSetData::new::<PrependedConcatenationMark>().contains(c),
        _ => false,
    }
}

/// The text with every hidden character made visible: a control picture such as `␛`, else its number such as
/// `<U+202E>`. Line feeds and tabs stay, and so does the variation selector of an emoji.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if hidden(text).next().is_none() {
        return Cow::Borrowed(text);
    }
    Cow::Owned(marked(text, hidden(text)))
}

/// A text for reading, such as an answer: everything hidden is made visible as by [`visible`], except what belongs to an
/// emoji or to a script. Nothing is decided about such a text. `before`: what stands before it.
#[must_use]
pub fn readable<'a>(before: &str, text: &'a str) -> Cow<'a, str> {
    if hidden(text).next().is_none() {
        return Cow::Borrowed(text);
    }
    let whole = format!("{before}{text}");
    let all: Vec<char> = whole.chars().collect();
    let places = whole.char_indices().map(|(at, _)| at);
    let places: HashMap<usize, usize> = places.zip(0..).collect();
    let alien = hidden(&whole).filter(|(at, _)| !belongs(&all, places[at]));
    let alien = alien.filter_map(|(at, c)| Some((at.checked_sub(before.len())?, c)));
    Cow::Owned(marked(text, alien))
}

/// The text with these of its characters made visible.
fn marked(text: &str, hidden: impl Iterator<Item = (usize, char)>) -> String {
    let mut out = String::with_capacity(text.len() + 16);
    let mut end = 0;
    for (at, c) in hidden {
        out.push_str(&text[end..at]);
        match c {
            '\0'..='\x1f' => out.extend(char::from_u32(0x2400 + u32::from(c))),
            '\x7f' => out.push('␡'),
            c => drop(write!(out, "<{}>", number(c))),
        }
        end = at + c.len_utf8();
    }
    out.push_str(&text[end..]);
    out
}

/// Blanks in a row that a text is shown with: more could push what comes after them out of sight. Those but the plain one
/// are the wider or the rarer.
const BLANKS: usize = 32;
const OTHER_BLANKS: usize = 8;
/// Empty lines in a row that a text is shown with.
const EMPTY_LINES: usize = 8;
/// Marks on one letter that a text is shown with; no language has more.
const MARKS: usize = 8;

/// A text that a person decides about, so that all of it comes before their eyes: everything is visible, letters that are
/// taken for those of ASCII are shown by their number, and blanks, empty lines and marks on a letter that are many as how
/// many they are.
#[must_use]
pub fn in_sight(text: &str) -> Cow<'_, str> {
    let text = unstacked(distinguished(visible(text)));
    let is_apart = |a: char, b: char| is_blank(a) != is_blank(b);
    let mut out = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_apart(first, c)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        match is_blank(first) {
            true => counted(&mut out, run),
            false => out.push_str(run),
        }
        rest = behind;
    }
    match out == *text {
        true => text,
        false => Cow::Owned(out),
    }
}

/// The text with letters that are taken for those of ASCII made visible.
fn distinguished(text: Cow<'_, str>) -> Cow<'_, str> {
    if alike(&text).next().is_none() {
        return text;
    }
    Cow::Owned(marked(&text, alike(&text)))
}

/// The text with runs of marks that are drawn over one letter, and so over the lines around it, as their number.
fn unstacked(text: Cow<'_, str>) -> Cow<'_, str> {
    let count = |text: &str| text.chars().take_while(|c| is_mark(*c)).count();
    let mut out = String::new();
    let mut rest = &*text;
    while let Some(start) = rest.find(is_mark) {
        let (before, marks) = rest.split_at(start);
        let many = count(marks);
        let end = marks.find(|c| !is_mark(c)).unwrap_or(marks.len());
        out.push_str(before);
        match many > MARKS {
            true => drop(write!(out, "⟨{many} marks⟩")),
            false => out.push_str(&marks[..end]),
        }
        rest = &marks[end..];
    }
    if out.is_empty() {
        return text;
    }
    out.push_str(rest);
    Cow::Owned(out)
}

fn is_mark(c: char) -> bool {
    let kind = CodePointMapData::<Category>::new().get(c);
    !c.is_ascii()
        && matches!(
            kind,
            Category::NonspacingMark | Category::SpacingMark | Category::EnclosingMark
        )
}

/// Writes blanks, line feeds among them, or how many they are.
fn counted(out: &mut String, run: &str) {
    let mut lines: Vec<&str> = run.split('\n').collect();
    let empty = lines.len().saturating_sub(2);
    let number = format!("⟨{empty} empty lines⟩");
    if empty > EMPTY_LINES {
        let last = lines.pop().unwrap_or_default();
        lines.truncate(1);
        lines.extend([number.as_str(), last]);
    }
    for (nth, line) in lines.into_iter().enumerate() {
        if nth > 0 {
            out.push('\n');
        }
        let plain = line.chars().filter(|c| *c == ' ').count();
        let all = line.chars().count();
        let are_many = plain > BLANKS || all - plain > OTHER_BLANKS;
        match are_many && line.chars().all(is_blank) {
            true => drop(write!(out, "⟨{all} blanks⟩")),
            false => out.push_str(line),
        }
    }
}

/// Whether nothing is seen of a character but the place that it takes.
fn is_blank(c: char) -> bool {
    // The pattern of Braille without a dot is none of Unicode's white space.
    c.is_whitespace() || c == '\u{2800}'
}

/// A text as one line, with everything in it visible: line feeds as `␊`, tabs as spaces, and without the
/// white space at both ends.
#[must_use]
pub fn one_line(text: &str) -> String {
    visible(text).trim().replace('\n', "␊").replace('\t', " ")
}

/// Like [`one_line`], and cut to at most `max` characters and an ellipsis.
#[must_use]
pub fn short_line(text: &str, max: usize) -> String {
    let line = one_line(text);
    match line.char_indices().nth(max) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// A text for a client's messages, some of which make links of what they show, with commands behind them: none is made
/// of this, and everything in it is visible.
#[must_use]
pub fn without_links(text: &str) -> String {
    visible(text).replace("](", "] (")
}

/// Output of a program as text: escape sequences for terminals are left out, carriage returns before line
/// feeds too, bytes that are not UTF-8 become `�`, and every other hidden character is made visible.
#[must_use]
pub fn printable(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    let plain = without_escapes(&text).replace("\r\n", "\n");
    visible(&plain).into_owned()
}

/// The same for output that a terminal would show: what a program overwrote of it, as a bar of progress does, is left
/// out too.
#[must_use]
pub fn printed(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes);
    match text.contains(['\r', '\x08', '\x1b']) {
        true => visible(&Screen::after(&text)).into_owned(),
        false => visible(&text).into_owned(),
    }
}

/// The text without its hidden characters.
#[must_use]
pub fn without_hidden(text: &str) -> Cow<'_, str> {
    if hidden(text).next().is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for (at, c) in hidden(text) {
        out.push_str(&text[end..at]);
        end = at + c.len_utf8();
    }
    out.push_str(&text[end..]);
    Cow::Owned(out)
}

/// Numbers (`U+202E`) of the hidden characters that `new` has more of than `old`, each once and in order.
/// Carriage returns do not count, as some files end their lines with them.
#[must_use]
pub fn hidden_added(old: &str, new: &str) -> Vec<String> {
    let count = |text: &str, wanted: char| hidden(text).filter(|(_, c)| *c == wanted).count();
    let mut added: Vec<char> = hidden(new).map(|(_, c)| c).filter(|c| *c != '\r').collect();
    added.sort_unstable();
    added.dedup();
    added.retain(|c| count(new, *c) > count(old, *c));
    added.into_iter().map(number).collect()
}

/// The hidden characters of a text and where they are. A selector of text or emoji style directly after an emoji
/// belongs to it: `👍️` looks as it should.
fn hidden(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut before = None;
    text.char_indices().filter(move |(_, c)| {
        let before = before.replace(*c);
        let is_style = matches!(c, '\u{fe0e}' | '\u{fe0f}') && before.is_some_and(is_emoji);
        !is_style && is_hidden(*c)
    })
}

/// Digits and signs of ASCII, which Unicode counts among the emoji for the sake of keycaps, are none here.
fn is_emoji(c: char) -> bool {
    !c.is_ascii() && CodePointSetData::new::<Emoji>().contains(c)
}

fn number(c: char) -> String {
    format!("U+{:04X}", u32::from(c))
}

/// Leaves out CSI sequences, strings of terminals (OSC and its kin) and other two-character escapes.
pub fn without_escapes(text: &str) -> Cow<'_, str> {
    if !text.contains('\x1b') {
        return Cow::Borrowed(text);
    }
    let letters = Pieces::of(text).filter_map(|piece| match piece {
        Piece::Letter(letter) => Some(letter),
        Piece::Control(..) | Piece::Up => None,
    });
    Cow::Owned(letters.collect())
}

/// A text with a capital letter first.
#[must_use]
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next();
    first
        .into_iter()
        .flat_map(char::to_uppercase)
        .chain(letters)
        .collect()
}

#[cfg(test)]
mod tests;
