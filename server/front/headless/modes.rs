//! The modes of a terminal while something is typed.

use std::{fs::File, io};

use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
    tcsetattr,
};

/// While it lives the terminal has modes of ours. What was typed and not read is dropped at the end.
#[derive(Debug)]
pub struct TypingModes {
    tty: File,
    before: Termios,
}

impl TypingModes {
    /// What is typed is not shown.
    ///
    /// # Errors
    /// Where it is no terminal, or it went away.
    pub fn unseen(tty: &File) -> io::Result<Self> {
        Self::begin(tty, |modes| {
            modes.local_modes.remove(LocalModes::ECHO);
            modes.local_modes.insert(LocalModes::ECHONL);
        })
    }

    /// Each key is read at once, and whoever reads it shows what comes of it. Ctrl-C stays a signal.
    ///
    /// # Errors
    /// As [`TypingModes::unseen`].
    pub fn edited(tty: &File) -> io::Result<Self> {
        Self::begin(tty, |modes| {
            let off = LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN;
            modes.local_modes.remove(off);
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        })
    }

    fn begin(tty: &File, change: impl FnOnce(&mut Termios)) -> io::Result<Self> {
        let before = tcgetattr(tty)?;
        let mut modes = before.clone();
        change(&mut modes);
        let begun = Self {
            tty: tty.try_clone()?,
            before,
        };
        tcsetattr(tty, OptionalActions::Now, &modes)?;
        Ok(begun)
    }
}

impl Drop for TypingModes {
    fn drop(&mut self) {
        // A half-typed secret must not be left for whoever reads the terminal next.
        let _ = tcflush(&self.tty, QueueSelector::IFlush);
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
    }
}
