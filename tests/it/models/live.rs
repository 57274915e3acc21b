//! A run of the program while it goes on: its lines as they come, and the moment at which it ended.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command},
    sync::mpsc::{Receiver, RecvTimeoutError, channel},
    thread::JoinHandle,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::world::{Patience, ProgramResult};

/// How long anything may take before a test gives up on it.
pub(super) const LONG: Duration = Duration::from_secs(60);

/// How long a line is waited for before it is looked whether there is still something to wait for.
const LOOK: Duration = Duration::from_millis(100);

/// A run of the program. It is ended when this is dropped.
pub(super) struct Live {
    child: Child,
    lines: Receiver<String>,
    stderr: Option<JoinHandle<String>>,
    stdout: String,
}

impl Live {
    /// Starts it; its output has to be piped.
    pub(super) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().unwrap();
        let (send, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        std::thread::spawn(move || {
            for line in stdout.lines() {
                // Nobody reads on after the test has failed.
                let _ = send.send(line.unwrap());
            }
        });
        let mut stderr = child.stderr.take().unwrap();
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            stderr.read_to_string(&mut text).unwrap();
            text
        });
        Self {
            child,
            lines,
            stderr: Some(stderr),
            stdout: String::new(),
        }
    }

    /// Waits for the next update of this kind.
    #[track_caller]
    pub(super) fn update(&mut self, kind: &str) -> Value {
        let mut patience = Patience::with(self.child.id());
        loop {
            let line = match self.lines.recv_timeout(LOOK) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) if !patience.is_over() => continue,
                Err(_) => panic!("no {kind} in time:\n{}", self.stdout),
            };
            self.stdout += &format!("{line}\n");
            let line: Value = serde_json::from_str(&line).unwrap_or_default();
            let update = &line["params"]["update"];
            if update["kind"] == kind {
                return update.clone();
            }
        }
    }

    /// Sends a signal to it.
    pub(super) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits for its end, but not for ever.
    #[track_caller]
    pub(super) fn end(mut self) -> ProgramResult {
        let mut patience = Patience::with(self.child.id());
        loop {
            match self.lines.recv_timeout(LOOK) {
                Ok(line) => self.stdout += &format!("{line}\n"),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    assert!(!patience.is_over(), "it did not end:\n{}", self.stdout);
                }
            }
        }
        let status = self.child.wait().unwrap();
        ProgramResult {
            code: status.code().unwrap_or(-1),
            stdout: std::mem::take(&mut self.stdout),
            stderr: self.stderr.take().unwrap().join().unwrap(),
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
