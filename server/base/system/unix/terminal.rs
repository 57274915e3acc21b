//! The modes of a terminal, its size, and what is typed.

use std::{
    fs::File,
    io::{self, PipeReader, Write},
    os::fd::AsFd,
    time::Duration,
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::{Errno, ioctl_fionread},
    process::getpgrp,
    termios::{
        LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr,
        tcgetpgrp, tcgetwinsize, tcsetattr,
    },
};

/// Turns bracketed paste on.
const PASTES_ON: &str = "\x1b[?2004h";
/// Turns bracketed paste off.
const PASTES_OFF: &str = "\x1b[?2004l";

/// Changes the modes of the terminal until dropped.
#[derive(Debug)]
pub struct TypingModes {
    tty: File,
    before: Termios,
    kind: TypingKind,
}

/// Whether the terminal may stop this thread, and those that it starts from now on, where the process is in the
/// background. Where it may not, reading fails there, and nothing else is held up; a stopped process would not end at
/// a signal either. Child processes inherit it.
#[expect(
    unsafe_code,
    reason = "no safe function here sets the mask of a thread"
)]
pub fn may_stop(allowed: bool) {
    let how = if allowed {
        libc::SIG_UNBLOCK
    } else {
        libc::SIG_BLOCK
    };
    let mut signals = std::mem::MaybeUninit::uninit();
    // SAFETY: the set is initialised before it is used, and is this function's own.
    unsafe {
        libc::sigemptyset(signals.as_mut_ptr());
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGTTIN);
        libc::sigaddset(signals.as_mut_ptr(), libc::SIGTTOU);
        libc::pthread_sigmask(how, signals.as_ptr(), std::ptr::null_mut());
    }
}

/// The modes of a terminal, for another program to change.
#[derive(Debug)]
pub struct KeptModes(Termios);

impl KeptModes {
    /// The present modes.
    ///
    /// # Errors
    /// If the file is no terminal.
    pub fn of(tty: &File) -> io::Result<Self> {
        Ok(Self(tcgetattr(tty)?))
    }

    /// Sets them again, unless the terminal is another's now.
    pub fn restore(&self, tty: &File) {
        if !is_in_background(tty) {
            let _ = tcsetattr(tty, OptionalActions::Now, &self.0);
        }
    }
}

/// Purpose of changed modes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TypingKind {
    Unseen,
    Edited,
    Idle,
}

impl TypingModes {
    /// Hides what is typed. Unread input is dropped at the end.
    ///
    /// # Errors
    /// Fails if the file is not a terminal or the terminal was closed.
    pub fn unseen(tty: &File) -> io::Result<Self> {
        Self::begin(tty, TypingKind::Unseen, |modes| {
            modes.local_modes.remove(LocalModes::ECHO);
            modes.local_modes.insert(LocalModes::ECHONL);
        })
    }

    /// Delivers each key at once, without echo, with bracketed paste. Ctrl-C stays a signal. Unread input is dropped at
    /// the end.
    ///
    /// # Errors
    /// Like [`TypingModes::unseen`].
    pub fn edited(tty: &File) -> io::Result<Self> {
        let begun = Self::begin(tty, TypingKind::Edited, |modes| {
            let off = LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN;
            modes.local_modes.remove(off);
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        })?;
        (&begun.tty).write_all(PASTES_ON.as_bytes())?;
        Ok(begun)
    }

    /// Hides input while nothing is asked, and leaves it for the next reader of the terminal. `None` if another process
    /// group is in the foreground, which must not be disturbed.
    ///
    /// # Errors
    /// Like [`TypingModes::unseen`].
    pub fn idle(tty: &File) -> io::Result<Option<Self>> {
        if is_in_background(tty) {
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
        // The process in the foreground has set its own modes.
        if is_in_background(&self.tty) {
            return;
        }
        if self.kind == TypingKind::Edited {
            let _ = self.tty.write_all(PASTES_OFF.as_bytes());
        }
        if self.kind != TypingKind::Idle {
            // A half-typed secret must not reach the next reader of the terminal.
            let _ = tcflush(&self.tty, QueueSelector::IFlush);
        }
        let _ = tcsetattr(&self.tty, OptionalActions::Now, &self.before);
    }
}

/// The columns and rows of a terminal; none of both where it is no terminal.
#[must_use]
pub fn size(of: impl AsFd) -> (usize, usize) {
    tcgetwinsize(of).map_or((0, 0), |size| (size.ws_col.into(), size.ws_row.into()))
}

/// Drops all that was typed and not read.
///
/// # Errors
/// If the terminal is gone.
pub fn drop_typed(tty: &File) -> io::Result<()> {
    Ok(tcflush(tty, QueueSelector::IFlush)?)
}

/// Whether something was typed and not read.
#[must_use]
pub fn has_typed(tty: &File) -> bool {
    ioctl_fionread(tty).is_ok_and(|count| count > 0)
}

/// Whether nobody is at the other end. Reading then returns the same as Ctrl-D: nothing.
///
/// # Errors
/// If the system cannot tell.
pub fn is_hung_up(tty: &File) -> io::Result<bool> {
    let mut watched = [PollFd::new(tty, PollFlags::empty())];
    poll(&mut watched, Some(&Timespec::default()))?;
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    Ok(watched[0].revents().intersects(gone))
}

/// The reason why a wait for a terminal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// The pipe has bytes.
    Woken,
    /// Something was typed.
    Typed,
    /// The time is up.
    TimeUp,
}

/// Waits for bytes in a pipe, for typing where a terminal is given, and for so long at most.
///
/// # Errors
/// If the system cannot wait.
pub fn wait(pipe: &PipeReader, tty: Option<&File>, most: Option<Duration>) -> io::Result<WaitEnd> {
    let most = most.and_then(|most| Timespec::try_from(most).ok());
    let mut watched = vec![PollFd::new(pipe, PollFlags::IN)];
    watched.extend(tty.map(|tty| PollFd::new(tty, PollFlags::IN)));
    loop {
        return match poll(&mut watched, most.as_ref()) {
            Ok(0) => Ok(WaitEnd::TimeUp),
            Err(Errno::INTR) => continue,
            Err(error) => Err(error.into()),
            Ok(_) if !watched[0].revents().is_empty() => Ok(WaitEnd::Woken),
            Ok(_) => Ok(WaitEnd::Typed),
        };
    }
}

/// Whether this process is in the background of its terminal, which then is another's: reading from it or changing its
/// modes would disturb that one.
#[must_use]
pub fn is_in_background(tty: &File) -> bool {
    tcgetpgrp(tty).is_ok_and(|foreground| foreground != getpgrp())
}
