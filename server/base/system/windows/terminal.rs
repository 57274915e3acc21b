//! The console that the process belongs to: its modes, its size, and what is typed.

use std::{
    fs::File,
    io::{self, Read, Write},
    os::windows::io::{AsHandle, OwnedHandle},
    process::Stdio,
    sync::Arc,
    time::{Duration, Instant},
};

use windows_sys::Win32::System::Console::{
    ENABLE_ECHO_INPUT, ENABLE_LINE_INPUT, ENABLE_PROCESSED_INPUT, ENABLE_PROCESSED_OUTPUT,
    ENABLE_VIRTUAL_TERMINAL_INPUT, ENABLE_VIRTUAL_TERMINAL_PROCESSING,
};

use super::calls;

/// Turns bracketed paste on.
const PASTES_ON: &str = "\x1b[?2004h";
/// Turns bracketed paste off.
const PASTES_OFF: &str = "\x1b[?2004l";
/// What a console sends for Ctrl-Z, by which a line begins that ends the input.
const END: u16 = 26;

/// The console of this process: what is typed, and what is shown.
#[derive(Debug)]
pub struct Tty {
    input: File,
    output: File,
    /// The first half of a character that came alone, or 0.
    half: Arc<std::sync::atomic::AtomicU16>,
}

/// Opens the console of this process.
///
/// # Errors
/// If it has none.
pub fn open() -> io::Result<Tty> {
    let open = |name| File::options().read(true).write(true).open(name);
    let tty = Tty {
        input: open("CONIN$")?,
        output: open("CONOUT$")?,
        half: Arc::default(),
    };
    let mode = calls::console_mode(&tty.output)?;
    let wanted = mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING;
    // One that does not know colours shows text all the same.
    let _ = calls::set_console_mode(&tty.output, wanted);
    Ok(tty)
}

impl Tty {
    /// Another handle of the same console.
    ///
    /// # Errors
    /// If the system has no handle left.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self {
            input: self.input.try_clone()?,
            output: self.output.try_clone()?,
            half: self.half.clone(),
        })
    }

    /// The console as the output of a child.
    ///
    /// # Errors
    /// As of [`Tty::try_clone`].
    pub fn as_output(&self) -> io::Result<Stdio> {
        Ok(self.output.try_clone()?.into())
    }
}

impl Read for Tty {
    /// Reads what was typed as UTF-8. A line that begins with Ctrl-Z is the end.
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        use std::sync::atomic::Ordering::Relaxed;
        // A unit of UTF-16 has at most three bytes of UTF-8.
        let mut units = vec![0; (bytes.len() / 3).max(1)];
        let begun = self.half.swap(0, Relaxed);
        let from = usize::from(begun != 0);
        if let Some(first) = units.first_mut().filter(|_| from == 1) {
            *first = begun;
        }
        if units.len() == from {
            units.push(0);
        }
        let count = from + calls::read_console(&self.input, &mut units[from..])?;
        let mut read = &units[..count];
        if let [rest @ .., last @ 0xd800..=0xdbff] = read {
            self.half.store(*last, Relaxed);
            read = rest;
        }
        let is_end = is_line_mode(&self.input) && read.first() == Some(&END);
        let text = match is_end {
            true => String::new(),
            false => String::from_utf16_lossy(read).replace("\r\n", "\n"),
        };
        let text = text.as_bytes();
        let room = bytes.get_mut(..text.len());
        room.ok_or(io::ErrorKind::InvalidInput)?
            .copy_from_slice(text);
        Ok(text.len())
    }
}

