//! Conversion between byte offsets and LSP positions, as the client counts lines and characters. Pure.

use ropey::Rope;
use tower_lsp::lsp_types::{Position, Range};

use super::super::client::counting::{Counting, LoneReturn};
use crate::front::wire::requests::{TextPosition, TextRange};

/// Converts a range of the protocol to LSP's type.
pub(super) fn lsp_range(range: TextRange) -> Range {
    let position = |at: TextPosition| Position::new(at.line, at.character);
    Range::new(position(range.start), position(range.end))
}

/// Whether a text has a carriage return that no `\n` follows.
pub(super) fn has_lone_return(text: &str) -> bool {
    let mut rest = text.split('\r').skip(1);
    rest.any(|after| !after.starts_with('\n'))
}

/// Whether nobody knows the lines of a text in a client that counts in this way.
pub(super) fn is_doubtful(text: &str, counting: Counting) -> bool {
    match counting.returns {
        LoneReturn::LineEnd => false,
        // Of a text without any other line end an editor may have made lines.
        LoneReturn::Character => text.contains('\r') && !text.contains('\n'),
        LoneReturn::Unknown => has_lone_return(text),
    }
}

/// The bytes of a range, clamped to the text as LSP requires.
pub(super) fn span(text: &str, range: Range, counting: Counting) -> std::ops::Range<usize> {
    let start = offset(text, range.start, counting);
    let end = offset(text, range.end, counting);
    start..end.max(start)
}

/// The characters of a range in a rope without carriage returns of their own, clamped to the text.
pub(super) fn rope_span(text: &Rope, range: Range, counting: Counting) -> std::ops::Range<usize> {
    let start = character(text, range.start, counting);
    let end = character(text, range.end, counting);
    start..end.max(start)
}

/// The character of a position in a rope.
fn character(text: &Rope, position: Position, counting: Counting) -> usize {
    let line = position.line as usize;
    if line >= text.len_lines() {
        return text.len_chars();
    }
    let start = text.line_to_char(line);
    let whole = text.line(line);
    let mut breaks = whole.chars_at(whole.len_chars()).reversed();
    let end = match (breaks.next(), breaks.next()) {
        (Some('\n'), Some('\r')) if counting.returns != LoneReturn::Character => 2,
        (Some('\n'), _) => 1,
        _ => 0,
    };
    let end = start + whole.len_chars() - end;
    let wanted = position.character as usize;
    if counting.utf8 {
        let byte = text.char_to_byte(start).saturating_add(wanted);
        return text.byte_to_char(byte.min(text.char_to_byte(end)));
    }
    let unit = text.char_to_utf16_cu(start).saturating_add(wanted);
    let unit = unit.min(text.char_to_utf16_cu(end));
    let at = text.utf16_cu_to_char(unit);
    // A position within a character is rounded up.
    at + usize::from(text.char_to_utf16_cu(at) < unit)
}

/// The byte offset of a position.
fn offset(text: &str, position: Position, counting: Counting) -> usize {
    let start = line_start(text, position.line as usize, counting);
    let rest = &text[start..];
    let line = match counting.returns {
        LoneReturn::Character => &rest[..rest.find('\n').unwrap_or(rest.len())],
        _ => &rest[..rest.find(['\n', '\r']).unwrap_or(rest.len())],
    };
    let wanted = position.character as usize;
    if counting.utf8 {
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
fn line_start(text: &str, line: usize, counting: Counting) -> usize {
    let bytes = text.as_bytes();
    let ends = (0..bytes.len()).filter(|at| ends_line(bytes, *at, counting));
    match line {
        0 => 0,
        line => ends
            .skip(line - 1)
            .map(|at| at + 1)
            .next()
            .unwrap_or(bytes.len()),
    }
}

/// Whether a line ends with this byte.
fn ends_line(bytes: &[u8], at: usize, counting: Counting) -> bool {
    match bytes[at] {
        b'\n' => true,
        b'\r' => counting.returns != LoneReturn::Character && bytes.get(at + 1) != Some(&b'\n'),
        _ => false,
    }
}

/// Converts increasing byte offsets of a text to positions.
pub(super) struct Positions<'a> {
    text: &'a str,
    counting: Counting,
    /// Byte offset up to which lines were counted.
    at: usize,
    line: u32,
    line_start: usize,
}

impl<'a> Positions<'a> {
    pub(super) fn new(text: &'a str, counting: Counting) -> Self {
        Self {
            text,
            counting,
            at: 0,
            line: 0,
            line_start: 0,
        }
    }

    /// The position of a byte, which must not precede an earlier one.
    pub(super) fn of(&mut self, byte: usize) -> Position {
        let bytes = self.text.as_bytes();
        while self.at < byte {
            let ends = ends_line(bytes, self.at, self.counting);
            self.at += 1;
            if ends {
                self.line += 1;
                self.line_start = self.at;
            }
        }
        let within = &self.text[self.line_start..byte];
        let character = if self.counting.utf8 {
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
