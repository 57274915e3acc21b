//! The server as a child: its standard error, and its end.

use std::{
    fs::File,
    io,
    os::unix::fs::FileExt,
    process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    sync::mpsc::{Receiver, channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

/// Bytes of its standard error that are kept, at the most.
const COMPLAINT: u64 = 16 * 1024;

/// A server, running. It is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    exited: Receiver<()>,
    stderr: File,
}

impl Server {
    /// Starts a server, and gives the pipes to it and from it. What it writes to its standard error goes into this file,
    /// which is open for reading too.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(
        mut command: Command,
        stderr: File,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone()?)
            .spawn()?;
        let (Some(stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        let (gone, exited) = channel();
        let pid = Pid::from_child(&child);
        thread::spawn(move || {
            // It stays a zombie until it is waited for below, so its id cannot become another's.
            let _ = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            );
            let _ = gone.send(());
        });
        let server = Self {
            child,
            exited,
            stderr,
        };
        Ok((server, stdin, stdout))
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// The end of what it has written to its standard error. A server that has nothing to complain of writes nothing.
    pub fn complaint(&self) -> String {
        complaint(&self.stderr)
            .unwrap_or_else(|error| format!("its standard error cannot be read: {error}"))
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Where it still ran at `deadline`.
    pub fn exited(&mut self, deadline: Instant) -> io::Result<ExitStatus> {
        if let Some(status) = self.child.try_wait()? {
            return Ok(status);
        }
        self.exited
            .recv_timeout(left(deadline))
            .map_err(|_| io::Error::new(io::ErrorKind::TimedOut, "the server did not exit"))?;
        self.child.wait()
    }

    /// Ends it as a crash does, if it still runs.
    pub fn kill(&mut self) {
        // Either fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// The end of what a server has written into the file of its standard error.
///
/// # Errors
/// Where the file cannot be read.
pub fn complaint(stderr: &File) -> io::Result<String> {
    let start = stderr.metadata()?.len().saturating_sub(COMPLAINT);
    let mut text = Vec::new();
    // Not by way of the file's position, which is the server's too.
    while (text.len() as u64) < COMPLAINT {
        let mut part = [0; 4096];
        let count = stderr.read_at(&mut part, start + text.len() as u64)?;
        if count == 0 {
            break;
        }
        text.extend_from_slice(&part[..count]);
    }
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// The time until then; none where it has passed.
pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
