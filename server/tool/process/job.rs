//! A command to run, the streams that it gets, and what is told of it.

use std::{
    ffi::OsString,
    io::{self, PipeReader, PipeWriter, Seek, Write},
    path::PathBuf,
    process::Stdio,
    sync::Arc,
    time::Duration,
};

use aside_base::system::{
    files::unnamed,
    streams::{OwnedStream, as_output},
};
use aside_turn::record::CallKey;
use tokio::process::ChildStdout as Output;

use super::surroundings::FoundIn;
use crate::sandbox::{RunningInside, Walls};

/// A command to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The call that the command belongs to.
    pub call: CallKey,
    /// The program, found through `PATH`.
    pub program: OsString,
    /// The arguments that the program is started with.
    pub args: Vec<OsString>,
    /// Whether they are one line that the program reads as it stands, where a system hands over a line.
    pub verbatim: bool,
    /// Working directory of the command.
    pub cwd: PathBuf,
    /// Variables beyond the allow-list.
    pub env: Vec<(OsString, OsString)>,
    /// Time after which the program is ended.
    pub time: Duration,
    /// Time for leftover processes after the command's end, so that their last output arrives. Inside the sandbox they
    /// end with the command.
    pub drain: Duration,
    /// Confinement, if any.
    pub walls: Option<Walls>,
    /// The program among those that run inside, if it is one.
    pub inside: Option<Arc<RunningInside>>,
    /// Folders of `PATH` in which it and its own programs are found.
    pub found_in: FoundIn,
}

/// The way in which a command ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// The command exited with this status.
    Exit(i32),
    /// This signal ended the command.
    Signal(i32),
    /// The command could not be started, for this reason.
    NotStarted(String),
    /// The command did not start, because its sandbox was not built as meant, for this reason.
    Unbuilt(String),
    /// The command exceeded its time.
    TimedOut,
    /// The command was cancelled.
    Cancelled,
    /// The supervisor was killed, so the exit status is unknown.
    Lost,
}

impl CommandEnd {
    /// The exit status as in a shell: 128 plus the signal's number if a signal ended the command. `None` if the command
    /// did not end by itself.
    pub fn exit_status(&self) -> Option<i32> {
        match self {
            Self::Exit(status) => Some(*status),
            Self::Signal(signal) => Some(128 + signal),
            Self::NotStarted(_)
            | Self::Unbuilt(_)
            | Self::TimedOut
            | Self::Cancelled
            | Self::Lost => None,
        }
    }
}

/// What is told of a command that runs.
pub(super) enum HeldEvent {
    #[cfg_attr(windows, expect(dead_code, reason = "there are no walls"))]
    /// Its walls stand, or there is something to tell of its end.
    Heard,
    /// It ended with all that it started.
    Ended,
}

/// An unnamed file with this content, to be read from its beginning.
pub(super) fn file_of(content: &[u8]) -> io::Result<OwnedStream> {
    let mut file = unnamed()?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
}

/// Pipes of a command's output.
pub(super) struct OutputPipes {
    pub(super) output: Output,
    /// Standard error, if read separately.
    pub(super) errors: Option<Output>,
}

/// Standard streams of a command.
pub(super) struct Wires {
    /// Standard input; `None` is empty.
    pub(super) input: Option<OwnedStream>,
    pub(super) errors: Errors,
}

impl OutputPipes {
    /// The ends for Aside and for the command, of its standard output and error.
    pub(super) fn open(errors: Errors) -> io::Result<(Self, PipeWriter, Stdio)> {
        let (output, write) = io::pipe()?;
        let (errors, write_errors) = match errors {
            Errors::Apart => io::pipe().map(|(read, write)| (Some(read), Stdio::from(write)))?,
            Errors::Together => (None, Stdio::from(write.try_clone()?)),
            Errors::Nowhere => (None, Stdio::null()),
        };
        let reading = |pipe: PipeReader| Output::from_std(as_output(pipe));
        let pipes = Self {
            output: reading(output)?,
            errors: errors.map(reading).transpose()?,
        };
        Ok((pipes, write, write_errors))
    }
}

/// Use of a command's standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Errors {
    /// Part of the output.
    Together,
    /// Read separately.
    Apart,
    /// Not read.
    Nowhere,
}

impl CommandEnd {
    /// One line about the end, for the model and people.
    #[must_use]
    pub fn line(&self, time: Duration) -> String {
        match self {
            Self::Exit(code) => format!("Exit status {code}."),
            Self::Signal(signal) => format!("Ended by signal {signal}{}.", signal_name(*signal)),
            Self::NotStarted(why) => format!("It could not be started: {why}."),
            Self::Unbuilt(why) => {
                format!("It did not start: {why}; run it again when nothing else changes that.")
            }
            Self::TimedOut => format!(
                "Stopped after {} s, with all its processes; raise timeout_seconds where that is allowed, or do less at once.",
                // The limit of a tool is that of the turn, less a moment.
                time.as_millis().div_ceil(1000)
            ),
            Self::Cancelled => "Cancelled.".to_owned(),
            Self::Lost => {
                "Its processes were ended from outside; its exit status is not known.".to_owned()
            }
        }
    }
}

fn signal_name(signal: i32) -> &'static str {
    match signal {
        1 => " (SIGHUP)",
        2 => " (SIGINT)",
        3 => " (SIGQUIT)",
        4 => " (SIGILL)",
        6 => " (SIGABRT)",
        8 => " (SIGFPE)",
        9 => " (SIGKILL)",
        11 => " (SIGSEGV)",
        13 => " (SIGPIPE)",
        15 => " (SIGTERM)",
        _ => "",
    }
}
