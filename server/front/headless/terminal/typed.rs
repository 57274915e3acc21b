//! What a person types at the first prompt, from the keys to the answer.

use std::io::{self, Read};

use aside_turn::input::PromptAnswer;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::ioctl_fionread,
};

use super::{
    super::{
        ask::{TypedLine, change, parse_line},
        line::{LineState, TypedText},
        wrap::wrapped,
    },
    Desk,
};

/// The longest line that is taken, in bytes.
const LINE: usize = 64 * 1024;
/// What is said where more came at once than one answer.
const DROPPED: &str = "(only the first line was taken; what came after it was dropped)";

impl Desk {
    /// Reads what was typed: a line or, after Ctrl-D, what there is of one.
    pub(super) fn read(&mut self) -> io::Result<()> {
        let mut piece = [0; 4096];
        let count = match self.tty.read(&mut piece) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            read => read?,
        };
        let is_end = count == 0;
        if is_end && self.hung_up()? {
            // A terminal that goes away decides nothing.
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
            return if self.line.len() > LINE {
                self.again("That line is too long.")
            } else {
                Ok(())
            };
        }
        if is_end {
            // Ctrl-D ends a line without moving to the next.
            self.write("\n")?;
        }
        // What came with the line is dropped when the next prompt is shown.
        if ioctl_fionread(&self.tty).is_ok_and(|count| count > 0) {
            let dropped = wrapped(DROPPED, "", "", self.width());
            self.write(&format!("{dropped}\n"))?;
        }
        let line = std::mem::take(&mut self.line);
        match std::str::from_utf8(&line) {
            Err(_) => self.again("That is not UTF-8 text."),
            Ok(line) => self.said(line.strip_suffix('\n').unwrap_or(line)),
        }
    }

    /// Edits the line with these keys.
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
            LineState::Open if typed.length() > LINE => {
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

    /// A line was typed for the first prompt.
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

    /// Nobody is at the other end. Reading then gives what Ctrl-D gives: nothing.
    fn hung_up(&self) -> io::Result<bool> {
        let mut watched = [PollFd::new(&self.tty, PollFlags::empty())];
        let now = Timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        poll(&mut watched, Some(&now))?;
        Ok(watched[0]
            .revents()
            .intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL))
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
