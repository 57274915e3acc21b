//! The only way to start a child process.
//!
//! All processes of a command end when the command ends, when it is stopped, and when Aside itself is gone: a supervisor
//! sees to that, or on Windows a job. The environment is an allow-list, and standard input is null. Both output streams are read
//! in the order of writing and kept within bounds, so that neither a flood nor a process that never closes its output
//! can block a call.

#[cfg_attr(windows, path = "process/in_tree.rs")]
mod held_command;
mod job;
mod kept;
pub mod quiet;
pub mod spoken;
mod surroundings;

use std::{io, sync::Arc, time::Duration};

use aside_base::{system::streams::OwnedStream, visible::printed};
use aside_turn::record::CallKey;
use tokio::{
    io::AsyncReadExt,
    process::ChildStdout as Output,
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use self::{
    held_command::HeldCommand,
    job::{Errors, HeldEvent, OutputPipes, Wires, file_of},
    kept::CHUNK,
};
pub use self::{
    job::{CommandEnd, Job},
    surroundings::FoundIn,
};

use super::ToolContext;

pub(super) use self::kept::BoundedOutput;

/// Maximum number of bytes of an output that are kept for `read_output`.
const KEPT: usize = 8 << 20;
/// Maximum number of bytes of standard error, if read separately.
const KEPT_ERRORS: usize = 64 << 10;
/// Maximum number of bytes of an output that clients are shown live.
const LIVE: u64 = 256 << 10;
/// Time for a stopped command to end with all that it started, before Aside ends that itself.
const PATIENCE: Duration = Duration::from_millis(1800);

/// End of a command, of which no process is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit status, or the reason why there is none.
    pub how: CommandEnd,
    /// The output for the model.
    pub output: String,
}

/// Runs a command to its end. Dropping the future ends the command too.
///
/// # Errors
/// Fails if the supervisor cannot be started.
pub async fn run(
    job: &Job,
    context: &Arc<ToolContext>,
    cancelled: &CancellationToken,
) -> io::Result<Ended> {
    let mut heard = Heard {
        output: Capture::new(context, job.call, KEPT),
        errors: None,
    };
    let how = attend(job, None, &mut heard, cancelled).await?;
    let finish = {
        let context = context.clone();
        let kept = heard.output.kept;
        move || kept.finish(&context)
    };
    // The command ran, even if its output cannot be kept.
    let output = tokio::task::spawn_blocking(finish).await;
    let output = output.unwrap_or_else(|_| "[Its output was lost inside Aside.]".to_owned());
    Ok(Ended { how, output })
}

/// Output of a program that was given an input.
pub(super) struct Answered {
    /// The exit status, or the reason why there is none.
    pub(super) how: CommandEnd,
    /// Standard output.
    pub(super) output: BoundedOutput,
    /// Standard error, which clients are shown live.
    pub(super) errors: BoundedOutput,
}

/// Runs a program to its end with an input on its standard input, which is a file that need not be read. Dropping the
/// future ends the program too.
///
/// # Errors
/// Fails if the supervisor cannot be started or the input cannot be stored.
pub(super) async fn answer(
    job: &Job,
    input: &[u8],
    context: &Arc<ToolContext>,
    cancelled: &CancellationToken,
) -> io::Result<Answered> {
    let mut heard = Heard {
        output: Capture {
            live: 0,
            ..Capture::new(context, job.call, KEPT)
        },
        errors: Some(Capture::new(context, job.call, KEPT_ERRORS)),
    };
    let how = attend(job, Some(file_of(input)?), &mut heard, cancelled).await?;
    let Heard { output, errors } = heard;
    Ok(Answered {
        how,
        output: output.kept,
        errors: errors.map_or_else(|| BoundedOutput::new(0, 0, 0), |errors| errors.kept),
    })
}

/// Readers of a command's output.
struct Heard<'a> {
    output: Capture<'a>,
    /// Standard error, if it is not part of the output.
    errors: Option<Capture<'a>>,
}

