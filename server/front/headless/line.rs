//! A line being typed and edited on a terminal. Pure: returns the text to write and the state of the line. tui-input
//! edits, and vte parses keys.

#[cfg(test)]
mod tests;

use aside_turn::question::AnswerType;
use tui_input::{Input, InputRequest};
use unicode_width::UnicodeWidthChar;
use vte::{Params, Parser, Perform};

/// Prompt before the line.
const MARK: &str = "> ";

/// A line being typed.
#[derive(Default)]
pub struct TypedText {
    keys: Parser,
    edited: EditedText,
}

/// State of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineState {
    /// The line is being typed.
    Open,
    /// Enter was pressed; the line's text.
    Ended(String),
    /// Ctrl-D on an empty line.
    Nothing,
}

#[derive(Default)]
struct EditedText {
    input: Input,
    paste: Paste,
    /// Set when the line ends. Later keys are dropped, because nobody saw the next line.
    state: Option<LineState>,
    /// Whether the last byte was Escape, alone or at the beginning of a key sequence.
    escape: bool,
    /// Whether the next letter belongs to a key sequence.
    is_key: bool,
}

/// A bracketed paste, on terminals that support it.
#[derive(Default)]
struct Paste {
    /// Whether line ends belong to the text.
    has_lines: bool,
    /// Whether the paste is still open.
    is_open: bool,
    /// Whether its last character was a carriage return.
    returned: bool,
    /// Whether its first line has ended, if only one line is accepted.
    is_past: bool,
    /// Whether any input was dropped.
    dropped: bool,
}

impl TypedText {
    /// Starts a text of several lines, which can be pasted.
    #[must_use]
    pub fn of_lines() -> Self {
        let mut text = Self::default();
        text.edited.paste.has_lines = true;
        text
    }

    /// Starts an answer of this type.
    #[must_use]
    pub fn answering(answer_type: &AnswerType) -> Self {
        match answer_type {
            AnswerType::Text { .. } => Self::of_lines(),
            _ => Self::default(),
        }
    }

    /// Whether input was dropped since the last call.
    pub fn has_dropped(&mut self) -> bool {
        std::mem::take(&mut self.edited.paste.dropped)
    }

    /// Handles typed bytes. Input after the end of the line is dropped, because nobody has seen what it would answer.
    pub fn take(&mut self, bytes: &[u8]) -> LineState {
        for (at, byte) in bytes.iter().enumerate() {
            if self.edited.state.is_some() {
                let is_said = bytes[at..].iter().any(|it| !it.is_ascii_whitespace());
                self.edited.paste.dropped |= is_said;
                break;
            }
            // The byte after Escape tells whether it was typed alone or begins a key sequence.
            match byte {
                b'\r' | b'\n' if self.edited.escape && self.edited.input.value().is_empty() => {
                    self.edited.state = Some(LineState::Ended("\x1b".into()));
                    continue;
                }
                b'\x1b' => self.edited.escape = true,
                _ => {}
            }
            self.keys.advance(&mut self.edited, &[*byte]);
            if *byte != b'\x1b' {
                self.edited.escape = false;
            }
        }
        self.edited.state.take().unwrap_or(LineState::Open)
    }

    /// Length of the text in bytes.
    #[must_use]
    pub fn length(&self) -> usize {
        self.edited.input.value().len()
    }

    /// Returns the text that shows the line in a width in columns, with the cursor in its place.
    #[must_use]
    pub fn draw(&self, width: usize) -> String {
        let input = &self.edited.input;
        // One column stays free, so that no line reaches the edge.
        let room = width.saturating_sub(MARK.len() + 1).max(1);
        let scroll = input.visual_scroll(room);
        let column = MARK.len() + input.visual_cursor().saturating_sub(scroll);
        let shown = columns(input.value(), scroll, room);
        format!("\r\x1b[K{MARK}{shown}\r\x1b[{column}C")
    }

    /// Returns the text that shows a finished line in full.
    #[must_use]
    pub fn ended(text: &str) -> String {
        let shown: String = text.chars().map(seen).collect();
        format!("\r\x1b[K{MARK}{}\n", shown.replace('\x1b', "^["))
    }
}

/// The symbol for a character on a single line.
fn seen(letter: char) -> char {
    match letter {
        '\n' => '⏎',
        '\t' => ' ',
        other => other,
    }
}

/// The part of a text that begins at a column and fits into `room` columns.
fn columns(text: &str, from: usize, room: usize) -> String {
    let (mut at, mut shown) = (0, String::new());
    for letter in text.chars().map(seen) {
        let wide = letter.width().unwrap_or(0);
        if at >= from && at + wide <= from + room {
            shown.push(letter);
        }
        at += wide;
    }
    shown
}

