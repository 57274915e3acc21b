//! Conversion between byte offsets and LSP positions, in UTF-8 bytes or UTF-16 units of a line. Pure.

use ropey::Rope;
use tower_lsp::lsp_types::{Position, Range};

use crate::front::wire::requests::{TextPosition, TextRange};

/// Converts a range of the protocol to LSP's type.
pub(super) fn lsp_range(range: TextRange) -> Range {
    let position = |at: TextPosition| Position::new(at.line, at.character);
    Range::new(position(range.start), position(range.end))
}

/// The bytes of a range, clamped to the text as LSP requires.
pub(super) fn span(text: &str, range: Range, utf8: bool) -> std::ops::Range<usize> {
    let start = offset(text, range.start, utf8);
    let end = offset(text, range.end, utf8);
    start..end.max(start)
}

/// The characters of a range in a rope, clamped to the text.
pub(super) fn rope_span(text: &Rope, range: Range, utf8: bool) -> std::ops::Range<usize> {
    let start = character(text, range.start, utf8);
    let end = character(text, range.end, utf8);
    start..end.max(start)
}

/// The character of a position in a rope.
fn character(text: &Rope, position: Position, utf8: bool) -> usize {
    let line = position.line as usize;
    if line >= text.len_lines() {
        return text.len_chars();
    }
    let start = text.line_to_char(line);
    let whole = text.line(line);
    let breaks = whole.chars_at(whole.len_chars()).reversed().take(2);
    let breaks = breaks.take_while(|letter| matches!(letter, '\n' | '\r'));
    let end = start + whole.len_chars() - breaks.count();
    let wanted = position.character as usize;
    if utf8 {
        let byte = text.char_to_byte(start).saturating_add(wanted);
        return text.byte_to_char(byte.min(text.char_to_byte(end)));
    }
    let unit = text.char_to_utf16_cu(start).saturating_add(wanted);
    let unit = unit.min(text.char_to_utf16_cu(end));
    let at = text.utf16_cu_to_char(unit);
    // A position within a character is rounded up.
    at + usize::from(text.char_to_utf16_cu(at) < unit)
}

/// The byte offset of a position. Lines end at `\n`, `\r\n` or `\r`.
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

/// The byte offset of a line's start; the end of the text if it has fewer lines.
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

/// Converts increasing byte offsets of a text to positions.
pub(super) struct Positions<'a> {
    text: &'a str,
    utf8: bool,
    /// Byte offset up to which lines were counted.
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'a> Positions<'a> {
    pub(super) fn new(text: &'a str, utf8: bool) -> Self {
        Self {
            text,
            utf8,
            at: 0,
            line: 0,
            line_start: 0,
        }
    }

    /// The position of a byte, which must not precede an earlier one.
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