impl Write for Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        (&*self).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Write for &Tty {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        calls::write_console(&self.output, bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn is_line_mode(input: &File) -> bool {
    calls::console_mode(input).is_ok_and(|mode| mode & ENABLE_LINE_INPUT != 0)
}

/// Changes the modes of the console until dropped.
#[derive(Debug)]
pub struct TypingModes {
    tty: Tty,
    before: u32,
    kind: TypingKind,
}

/// Whether the terminal may stop this thread where the process is in the background, which there is none of here.
pub fn may_stop(_allowed: bool) {}

/// The modes of a console, for another program to change.
#[derive(Debug)]
pub struct KeptModes(u32);

impl KeptModes {
    /// The present modes.
    ///
    /// # Errors
    /// If it is no console any more.
    pub fn of(tty: &Tty) -> io::Result<Self> {
        calls::console_mode(&tty.input).map(Self)
    }

    /// Sets them again.
    pub fn restore(&self, tty: &Tty) {
        let _ = calls::set_console_mode(&tty.input, self.0);
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
    /// Fails if the console was closed.
    pub fn unseen(tty: &Tty) -> io::Result<Self> {
        Self::begin(tty, TypingKind::Unseen, |mode| mode & !ENABLE_ECHO_INPUT)
    }

    /// Delivers each key at once, without echo, with bracketed paste. Ctrl-C stays a signal. Unread input is dropped at
    /// the end.
    ///
    /// # Errors
    /// Like [`TypingModes::unseen`]; and if the console is one from before Windows 10, which tells keys in no way that is
    /// known here.
    pub fn edited(tty: &Tty) -> io::Result<Self> {
        let begun = Self::begin(tty, TypingKind::Edited, |mode| {
            mode & !(ENABLE_ECHO_INPUT | ENABLE_LINE_INPUT)
                | ENABLE_PROCESSED_INPUT
                | ENABLE_VIRTUAL_TERMINAL_INPUT
        })?;
        (&begun.tty).write_all(PASTES_ON.as_bytes())?;
        Ok(begun)
    }

    /// Hides input while nothing is asked, and leaves it for the next reader of the console.
    ///
    /// # Errors
    /// Like [`TypingModes::unseen`].
    pub fn idle(tty: &Tty) -> io::Result<Option<Self>> {
        Self::begin(tty, TypingKind::Idle, |mode| mode & !ENABLE_ECHO_INPUT).map(Some)
    }

    fn begin(tty: &Tty, kind: TypingKind, change: impl FnOnce(u32) -> u32) -> io::Result<Self> {
        let before = calls::console_mode(&tty.input)?;
        let begun = Self {
            tty: tty.try_clone()?,
            before,
            kind,
        };
        calls::set_console_mode(&tty.input, change(before))?;
        Ok(begun)
    }
}

impl Drop for TypingModes {
    fn drop(&mut self) {
        if self.kind == TypingKind::Edited {
            let _ = (&self.tty).write_all(PASTES_OFF.as_bytes());
        }
        if self.kind != TypingKind::Idle {
            // A half-typed secret must not reach the next reader of the console.
            let _ = calls::drop_console_input(&self.tty.input);
        }
        let _ = calls::set_console_mode(&self.tty.input, self.before);
    }
}

/// The columns and rows of a console; none of both where it is no console.
#[must_use]
pub fn size(of: impl AsHandle) -> (usize, usize) {
    calls::console_size(&of).unwrap_or((0, 0))
}

impl Tty {
    /// The columns and rows; none of both where the console was closed.
    #[must_use]
    pub fn size(&self) -> (usize, usize) {
        size(&self.output)
    }
}

/// Drops all that was typed and not read.
///
/// # Errors
/// If the console is gone.
pub fn drop_typed(tty: &Tty) -> io::Result<()> {
    calls::drop_console_input(&tty.input)
}

/// Whether something was typed and not read.
#[must_use]
pub fn has_typed(tty: &Tty) -> bool {
    calls::has_key(&tty.input).unwrap_or(false)
}

/// Whether the console is gone.
///
/// # Errors
/// None here.
pub fn is_hung_up(tty: &Tty) -> io::Result<bool> {
    Ok(calls::console_mode(&tty.input).is_err())
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
/// If the system has no handle left.
pub fn waking() -> io::Result<(Woken, Waker)> {
    let event = Arc::new(calls::event()?);
    Ok((Woken(event.clone()), Waker(event)))
}

/// The side that is woken.
#[derive(Debug)]
pub struct Woken(Arc<OwnedHandle>);

/// The side that wakes.
#[derive(Debug)]
pub struct Waker(Arc<OwnedHandle>);

impl Woken {
    /// Waits to be woken again.
    ///
    /// # Errors
    /// None here.
    pub fn again(&self) -> io::Result<()> {
        calls::reset_event(&self.0);
        Ok(())
    }
}

impl Waker {
    /// Wakes the other side, until it waits again.
    pub fn wake(&self) {
        calls::set_event(&self.0);
    }
}

impl Drop for Waker {
    fn drop(&mut self) {
        self.wake();
    }
}

/// Waits to be woken, for typing where a terminal is given, and for so long at most.
///
/// # Errors
/// If the system cannot wait.
pub fn wait(woken: &Woken, tty: Option<&Tty>, most: Option<Duration>) -> io::Result<WaitEnd> {
    let until = most.map(|most| Instant::now() + most);
    let mut handles = vec![woken.0.as_handle()];
    handles.extend(tty.map(|tty| tty.input.as_handle()));
    loop {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let time = left.map(|left| u32::try_from(left.as_millis()).unwrap_or(u32::MAX - 1));
        match (calls::wait_for_any(&handles, time)?, tty) {
            (None, _) => return Ok(WaitEnd::TimeUp),
            (Some(0), _) => return Ok(WaitEnd::Woken),
            (Some(_), Some(tty)) if calls::has_key(&tty.input)? => return Ok(WaitEnd::Typed),
            // A key that was let go, the mouse or another size of the window: nothing to read.
            (Some(_), tty) => {
                if let Some(tty) = tty {
                    calls::drop_other_events(&tty.input)?;
                }
            }
        }
    }
}

/// Whether this process is in the background of its terminal, which there is none of here.
#[must_use]
pub fn is_in_background(_tty: &Tty) -> bool {
    false
}
