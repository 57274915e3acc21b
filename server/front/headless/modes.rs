//! The modes of a terminal while something is typed.

use std::{
    fs::File,
    io::{self, Write},
};

use rustix::{
    process::getpgrp,
    termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcgetpgrp, tcsetattr,
    },
};

/// From now on the terminal says what is pasted.
const SAYS_PASTES: &str = "\x1b[?2004h";
/// From now on it does not.
const AS_TYPED: &str = "\x1b[?2004l";

/// While it lives the terminal has modes of ours.
#[derive(Debug)]
pub struct TypingModes {
    tty: File,
    before: Termios,
    kind: TypingKind,
}

/// What the modes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypingKind {
    Unseen,
    Edited,
    Idle,
}

impl TypingModes {
    /// What is typed is not shown. What of it was not read is dropped at the end.
    ///
    /// # Errors
    /// Where it is no terminal, or it went away.
    pub fn unseen(tty: &File) -> io::Result<Self> {
        Self::begin(tty, TypingKind::Unseen, |modes| {
            modes.local_modes.remove(LocalModes::ECHO);
            modes.local_modes.insert(LocalModes::ECHONL);
        })
    }

    /// Each key is read at once, and whoever reads it shows what comes of it. The terminal says what is pasted. Ctrl-C
    /// stays a signal. What was not read is dropped at the end.
    ///
    /// # Errors
    /// As [`TypingModes::unseen`].
    pub fn edited(tty: &File) -> io::Result<Self> {
        let begun = Self::begin(tty, TypingKind::Edited, |modes| {
            let off = LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN;
            modes.local_modes.remove(off);
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        })?;
        (&begun.tty).write_all(SAYS_PASTES.as_bytes())?;
        Ok(begun)
    }

    /// Nothing is asked: what is typed is not shown, and stays for whoever reads the terminal next. None where the
    /// terminal is another's now, who is not to be disturbed.
    ///
    /// # Errors
    /// As [`TypingModes::unseen`].
    pub fn idle(tty: &File) -> io::Result<Option<Self>> {
        if is_another_s(tty) {
            return Ok(None);
        }
        let echo = LocalModes::ECHO | LocalModes::ECHONL;
        Self::begin(tty, TypingKind::Idle, |modes| {
            modes.local_modes.remove(echo);
        })
        .map(Some)
    }

    fn begin(tty: &File, kind: TypingKind, change: impl FnOnce(&mut Termios)) -> io::Result<Self> {
        let before = tcgetattr(tty)?;
        let mut modes = before.clone();
        change(&mut modes);
        let begun = Self {
            tty: tty.try_clone()?,
            before,
            kind,
        };
        tcsetattr(tty, OptionalActions::Now, &modes)?;
        Ok(begun)
    }
}

impl Drop for TypingModes {
    fn drop(&mut self) {
        if self.kind == TypingKind::Edited {
            let _ = self.tty.write_all(AS_TYPED.as_bytes());
        }
        // Whoever has the terminal has modes of their own, and we would be stopped.
        if is_another_s(&self.tty) {
            return;
        }
        if self.kind != TypingKind::Idle {
            // A half-typed secret must not be left for whoever reads the terminal next.
            let _ = tcflush(&self.tty, QueueSelector::IFlush);
        }
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
    }
}

/// The terminal is ours, and we are in the background on it.
fn is_another_s(tty: &File) -> bool {
    tcgetpgrp(tty).is_ok_and(|foreground| foreground != getpgrp())
}
