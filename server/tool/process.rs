//! The only way to start a child process.
//!
//! A command runs under a [`supervisor`], which ends all of its processes when the command ends, when it is stopped, and
//! when Aside itself is gone. The environment is an allow-list, and standard input is null. Both output streams are read
//! in the order of writing and kept within bounds, so that neither a flood nor a process that never closes its output
//! can block a call.

mod kept;
pub mod quiet;
pub mod spoken;
mod surroundings;

use std::{
    ffi::OsString,
    io::{self, Seek, Write},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{ChildStdout, Stdio},
    sync::Arc,
    time::Duration,
};

use aside_base::visible::printed;
use aside_turn::record::CallKey;
use tokio::{
    io::AsyncReadExt,
    net::UnixStream as Lifeline,
    process::{Child, ChildStdout as Output, Command},
    time::{Instant, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

pub(super) use self::kept::BoundedOutput;
pub use self::surroundings::FoundIn;
use self::{kept::CHUNK, surroundings::surroundings};

use super::{
    ToolContext,
    sandbox::{RunningInside, WallKind, Walls},
    supervisor::{self, Report, handed, unnamed},
};

/// Maximum number of bytes of an output that are kept for `read_output`.
const KEPT: usize = 8 << 20;
/// Maximum number of bytes of standard error, if read separately.
const KEPT_ERRORS: usize = 64 << 10;
/// Maximum number of bytes of an output that clients are shown live.
const LIVE: u64 = 256 << 10;
/// Maximum number of bytes of a supervisor's report.
const REPORT: usize = 4096;
/// Time for a stopped supervisor to end everything, before Aside does so itself.
const PATIENCE: Duration = Duration::from_millis(1800);

/// A command to run.
#[derive(Clone, Debug)]
pub struct Job {
    /// The call that the command belongs to.
    pub call: CallKey,
    /// The program, found through `PATH`.
    pub program: OsString,
    /// The arguments that the program is started with.
    pub args: Vec<OsString>,
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

/// End of a command, of which no process is left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended {
    /// The exit status, or the reason why there is none.
    pub how: CommandEnd,
    /// The output for the model.
    pub output: String,
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

/// An unnamed file with this content, to be read from its beginning.
fn file_of(content: &[u8]) -> io::Result<OwnedFd> {
    let mut file = unnamed()?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file.into())
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
    input: Option<OwnedFd>,
    heard: &mut Heard<'_>,
    cancelled: &CancellationToken,
) -> io::Result<CommandEnd> {
    let mark = format!("ASIDE_CHILD={:016x}", fastrand::u64(..));
    let errors = match heard.errors {
        Some(_) => Errors::Apart,
        None => Errors::Together,
    };
    let context = heard.output.context;
    let mut running = start(job, &context.supervisor, &mark, Wires { input, errors })?;
    let deadline = Instant::now() + job.time;
    let mut building = job.inside.clone();
    let why = loop {
        tokio::select! {
            status = running.child.wait() => break status.map(|_| None)?,
            () = cancelled.cancelled() => break Some(CommandEnd::Cancelled),
            () = sleep_until(deadline) => break Some(CommandEnd::TimedOut),
            // The supervisor tells when the walls stand, or how all ended.
            _ = running.lifeline.readable(), if building.is_some() => {
                if let Some(inside) = building.take() {
                    inside.is_built();
                }
            }
            // Both streams have ended; only the end of the process ends this loop.
            true = heard.more(&mut running.pipes) => {}
        }
    };
    let report = match why {
        None => running.report(),
        Some(_) => running.stop(heard).await,
    };
    if report.is_none() {
        let supervisor = running.id;
        let _ = tokio::task::spawn_blocking(move || supervisor::sweep(supervisor, &mark)).await;
    }
    // The pipe is drained without waiting for anyone.
    let _ = timeout(job.drain, async {
        while heard.more(&mut running.pipes).await {}
    })
    .await;
    Ok(why.unwrap_or(match report {
        Some(Report::Exit(code)) => CommandEnd::Exit(code),
        Some(Report::Signal(signal)) => CommandEnd::Signal(signal),
        Some(Report::Failed(error)) => CommandEnd::NotStarted(error),
        Some(Report::Unbuilt(why)) => CommandEnd::Unbuilt(why),
        Some(Report::Stopped) | None => CommandEnd::Lost,
    }))
}

/// A supervisor and its command.
struct RunningCommand {
    child: Child,
    id: i32,
    pipes: OutputPipes,
    /// Our end of the lifeline; closing it ends the command.
    lifeline: Lifeline,
}

/// Pipes of a command's output.
struct OutputPipes {
    output: Output,
    /// Standard error, if read separately.
    errors: Option<Output>,
}

/// Standard streams of a command.
struct Wires {
    /// Standard input; `None` is empty.
    input: Option<OwnedFd>,
    errors: Errors,
}

/// Use of a command's standard error.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Errors {
    /// Part of the output.
    Together,
    /// Read separately.
    Apart,
    /// Not read.
    Nowhere,
}

fn start(job: &Job, supervisor: &Path, mark: &str, wires: Wires) -> io::Result<RunningCommand> {
    let (program, env) = surroundings(&job.program, &job.cwd, &job.env, job.found_in)?;
    let (ours, theirs) = UnixStream::pair()?;
    let (output, write) = io::pipe()?;
    let (errors, write_errors) = match wires.errors {
        Errors::Apart => io::pipe().map(|(read, write)| (Some(read), Stdio::from(write)))?,
        Errors::Together => (None, Stdio::from(write.try_clone()?)),
        Errors::Nowhere => (None, Stdio::null()),
    };
    let (name, value) = mark.split_once('=').unwrap_or((mark, ""));
    let mut command = Command::new(supervisor);
    command
        .arg(supervisor::ARGUMENT)
        .arg(job.drain.as_millis().to_string());
    let walls = job.walls.as_ref();
    if let Some(walls) = walls.filter(|walls| walls.kind == WallKind::Sandbox) {
        handed::give(&ours, &file_of(&walls.meant.bytes())?)?;
    }
    if let Some(input) = &wires.input {
        handed::give(&ours, input)?;
        command.arg(supervisor::INPUT);
    }
    if let Some(walls) = walls {
        if walls.has_unix {
            command.arg(supervisor::UNIX);
        }
        if !walls.hosts.is_empty() {
            let names: Vec<String> = walls.hosts.iter().map(ToString::to_string).collect();
            command.arg(supervisor::HOSTS).arg(names.join(","));
        }
        command
            .arg(match walls.kind {
                WallKind::Sandbox => supervisor::WALLS,
                WallKind::Processes => supervisor::NAMESPACE,
            })
            .arg(&walls.program)
            .args(&walls.args);
    }
    command
        .arg(&program)
        .args(&job.args)
        .current_dir(&job.cwd)
        .env_clear()
        .envs(env)
        .env(name, value)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stderr(write_errors)
        .stdout(Stdio::from(OwnedFd::from(write)));
    let child = command.spawn()?;
    // `command` holds the child's ends; the output cannot end while it lives.
    drop(command);
    let id = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .unwrap_or_default();
    ours.set_nonblocking(true)?;
    let reading = |pipe| Output::from_std(ChildStdout::from(OwnedFd::from(pipe)));
    Ok(RunningCommand {
        child,
        id,
        pipes: OutputPipes {
            output: reading(output)?,
            errors: errors.map(reading).transpose()?,
        },
        lifeline: Lifeline::from_std(ours)?,
    })
}

impl RunningCommand {
    /// The supervisor's report at its end.
    fn report(&mut self) -> Option<Report> {
        let mut line = [0; REPORT];
        let mut count = 0;
        // The supervisor has ended, so the report is complete; an error means that there is none.
        while let Ok(more @ 1..) = rustix::io::read(&self.lifeline, &mut line[count..]) {
            count += more;
        }
        Report::parse(str::from_utf8(&line[..count]).ok()?)
    }

    /// Asks the supervisor to end the command, which it can still report.
    fn let_go(&self) {
        let _ = rustix::net::shutdown(&self.lifeline, rustix::net::Shutdown::Write);
    }

    /// Ends the command. Reads on meanwhile, because a process may need that to end.
    async fn stop(&mut self, heard: &mut Heard<'_>) -> Option<Report> {
        self.let_go();
        let patience = Instant::now() + PATIENCE;
        loop {
            tokio::select! {
                _ = self.child.wait() => break,
                () = sleep_until(patience) => {
                    let _ = self.child.kill().await;
                    break;
                }
                true = heard.more(&mut self.pipes) => {}
            }
        }
        self.report()
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
