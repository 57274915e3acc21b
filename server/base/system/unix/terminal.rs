//! The modes of a terminal, its size, and what is typed.

use std::{
    fs::File,
    io::{self, PipeReader, PipeWriter, Read, Write},
    os::fd::{AsFd, BorrowedFd},
    process::Stdio,
    time::Duration,
};

use rustix::{
    event::Timespec,
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

/// The terminal of this process: what is typed, and what is shown.
#[derive(Debug)]
pub struct Tty(File);

/// Opens the terminal of this process.
///
/// # Errors
/// If it has none.
pub fn open() -> io::Result<Tty> {
    let mut options = File::options();
    options.read(true).write(true).open("/dev/tty").map(Tty)
}

impl From<File> for Tty {
    fn from(file: File) -> Self {
        Self(file)
    }
}

impl Tty {
    /// Another descriptor of the same terminal.
    ///
    /// # Errors
    /// If the system has no descriptor left.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// The terminal as the output of a child.
    ///
    /// # Errors
    /// As of [`Tty::try_clone`].
    pub fn as_output(&self) -> io::Result<Stdio> {
        Ok(self.0.try_clone()?.into())
    }

    /// The columns and rows; none of both where it is no terminal.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        size(&self.0)
    }
}

impl Read for Tty {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.0.read(bytes)
    }
}

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Changes the modes of the terminal until dropped.
#[derive(Debug)]
pub struct TypingModes {
    tty: Tty,
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
    pub fn of(tty: &Tty) -> io::Result<Self> {
        Ok(Self(tcgetattr(&tty.0)?))
    }

