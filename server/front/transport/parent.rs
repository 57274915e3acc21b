//! The client's process: when it ends without a word, so does the connection.

use std::{io, thread};

use rustix::process::Pid;

use super::end::{ConnectionEnd, Ends};

/// Ends the connection when the process of this id is gone; at once where it is not there. A thread waits for it, which
/// ends with this process.
///
/// # Errors
/// Where the system gives no thread.
pub fn watch(id: u32, ends: Ends) -> io::Result<()> {
    thread::Builder::new()
        .name("parent".into())
        .spawn(move || {
            let id = i32::try_from(id).ok().and_then(Pid::from_raw);
            if let Some(id) = id {
                wait(id);
            }
            ends.say(ConnectionEnd::ParentGone);
        })?;
    Ok(())
}

/// Waits until the process is gone.
#[cfg(target_os = "linux")]
fn wait(id: Pid) {
    use rustix::{
        event::{PollFd, PollFlags, poll},
        io::Errno,
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

/// Looks now and then, where the system has nothing to wait on.
fn look(id: Pid) {
    use rustix::{io::Errno, process::test_kill_process};
    while test_kill_process(id) != Err(Errno::SRCH) {
        thread::sleep(std::time::Duration::from_secs(5));
    }
}
