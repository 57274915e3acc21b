//! The end of another process; the memory of this one.

use std::{thread, time::Duration};

use rustix::{
    io::Errno,
    process::{Pid, test_kill_process},
};

/// The time between two looks at a process, where the system has nothing to wait on.
const LOOK: Duration = Duration::from_secs(5);

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

#[cfg(not(target_os = "linux"))]
fn wait(id: Pid) {
    look(id);
}

fn look(id: Pid) {
    while test_kill_process(id) != Err(Errno::SRCH) {
        thread::sleep(LOOK);
    }
}

/// Hides the memory of this process from other processes of the user, where the system can.
pub fn hide_memory() {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{DumpableBehavior, set_dumpable_behavior};
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
    }
}
