//! Processes that end together, the end of another process, and the memory of this one.

use std::{
    io,
    os::windows::io::{AsHandle, BorrowedHandle, OwnedHandle},
    thread,
    time::Duration,
};

use tokio::process::{Child, Command};
use windows_sys::Win32::{
    Foundation::ERROR_INVALID_PARAMETER,
    System::Threading::{CREATE_DEFAULT_ERROR_MODE, CREATE_NO_WINDOW},
};

use super::calls;

/// Starts a process that does not run before it is resumed.
const WITHOUT_RUNNING: u32 = 0x4;
/// The time between two looks at a process that cannot be waited for.
const LOOK: Duration = Duration::from_secs(5);

/// Whether the system ends what a command started when this process is killed: a [`ProcessTree`] does.
pub const ENDS_LEFTOVERS: bool = true;

/// Waits until the process of this id is gone; returns at once where there is none.
pub fn wait_for_end(id: u32) {
    loop {
        match calls::open_process(id) {
            Ok(process) => return calls::wait_for_process(&process),
            Err(error) if is_nothing(&error) => return,
            // It is there, and is another user's.
            Err(_) => thread::sleep(LOOK),
        }
    }
}

fn is_nothing(error: &io::Error) -> bool {
    error.raw_os_error() == Some(ERROR_INVALID_PARAMETER.cast_signed())
}

/// Hides the memory of this process from others, as far as the system can: no report is written when it crashes.
pub fn hide_memory() {
    calls::crash_quietly();
}

/// The wish that a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// That it goes on, after a terminal stopped it, which none does here.
    GoOn,
    /// That it ends, which it does at once here.
    End,
}

/// Tells a child a wish.
///
/// # Errors
/// If the child is gone.
pub fn tell(child: &std::process::Child, wish: Wish) -> io::Result<()> {
    match wish {
        Wish::GoOn => Ok(()),
        Wish::End => calls::end_process(child.as_handle()),
    }
}

/// A program and all that it starts. They end together: with this, with the process that has it, or before.
#[derive(Debug)]
pub struct ProcessTree(OwnedHandle);

impl ProcessTree {
    /// Starts a program, without a window and with nothing of it outside of the tree.
    ///
    /// # Errors
    /// If it cannot be started, or not be held.
    pub fn start(command: &mut Command) -> io::Result<(Self, Child)> {
        let tree = Self(calls::job()?);
        // It begins once it is in the tree, so that all it starts is there too.
        let flags = WITHOUT_RUNNING | CREATE_NO_WINDOW | CREATE_DEFAULT_ERROR_MODE;
        let mut child = command.creation_flags(flags).spawn()?;
        let begun = tree.begin(&child);
        if begun.is_err() {
            let _ = child.start_kill();
        }
        begun.map(|()| (tree, child))
    }

    #[expect(
        unsafe_code,
        reason = "a child gives its handle away as a number alone"
    )]
    fn begin(&self, child: &Child) -> io::Result<()> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        let handle = child.raw_handle().ok_or_else(gone)?;
        // SAFETY: the child is not waited for yet, so that its handle is open.
        let handle = unsafe { BorrowedHandle::borrow_raw(handle) };
        calls::put_into_job(&self.0, handle)?;
        calls::resume(child.id().ok_or_else(gone)?)
    }

    /// Whether none of its processes runs.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        calls::processes_in(&self.0).is_ok_and(|count| count == 0)
    }

    /// Ends all of its processes.
    pub fn end(&self) {
        calls::end_job(&self.0);
    }
}
