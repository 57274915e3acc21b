//! The server as a child. Writing to it never blocks the driver, and every wait for it has a deadline.

use std::{
    fs::File,
    io::{BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};
use serde_json::Value;

use crate::{Failure, Step, framing};

/// Messages that the reader holds before the driver takes them.
const HELD: usize = 1024;
/// Bytes of its standard error that are told.
const COMPLAINT: usize = 300;

/// A server, running. It is killed when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    input: Option<Sender<Vec<u8>>>,
    output: Receiver<Read>,
    exited: Receiver<()>,
    stderr: PathBuf,
}

/// What came from the server.
#[derive(Debug)]
pub enum Read {
    /// The server sent a message.
    Message(Value),
    /// Something that is no message; nothing follows.
    Broken(String),
}

impl Process {
    /// Starts a server; what it writes to its standard error goes into the file `stderr`.
    ///
    /// # Errors
    /// Where it cannot be started.
    pub fn start(mut command: Command, stderr: &Path) -> Step<Self> {
        let program = command.get_program().to_string_lossy().into_owned();
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(stderr)?)
            .spawn()
            .map_err(|error| {
                Failure(format!("the server `{program}` cannot be started: {error}"))
            })?;
        let (Some(mut stdin), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err("the server has no pipes".into());
        };
        let (input, lines) = channel::<Vec<u8>>();
        thread::spawn(move || {
            // A server that is gone reads nothing more; what follows from that is judged by what it wrote.
            while let Ok(bytes) = lines.recv()
                && stdin.write_all(&bytes).is_ok()
            {}
        });
        let (messages, output) = sync_channel(HELD);
        thread::spawn(move || read_all(BufReader::new(stdout), &messages));
        let (gone, exited) = channel();
        let pid = Pid::from_child(&child);
        thread::spawn(move || {
            // It stays a zombie until the driver reaps it, so its id cannot become another's.
            let _ = waitid(
                WaitId::Pid(pid),
                WaitIdOptions::EXITED | WaitIdOptions::NOWAIT,
            );
            let _ = gone.send(());
        });
        Ok(Self {
            child,
            input: Some(input),
            output,
            exited,
            stderr: stderr.to_owned(),
        })
    }

    /// Queues bytes for it.
    pub fn write(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            // Sending fails where the writer ended because the server is gone.
            let _ = input.send(bytes);
        }
    }

    /// Ends its standard input, once all that is queued was written.
    pub fn close(&mut self) {
        self.input = None;
    }

    /// What it writes next; none at the end of its output.
    ///
    /// # Errors
    /// Where nothing came until `deadline`.
    pub fn read(&self, deadline: Instant) -> Result<Option<Read>, RecvTimeoutError> {
        match self.output.recv_timeout(left(deadline)) {
            Ok(read) => Ok(Some(read)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
            Err(RecvTimeoutError::Timeout) => Err(RecvTimeoutError::Timeout),
        }
    }

    /// The end of what it wrote to its standard error, in one line.
    pub fn complaint(&self) -> String {
        let bytes = std::fs::read(&self.stderr).unwrap_or_default();
        let last = bytes.len().saturating_sub(COMPLAINT);
        String::from_utf8_lossy(&bytes[last..])
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Waits for its end.
    ///
    /// # Errors
    /// Where it still ran at `deadline`.
    pub fn exited(&mut self, deadline: Instant) -> Step {
        self.exited
            .recv_timeout(left(deadline))
            .map_err(|_| Failure::from("the server did not exit"))?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Either fails where it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn left(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

fn read_all(mut stdout: impl std::io::BufRead, messages: &SyncSender<Read>) {
    loop {
        let read = match framing::read(&mut stdout) {
            Ok(Some(message)) => Read::Message(message),
            Ok(None) => return,
            Err(error) => {
                let _ = messages.send(Read::Broken(error.to_string()));
                return;
            }
        };
        if messages.send(read).is_err() {
            return;
        }
    }
}
