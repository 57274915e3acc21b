//! The server as a child: its standard error, and its end.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    process::{ChildStdin, ChildStdout, Command, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use shared_child::SharedChild;

/// Bytes of its standard error that are kept, at the most.
const COMPLAINT: u64 = 16 * 1024;

/// A server, running. It is killed when this is dropped.
#[derive(Debug)]
pub struct Server {
    child: SharedChild,
    stderr: File,
}

impl Server {
    /// Starts a server, and gives the pipes to it and from it. What it writes to its standard error goes into this file,
    /// which is open for reading and appending.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(
        mut command: Command,
        stderr: File,
    ) -> io::Result<(Self, ChildStdin, ChildStdout)> {
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr.try_clone()?);
        let child = SharedChild::spawn(&mut command)?;
        let (Some(stdin), Some(stdout)) = (child.take_stdin(), child.take_stdout()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        Ok((Self { child, stderr }, stdin, stdout))
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
    pub fn exited(&self, deadline: Instant) -> io::Result<ExitStatus> {
        let late = || io::Error::new(io::ErrorKind::TimedOut, "the server did not exit");
        self.child.wait_deadline(deadline)?.ok_or_else(late)
    }

    /// Ends it as a crash does, if it still runs.
    pub fn kill(&self) {
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

/// File for the standard error of servers: it is read while they write to its end.
///
/// # Errors
/// Where there is no room for it.
pub fn new_stderr() -> io::Result<File> {
    let named = tempfile::Builder::new().append(true).tempfile()?;
    Ok(named.into_file())
}

/// The end of what a server has written into the file of its standard error.
///
/// # Errors
/// Where the file cannot be read.
pub fn complaint(mut stderr: &File) -> io::Result<String> {
    let start = stderr.metadata()?.len().saturating_sub(COMPLAINT);
    let mut text = Vec::new();
    // The position is the server's too, which appends wherever that is.
    stderr.seek(SeekFrom::Start(start))?;
    stderr.take(COMPLAINT).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).trim_end().to_owned())
}

/// The time until then; none where it has passed.
pub(crate) fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}
