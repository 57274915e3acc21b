//! The end of another process; the memory of this one.

use std::{io, process::Child, thread, time::Duration};

use rustix::{
    io::Errno,
    process::{Pid, Signal, kill_process, test_kill_process},
};

/// The time between two looks at a process, where the system has nothing to wait on.
const LOOK: Duration = Duration::from_secs(5);

/// Whether the system ends what a command started when this process is killed.
pub const ENDS_LEFTOVERS: bool = false;

/// Waits until the process of this id is gone; returns at once where there is none.
pub fn wait_for_end(id: u32) {
    if let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) {
        wait(id);
    }
}

#[cfg(target_os = "linux")]
fn wait(id: Pid) {
    use rustix::{
        event::{PollFd, PollFlags, poll},
        process::{PidfdFlags, pidfd_open},
    };
    match pidfd_open(id, PidfdFlags::empty()) {
        Ok(process) => {
            let mut fds = [PollFd::new(&process, PollFlags::IN)];
            while let Err(Errno::INTR) = poll(&mut fds, None) {}
        }
        Err(Errno::SRCH) => {}
        // An old kernel.
        Err(_) => look(id),
    }
}

#[cfg(target_vendor = "apple")]
#[expect(unsafe_code, reason = "events may refer to memory, and these do not")]
fn wait(id: Pid) {
    use std::ptr::null_mut;

    use rustix::{
        buffer::spare_capacity,
        event::kqueue::{Event, EventFilter, EventFlags, ProcessEvents, kevent, kqueue},
    };
    let Ok(queue) = kqueue() else {
        return look(id);
    };
    let exits = EventFilter::Proc {
        pid: id,
        flags: ProcessEvents::EXIT,
    };
    let wanted = [Event::new(
        exits,
        EventFlags::ADD | EventFlags::ONESHOT,
        null_mut(),
    )];
    let mut events = Vec::with_capacity(1);
    loop {
        // SAFETY: the event refers to a process alone.
        let waited = unsafe { kevent(&queue, &wanted, spare_capacity(&mut events), None) };
        match waited {
            Err(Errno::INTR) => {}
            Err(Errno::SRCH) => return,
            Err(_) => return look(id),
            Ok(_) => match events.first() {
                Some(event) if !event.flags().contains(EventFlags::ERROR) => return,
                // An error of the wait comes as an event: the process is gone, or another user's.
                _ => return look(id),
            },
        }
    }
}

#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
fn wait(id: Pid) {
    look(id);
}

fn look(id: Pid) {
    while test_kill_process(id) != Err(Errno::SRCH) {
        thread::sleep(LOOK);
    }
}

/// The wish that a process ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// That it goes on, after a terminal stopped it.
    GoOn,
    /// That it ends, as it likes.
    End,
}

/// Tells a child a wish.
///
/// # Errors
/// If the child is gone.
pub fn tell(child: &Child, wish: Wish) -> io::Result<()> {
    let signal = match wish {
        Wish::GoOn => Signal::CONT,
        Wish::End => Signal::TERM,
    };
    Ok(kill_process(Pid::from_child(child), signal)?)
}

/// Hides the memory of this process from other processes of the user, where the system can.
pub fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
