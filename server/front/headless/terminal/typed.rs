//! Handles input for the first prompt, from keys to the reply.

use std::io::{self, Read};

use aside_base::system::terminal::{has_typed, is_hung_up, is_in_background};
use aside_turn::input::PromptAnswer;

use super::{
    super::{
        ask::{TypedLine, change, parse_line},
        line::{LineState, TypedText},
        wrap::wrapped,
    },
    Desk,
};

/// Maximum length of a line in bytes.
const MAX_LINE: usize = 64 * 1024;
/// Message about input after the first line.
const DROPPED: &str = "(only the first line was used; the rest was dropped)";

impl Desk {
    /// Reads input: a line or, after Ctrl-D, an unfinished one.
    pub(super) fn read(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        let count = match self.tty.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            // The shell took the terminal since it was looked at.
            Err(_) if is_in_background(&self.tty) => return Ok(()),
            read => read?,
        };
        let is_end = count == 0;
        if is_end && is_hung_up(&self.tty)? {
            // A closed terminal decides nothing.
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if self.typed.is_some() {
            return self.edit(&piece[..count]);
        }
        self.line.extend_from_slice(&piece[..count]);
        if is_end && self.line.is_empty() {
            self.write("\n")?;
            return self.settle(PromptAnswer::Cancel);
        }
        if !is_end && !self.line.ends_with(b"\n") {
            return if self.line.len() > MAX_LINE {
                self.again("That line is too long.")
            } else {
                Ok(())
            };
        }
        if is_end {
            // Ctrl-D ends a line without moving to the next row.
            self.write("\n")?;
        }
        // Input after the line is dropped when the next prompt is shown.
        if has_typed(&self.tty) {
            let dropped = wrapped(DROPPED, "", "", self.width());
            self.write(&format!("{dropped}\n"))?;
        }
        let line = std::mem::take(&mut self.line);
        match std::str::from_utf8(&line) {
            Err(_) => self.again("That is not UTF-8 text."),
            Ok(line) => self.said(line.strip_suffix('\n').unwrap_or(line)),
        }
    }

    /// Edits the line with typed keys.
    fn edit(&mut self, keys: &[u8]) -> io::Result<()> {
        let width = self.width();
        let Some(typed) = &mut self.typed else {
            return Ok(());
        };
        let state = typed.take(keys);
        let dropped = match typed.has_dropped() {
            true => wrapped(DROPPED, "", "", width) + "\n",
            false => String::new(),
        };
        match state {
            LineState::Open if typed.length() > MAX_LINE => {
                self.write("\n")?;
                self.again("That line is too long.")
            }
            LineState::Open => {
                let mut shown = typed.draw(width);
                if !dropped.is_empty() {
                    shown = format!("\r\x1b[K{dropped}{shown}");
                }
                self.write(&shown)
            }
            LineState::Nothing => {
                self.write("\n")?;
                self.settle(PromptAnswer::Cancel)
            }
            LineState::Ended(line) => {
                self.write(&(TypedText::ended(&line) + &dropped))?;
                self.said(&line)
            }
        }
    }

    /// Handles a complete line for the first prompt.
    fn said(&mut self, line: &str) -> io::Result<()> {
        let Some(prompt) = self.open.front() else {
            return Ok(());
        };
        if line.trim() == "v" && self.lines.pager.is_some() && change(prompt, self.paint).is_some()
        {
            self.modes = None;
            self.typed = None;
            return self.present();
        }
        match parse_line(prompt, line) {
            TypedLine::Reply(answer) => self.settle(answer),
            TypedLine::Again(sentence) => self.again(&sentence),
        }
    }

    fn again(&mut self, sentence: &str) -> io::Result<()> {
        self.line.clear();
        if let (Some(typed), Some(prompt)) = (&mut self.typed, self.open.front()) {
            *typed = TypedText::answering(&prompt.answer_type);
        }
        let sentence = wrapped(sentence, "", "", self.width());
        self.write(&format!("{sentence}\n> "))
    }
}
