//! Programs that Aside talks to while they run, such as servers.

use std::{io, path::Path, time::Duration};

use aside_base::system::streams::as_input;
use tokio::{
    process::{ChildStdin, ChildStdout},
    time::timeout,
};

use super::{
    HeldCommand, PATIENCE,
    job::{Errors, Job, OutputPipes, Wires},
};

/// Time for the program to exit by itself once its standard input is closed.
const FAREWELL: Duration = Duration::from_millis(500);

/// A program that Aside talks to. All of its processes end with Aside, or when this is dropped.
#[derive(Debug)]
pub struct Spoken(HeldCommand);

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
    /// Fails if the program, or what holds it, cannot be started.
    pub fn start(job: &Job, holder: &Path) -> io::Result<(Self, SpokenPipes)> {
        let (read, write) = io::pipe()?;
        let wires = Wires {
            input: Some(read.into()),
            errors: Errors::Apart,
        };
        let (held, OutputPipes { output, errors }) = HeldCommand::start(job, holder, wires)?;
        let pipes = SpokenPipes {
            input: ChildStdin::from_std(as_input(write))?,
            output,
            errors: errors.ok_or(io::ErrorKind::BrokenPipe)?,
        };
        Ok((Self(held), pipes))
    }

    /// Ends the program after closing its input: it may exit by itself, and is killed after a while.
    pub async fn end(self) {
        let Self(mut held) = self;
        if timeout(FAREWELL, held.ended()).await.is_ok() {
            return;
        }
        held.let_go();
        if timeout(PATIENCE, held.ended()).await.is_err() {
            held.kill().await;
            held.how().await;
        }
    }
}