impl Heard<'_> {
    /// Reads a piece of either stream. Returns false at the end of both.
    async fn more(&mut self, pipes: &mut OutputPipes) -> bool {
        let errors = async {
            match (&mut self.errors, &mut pipes.errors) {
                (Some(errors), Some(pipe)) => errors.more(pipe).await,
                _ => false,
            }
        };
        tokio::select! {
            true = self.output.more(&mut pipes.output) => true,
            true = errors => true,
            else => false,
        }
    }
}

/// Runs a command to its end and reads its output.
async fn attend(
    job: &Job,
    input: Option<OwnedStream>,
    heard: &mut Heard<'_>,
    cancelled: &CancellationToken,
) -> io::Result<CommandEnd> {
    let errors = match heard.errors {
        Some(_) => Errors::Apart,
        None => Errors::Together,
    };
    let context = heard.output.context;
    let wires = Wires { input, errors };
    let (mut held, mut pipes) = HeldCommand::start(job, &context.supervisor, wires)?;
    let deadline = Instant::now() + job.time;
    let mut building = job.inside.clone();
    let why = loop {
        tokio::select! {
            event = held.next(building.is_some()) => match event? {
                HeldEvent::Ended => break None,
                HeldEvent::Heard => {
                    if let Some(inside) = building.take() {
                        inside.is_built();
                    }
                }
            },
            () = cancelled.cancelled() => break Some(CommandEnd::Cancelled),
            () = sleep_until(deadline) => break Some(CommandEnd::TimedOut),
            // Both streams have ended; only the end of the process ends this loop.
            true = heard.more(&mut pipes) => {}
        }
    };
    if why.is_some() {
        stop(&mut held, &mut pipes, heard).await;
    }
    let how = held.how().await;
    // The pipe is drained without waiting for anyone.
    let _ = timeout(job.drain, async { while heard.more(&mut pipes).await {} }).await;
    Ok(why.unwrap_or(how))
}

/// Ends the command. Reads on meanwhile, because a process may need that to end.
async fn stop(held: &mut HeldCommand, pipes: &mut OutputPipes, heard: &mut Heard<'_>) {
    held.let_go();
    let patience = Instant::now() + PATIENCE;
    loop {
        tokio::select! {
            _ = held.ended() => break,
            () = sleep_until(patience) => {
                held.kill().await;
                break;
            }
            true = heard.more(pipes) => {}
        }
    }
}

/// An output that is being read.
struct Capture<'a> {
    context: &'a ToolContext,
    call: CallKey,
    kept: BoundedOutput,
    /// Number of bytes that clients may still be shown.
    live: u64,
    /// Start of a character whose rest has not arrived.
    partial: Vec<u8>,
    chunk: Vec<u8>,
}

impl<'a> Capture<'a> {
    fn new(context: &'a ToolContext, call: CallKey, most: usize) -> Self {
        Self {
            context,
            call,
            kept: BoundedOutput::new(context.limits.head, context.limits.tail, most),
            live: LIVE,
            partial: vec![],
            chunk: vec![0; CHUNK],
        }
    }

    /// Reads a piece. Returns false at the end.
    async fn more(&mut self, output: &mut Output) -> bool {
        match output.read(&mut self.chunk).await {
            Ok(0) | Err(_) => false,
            Ok(count) => {
                if self.kept.total() < self.live {
                    self.show(count);
                }
                self.kept.take(&self.chunk[..count]);
                true
            }
        }
    }

    fn show(&mut self, count: usize) {
        self.partial.extend_from_slice(&self.chunk[..count]);
        let whole = match std::str::from_utf8(&self.partial) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => self.partial.len(),
        };
        // It may belong to the end of a line, or begin the next frame of one that is written anew.
        let returns = self.partial[..whole].iter().rev();
        let whole = whole - returns.take_while(|byte| **byte == b'\r').count();
        let piece = &self.partial[..whole];
        let mut text = printed(piece);
        if piece.starts_with(b"\r") && !piece.starts_with(b"\r\n") {
            // What was shown before cannot be taken back.
            text.insert(0, '\n');
        }
        self.partial.drain(..whole);
        if !text.is_empty() {
            (self.context.output)(self.call, &text);
        }
        if self.kept.total() + count as u64 >= self.live {
            (self.context.output)(self.call, "\n[The rest is not shown while it runs.]\n");
        }
    }
}
