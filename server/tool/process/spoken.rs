//! Programs that Aside talks to while they run, such as servers.

use std::{io, os::fd::OwnedFd, path::Path, time::Duration};

use tokio::{
    net::UnixStream as Lifeline,
    process::{Child, ChildStdin, ChildStdout},
    time::timeout,
};

use super::{Errors, Job, OutputPipes, PATIENCE, RunningCommand, Wires, start, supervisor};

/// Time for the program to exit by itself once its standard input is closed.
const FAREWELL: Duration = Duration::from_millis(500);

/// A program that Aside talks to. All of its processes end with Aside, or when this is dropped.
#[derive(Debug)]
pub struct Spoken {
    child: Child,
    id: i32,
    lifeline: Lifeline,
    mark: String,
}

/// Standard streams of the program.
#[derive(Debug)]
pub struct SpokenPipes {
    /// Standard input.
    pub input: ChildStdin,
    /// Standard output.
    pub output: ChildStdout,
    /// Standard error.
    pub errors: ChildStdout,
}

impl Spoken {
    /// Starts the program, without a limit of time.
    ///
    /// # Errors
    /// Fails if the supervisor cannot be started.
    pub fn start(job: &Job, holder: &Path) -> io::Result<(Self, SpokenPipes)> {
        let (read, write) = io::pipe()?;
        let mark = format!("ASIDE_CHILD={:016x}", fastrand::u64(..));
        let wires = Wires {
            input: Some(read.into()),
            errors: Errors::Apart,
        };
        let RunningCommand {
            child,
            id,
            pipes: OutputPipes { output, errors },
            lifeline,
        } = start(job, holder, &mark, wires)?;
        let input = std::process::ChildStdin::from(OwnedFd::from(write));
        let pipes = SpokenPipes {
            input: ChildStdin::from_std(input)?,
            output,
            errors: errors.ok_or(io::ErrorKind::BrokenPipe)?,
        };
        let spoken = Self {
            child,
            id,
            lifeline,
            mark,
        };
        Ok((spoken, pipes))
    }

    /// Ends the program after closing its input: it may exit by itself, and is killed after a while.
    pub async fn end(mut self) {
        if timeout(FAREWELL, self.child.wait()).await.is_ok() {
            return;
        }
        // The supervisor reads this as the end.
        let _ = rustix::net::shutdown(&self.lifeline, rustix::net::Shutdown::Write);
        if timeout(PATIENCE, self.child.wait()).await.is_err() {
            let _ = self.child.kill().await;
            let (id, mark) = (self.id, self.mark);
            let _ = tokio::task::spawn_blocking(move || supervisor::sweep(id, &mark)).await;
        }
    }
}
