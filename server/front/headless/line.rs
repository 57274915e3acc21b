//! A line that is typed on a terminal, and edited while it is. Pure: given what the keys sent, it says what to write and
//! what became of the line. tui-input edits, and vte tells keys apart.

#[cfg(test)]
mod tests;

use aside_turn::question::AnswerType;
use tui_input::{Input, InputRequest};
use unicode_width::UnicodeWidthChar;
use vte::{Params, Parser, Perform};

/// What stands before the line.
const MARK: &str = "> ";

/// A line that is being typed.
#[derive(Default)]
pub struct TypedText {
    keys: Parser,
    edited: EditedText,
}

/// What became of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LineState {
    /// It goes on.
    Open,
    /// It was ended.
    Ended(String),
    /// Ctrl-D on an empty line.
    Nothing,
}

#[derive(Default)]
struct EditedText {
    input: Input,
    paste: Paste,
    /// The keys after this belong to no line that was on the screen.
    state: Option<LineState>,
    /// Escape was typed alone, or begins the name of a key.
    escape: bool,
    /// What follows is the letter of a key.
    is_key: bool,
}

/// What is pasted, where the terminal says what is.
#[derive(Default)]
struct Paste {
    /// Line ends in it belong to the text.
    has_lines: bool,
    /// It goes on.
    is_open: bool,
    /// The last of it was a carriage return.
    returned: bool,
    /// Its first line is over, and no other is taken.
    is_past: bool,
    /// Something was dropped.
    dropped: bool,
}

impl TypedText {
    /// A text of several lines, which can be pasted.
    #[must_use]
    pub fn of_lines() -> Self {
        let mut text = Self::default();
        text.edited.paste.has_lines = true;
        text
    }

    /// Nothing typed yet of an answer of this type.
    #[must_use]
    pub fn answering(answer_type: &AnswerType) -> Self {
        match answer_type {
            AnswerType::Text { .. } => Self::of_lines(),
            _ => Self::default(),
        }
    }

    /// Whether something that came was dropped since this was asked.
    pub fn has_dropped(&mut self) -> bool {
        std::mem::take(&mut self.edited.paste.dropped)
    }

    /// Takes what the keys sent. What follows the end of the line is dropped: nobody saw what it would answer.
    pub fn take(&mut self, bytes: &[u8]) -> LineState {
        for (at, byte) in bytes.iter().enumerate() {
            if self.edited.state.is_some() {
                let is_said = bytes[at..].iter().any(|it| !it.is_ascii_whitespace());
                self.edited.paste.dropped |= is_said;
                break;
            }
            // An escape is told apart from the keys that begin with one by what follows.
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

    /// Bytes of the text so far.
    #[must_use]
    pub fn length(&self) -> usize {
        self.edited.input.value().len()
    }

    /// What shows the line as it is now, in so many columns, with the cursor where it is typed on.
    #[must_use]
    pub fn draw(&self, width: usize) -> String {
        let input = &self.edited.input;
        // One column is left free, so that no line ends at the edge.
        let room = width.saturating_sub(MARK.len() + 1).max(1);
        let scroll = input.visual_scroll(room);
        let column = MARK.len() + input.visual_cursor().saturating_sub(scroll);
        let shown = columns(input.value(), scroll, room);
        format!("\r\x1b[K{MARK}{shown}\r\x1b[{column}C")
    }

    /// What shows a line that was ended, whole.
    #[must_use]
    pub fn ended(text: &str) -> String {
        let shown: String = text.chars().map(seen).collect();
        format!("\r\x1b[K{MARK}{}\n", shown.replace('\x1b', "^["))
    }
}

/// What stands for a character on one line.
fn seen(letter: char) -> char {
    match letter {
        '\n' => '⏎',
        '\t' => ' ',
        other => other,
    }
}

/// The part of a text that begins after so many columns, and has room in so many.
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
        // What changes nothing is no mistake.
        let _ = self.input.handle(request);
    }

    fn end(&mut self, state: LineState) {
        self.state.get_or_insert(state);
    }

    /// The line as it is when it was ended. A line end that a paste ended with is none of the text.
    fn text(&self) -> String {
        self.input.value().trim_end_matches('\n').to_owned()
    }

    /// Takes a character of a paste.
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

    /// A key whose name ends with this letter.
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
        // Alt, Ctrl or both, as terminals count them.
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