    /// Sets them again, unless the terminal is another's now.
    pub fn restore(&self, tty: &Tty) {
        if !is_in_background(tty) {
            let _ = tcsetattr(&tty.0, OptionalActions::Now, &self.0);
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
    pub fn unseen(tty: &Tty) -> io::Result<Self> {
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
    pub fn edited(tty: &Tty) -> io::Result<Self> {
        let begun = Self::begin(tty, TypingKind::Edited, |modes| {
            let off = LocalModes::ECHO | LocalModes::ICANON | LocalModes::IEXTEN;
            modes.local_modes.remove(off);
            modes.special_codes[SpecialCodeIndex::VMIN] = 1;
            modes.special_codes[SpecialCodeIndex::VTIME] = 0;
        })?;
        (&begun.tty.0).write_all(PASTES_ON.as_bytes())?;
        Ok(begun)
    }

    /// Hides input while nothing is asked, and leaves it for the next reader of the terminal. `None` if another process
    /// group is in the foreground, which must not be disturbed.
    ///
    /// # Errors
    /// Like [`TypingModes::unseen`].
    pub fn idle(tty: &Tty) -> io::Result<Option<Self>> {
        if is_in_background(tty) {
            return Ok(None);
        }
        let echo = LocalModes::ECHO | LocalModes::ECHONL;
        Self::begin(tty, TypingKind::Idle, |modes| {
            modes.local_modes.remove(echo);
        })
        .map(Some)
    }

    fn begin(tty: &Tty, kind: TypingKind, change: impl FnOnce(&mut Termios)) -> io::Result<Self> {
        let before = tcgetattr(&tty.0)?;
        let mut modes = before.clone();
        change(&mut modes);
        let begun = Self {
            tty: tty.try_clone()?,
            before,
            kind,
        };
        tcsetattr(&tty.0, OptionalActions::Now, &modes)?;
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
            let _ = self.tty.0.write_all(PASTES_OFF.as_bytes());
        }
        if self.kind != TypingKind::Idle {
            // A half-typed secret must not reach the next reader of the terminal.
            let _ = tcflush(&self.tty.0, QueueSelector::IFlush);
        }
        let _ = tcsetattr(&self.tty.0, OptionalActions::Now, &self.before);
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
pub fn drop_typed(tty: &Tty) -> io::Result<()> {
    Ok(tcflush(&tty.0, QueueSelector::IFlush)?)
}

/// Whether something was typed and not read.
#[must_use]
pub fn has_typed(tty: &Tty) -> bool {
    ioctl_fionread(&tty.0).is_ok_and(|count| count > 0)
}

/// Whether nobody is at the other end. Reading then returns the same as Ctrl-D: nothing.
///
/// # Errors
/// If the system cannot tell.
#[cfg(not(target_vendor = "apple"))]
pub fn is_hung_up(tty: &Tty) -> io::Result<bool> {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut watched = [PollFd::new(&tty.0, PollFlags::empty())];
    poll(&mut watched, Some(&Timespec::default()))?;
    let gone = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    Ok(watched[0].revents().intersects(gone))
}

/// Whether nobody is at the other end. The terminal is taken away from its processes then, and has no modes any more.
///
/// # Errors
/// None here.
#[cfg(target_vendor = "apple")]
pub fn is_hung_up(tty: &Tty) -> io::Result<bool> {
    Ok(tcgetattr(&tty.0).is_err())
}

/// The reason why a wait for a terminal ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitEnd {
    /// Somebody woke this side.
    Woken,
    /// Something was typed.
    Typed,
    /// The time is up.
    TimeUp,
}

/// Both sides of a call to wake up: the one that is woken, and the one that wakes.
///
/// # Errors
/// If the system has no descriptor left.
pub fn waking() -> io::Result<(Woken, Waker)> {
    let (woken, wakes) = io::pipe()?;
    Ok((Woken(woken), Waker(wakes)))
}

/// The side that is woken.
#[derive(Debug)]
pub struct Woken(PipeReader);

/// The side that wakes.
#[derive(Debug)]
pub struct Waker(PipeWriter);

impl Woken {
    /// Waits to be woken again. More calls than are taken here only wake it once more.
    ///
    /// # Errors
    /// If the system does not let it.
    pub fn again(&self) -> io::Result<()> {
        (&self.0).read(&mut [0; 64]).map(drop)
    }
}

impl Waker {
    /// Wakes the other side, until it waits again.
    pub fn wake(&self) {
        let _ = (&self.0).write_all(&[0]);
    }
}

/// Waits to be woken, for typing where a terminal is given, and for so long at most.
///
/// # Errors
/// If the system cannot wait.
pub fn wait(woken: &Woken, tty: Option<&Tty>, most: Option<Duration>) -> io::Result<WaitEnd> {
    let most = most.and_then(|most| Timespec::try_from(most).ok());
    let mut watched = vec![woken.0.as_fd()];
    watched.extend(tty.map(|tty| tty.0.as_fd()));
    loop {
        return match first_readable(&watched, most.as_ref()) {
            Ok(None) => Ok(WaitEnd::TimeUp),
            Ok(Some(0)) => Ok(WaitEnd::Woken),
            Ok(Some(_)) => Ok(WaitEnd::Typed),
            Err(Errno::INTR) => continue,
            Err(error) => Err(error.into()),
        };
    }
}

/// The place of the first of these that can be read, or has an end, as soon as one can; none where the time is up.
#[cfg(not(target_vendor = "apple"))]
fn first_readable(
    watched: &[BorrowedFd<'_>],
    most: Option<&Timespec>,
) -> rustix::io::Result<Option<usize>> {
    use rustix::event::{PollFd, PollFlags, poll};
    let mut polled: Vec<_> = (watched.iter())
        .map(|fd| PollFd::new(fd, PollFlags::IN))
        .collect();
    poll(&mut polled, most)?;
    Ok(polled.iter().position(|fd| !fd.revents().is_empty()))
}

/// The place of the first of these that can be read, or has an end, as soon as one can; none where the time is up. It is
/// `select` that waits: `poll` does not know terminals here, as its manual page says.
#[cfg(target_vendor = "apple")]
#[expect(unsafe_code, reason = "a set names descriptors by their numbers")]
fn first_readable(
    watched: &[BorrowedFd<'_>],
    most: Option<&Timespec>,
) -> rustix::io::Result<Option<usize>> {
    use std::os::fd::AsRawFd;

    use rustix::event::{FdSetElement, FdSetIter, fd_set_insert, fd_set_num_elements, select};
    let numbers: Vec<_> = watched.iter().map(AsRawFd::as_raw_fd).collect();
    let bound = numbers.iter().max().map_or(0, |number| number + 1);
    let mut set = vec![FdSetElement::default(); fd_set_num_elements(numbers.len(), bound)];
    for number in &numbers {
        fd_set_insert(&mut set, *number);
    }
    // SAFETY: each number is of a descriptor that is borrowed until the call returns.
    unsafe { select(bound, Some(&mut set), None, None, most) }?;
    let is_ready = |number: &i32| FdSetIter::new(&set).any(|ready| ready == *number);
    Ok(numbers.iter().position(is_ready))
}

/// Whether this process is in the background of its terminal, which then is another's: reading from it or changing its
/// modes would disturb that one.
#[must_use]
pub fn is_in_background(tty: &Tty) -> bool {
    tcgetpgrp(&tty.0).is_ok_and(|foreground| foreground != getpgrp())
}