impl EditedText {
    fn does(&mut self, request: InputRequest) {
        // A request without effect is not an error.
        let _ = self.input.handle(request);
    }

    fn end(&mut self, state: LineState) {
        self.state.get_or_insert(state);
    }

    /// The text of a finished line, without line ends at the end of a paste.
    fn text(&self) -> String {
        self.input.value().trim_end_matches('\n').to_owned()
    }

    /// Handles a character of a paste.
    fn pasted(&mut self, letter: char) {
        let is_second_half = letter == '\n' && self.paste.returned;
        self.paste.returned = letter == '\r';
        match letter {
            '\r' | '\n' if is_second_half => {}
            '\r' | '\n' if self.paste.has_lines => self.does(InputRequest::InsertChar('\n')),
            '\r' | '\n' => self.paste.is_past = true,
            letter if self.paste.is_past => self.paste.dropped |= !letter.is_whitespace(),
            letter if letter.is_control() && letter != '\t' => {}
            letter => self.does(InputRequest::InsertChar(letter)),
        }
    }

    /// Handles a key sequence that ends with this letter.
    fn key(&mut self, letter: char, by_word: bool) {
        match letter {
            'D' if by_word => self.does(InputRequest::GoToPrevWord),
            'C' if by_word => self.does(InputRequest::GoToNextWord),
            'D' => self.does(InputRequest::GoToPrevChar),
            'C' => self.does(InputRequest::GoToNextChar),
            'H' => self.does(InputRequest::GoToStart),
            'F' => self.does(InputRequest::GoToEnd),
            _ => {}
        }
    }
}

impl Paste {
    fn begin(&mut self) {
        (self.is_open, self.is_past, self.returned) = (true, false, false);
    }
}

impl Perform for EditedText {
    fn print(&mut self, letter: char) {
        if self.paste.is_open {
            return self.pasted(letter);
        }
        if std::mem::take(&mut self.is_key) {
            return self.key(letter, false);
        }
        match letter {
            '\x7f' => self.does(InputRequest::DeletePrevChar),
            letter => self.does(InputRequest::InsertChar(letter)),
        }
    }

    fn execute(&mut self, byte: u8) {
        if self.paste.is_open {
            return self.pasted(byte.into());
        }
        match byte {
            b'\r' | b'\n' => self.end(LineState::Ended(self.text())),
            0x04 if self.input.value().is_empty() => self.end(LineState::Nothing),
            0x01 => self.does(InputRequest::GoToStart),
            0x02 => self.does(InputRequest::GoToPrevChar),
            0x04 => self.does(InputRequest::DeleteNextChar),
            0x05 => self.does(InputRequest::GoToEnd),
            0x06 => self.does(InputRequest::GoToNextChar),
            0x08 => self.does(InputRequest::DeletePrevChar),
            b'\t' => self.does(InputRequest::InsertChar(' ')),
            0x0b => self.does(InputRequest::DeleteTillEnd),
            0x15 => self.does(InputRequest::DeleteLine),
            0x17 => self.does(InputRequest::DeletePrevWord),
            _ => {}
        }
    }

    fn csi_dispatch(&mut self, params: &Params, _: &[u8], _: bool, action: char) {
        let numbers: Vec<u16> = params.iter().filter_map(|it| it.first().copied()).collect();
        // Modifiers as terminals encode them: Alt, Ctrl or both.
        let by_word = matches!(numbers.get(1), Some(3 | 5 | 7));
        match (action, numbers.first()) {
            ('~', Some(200)) => self.paste.begin(),
            ('~', Some(201)) => self.paste.is_open = false,
            _ if self.paste.is_open => {}
            ('~', Some(1 | 7)) => self.does(InputRequest::GoToStart),
            ('~', Some(4 | 8)) => self.does(InputRequest::GoToEnd),
            ('~', Some(3)) => self.does(InputRequest::DeleteNextChar),
            (letter, _) => self.key(letter, by_word),
        }
    }

    fn esc_dispatch(&mut self, _: &[u8], _: bool, byte: u8) {
        match byte {
            _ if self.paste.is_open => {}
            b'O' => self.is_key = true,
            b'b' => self.does(InputRequest::GoToPrevWord),
            b'f' => self.does(InputRequest::GoToNextWord),
            b'd' => self.does(InputRequest::DeleteNextWord),
            _ => {}
        }
    }
}
