//! A command under a supervisor, as it runs on Unix.

use std::{
    io,
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::Path,
    process::Stdio,
};

use tokio::{
    net::UnixStream as Lifeline,
    process::{Child, Command},
};

use super::{
    job::{CommandEnd, HeldEvent, Job, OutputPipes, Wires, file_of},
    surroundings::surroundings,
};
use crate::{
    sandbox::WallKind,
    supervisor::{self, Report, handed},
};

/// Maximum number of bytes of a supervisor's report.
const REPORT: usize = 4096;

/// A supervisor and its command.
#[derive(Debug)]
pub(super) struct HeldCommand {
    child: Child,
    id: i32,
    /// Our end of the lifeline; closing it ends the command.
    lifeline: Lifeline,
    /// What the processes of the command have in their environment.
    mark: String,
}

impl HeldCommand {
    /// Starts a command. `holder` is the program that supervises it.
    ///
    /// # Errors
    /// Fails if the supervisor cannot be started.
    pub(super) fn start(job: &Job, holder: &Path, wires: Wires) -> io::Result<(Self, OutputPipes)> {
        let mark = format!("ASIDE_CHILD={:016x}", fastrand::u64(..));
        let (program, env) = surroundings(&job.program, &job.cwd, &job.env, job.found_in)?;
        let (ours, theirs) = UnixStream::pair()?;
        let (pipes, write, write_errors) = OutputPipes::open(wires.errors)?;
        let (name, value) = mark.split_once('=').unwrap_or((&mark, ""));
        let mut command = Command::new(holder);
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
            for repository in &walls.repositories {
                command.arg(supervisor::REPOSITORY).arg(repository);
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
        let held = Self {
            child,
            id,
            lifeline: Lifeline::from_std(ours)?,
            mark,
        };
        Ok((held, pipes))
    }

    /// Waits for the end of the command and of all that it started.
    pub(super) async fn ended(&mut self) -> io::Result<()> {
        self.child.wait().await.map(drop)
    }

    /// The same, or until the supervisor tells that the walls stand or how all ended, if that is wanted.
    pub(super) async fn next(&mut self, listens: bool) -> io::Result<HeldEvent> {
        tokio::select! {
            status = self.child.wait() => status.map(|_| HeldEvent::Ended),
            _ = self.lifeline.readable(), if listens => Ok(HeldEvent::Heard),
        }
    }

    /// Asks the supervisor to end the command, which it can still report.
    pub(super) fn let_go(&self) {
        let _ = rustix::net::shutdown(&self.lifeline, rustix::net::Shutdown::Write);
    }

    /// Ends the supervisor itself.
    pub(super) async fn kill(&mut self) {
        let _ = self.child.kill().await;
    }

    /// The way in which the command ended, once all has ended. What a supervisor left that was killed is ended too.
    pub(super) async fn how(&mut self) -> CommandEnd {
        let Some(report) = self.report() else {
            let (id, mark) = (self.id, self.mark.clone());
            let _ = tokio::task::spawn_blocking(move || supervisor::sweep(id, &mark)).await;
            return CommandEnd::Lost;
        };
        match report {
            Report::Exit(code) => CommandEnd::Exit(code),
            Report::Signal(signal) => CommandEnd::Signal(signal),
            Report::Failed(error) => CommandEnd::NotStarted(error),
            Report::Unbuilt(why) => CommandEnd::Unbuilt(why),
            Report::Stopped => CommandEnd::Lost,
        }
    }

    /// The supervisor's report at its end.
    fn report(&self) -> Option<Report> {
        let mut line = [0; REPORT];
        let mut count = 0;
        // The supervisor has ended, so the report is complete; an error means that there is none.
        while let Ok(more @ 1..) = rustix::io::read(&self.lifeline, &mut line[count..]) {
            count += more;
        }
        Report::parse(str::from_utf8(&line[..count]).ok()?)
    }
}
