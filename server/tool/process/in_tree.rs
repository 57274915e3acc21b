//! A command in a tree of processes that end together, as it runs on Windows: with the command, when it is stopped, and
//! with Aside, whose end closes the last handle of the tree. Nobody has to stand between.

use std::{io, path::Path, process::Stdio, time::Duration};

use aside_base::system::processes::ProcessTree;
use tokio::{
    process::{Child, Command},
    time::{Instant, sleep},
};

use super::{
    job::{CommandEnd, HeldEvent, Job, OutputPipes, Wires},
    surroundings::surroundings,
};

/// Pause between two looks at leftover processes.
const STEP: Duration = Duration::from_millis(10);

/// A command and its processes.
#[derive(Debug)]
pub(super) struct HeldCommand {
    started: Result<(ProcessTree, Child), String>,
    /// Time for leftover processes after the command's end.
    drain: Duration,
    /// The end of the command itself.
    ended: Option<Instant>,
}

impl HeldCommand {
    /// Starts a command. No program has to hold it.
    ///
    /// # Errors
    /// Fails if the system gives no pipes, or if the command is to have walls, of which there are none here.
    pub(super) fn start(
        job: &Job,
        _holder: &Path,
        wires: Wires,
    ) -> io::Result<(Self, OutputPipes)> {
        if job.walls.is_some() {
            return Err(io::Error::other("there are no walls on this system"));
        }
        let (program, env) = surroundings(&job.program, &job.cwd, &job.env, job.found_in)?;
        let (pipes, write, write_errors) = OutputPipes::open(wires.errors)?;
        let mut command = Command::new(&program);
        match job.verbatim {
            true => job.args.iter().for_each(|word| {
                command.raw_arg(word);
            }),
            false => {
                command.args(&job.args);
            }
        }
        command
            .current_dir(&job.cwd)
            .env_clear()
            .envs(env)
            .stdin(wires.input.map_or_else(Stdio::null, Stdio::from))
            .stderr(write_errors)
            .stdout(write);
        let started = ProcessTree::start(&mut command).map_err(|error| error.to_string());
        Ok((
            Self {
                started,
                drain: job.drain,
                ended: None,
            },
            pipes,
        ))
    }

    /// Waits for the end of the command and of all that it started.
    pub(super) async fn ended(&mut self) -> io::Result<()> {
        let Ok((tree, child)) = &mut self.started else {
            return Ok(());
        };
        child.wait().await?;
        let ended = *self.ended.get_or_insert_with(Instant::now);
        while !tree.is_empty() && ended.elapsed() < self.drain {
            sleep(STEP).await;
        }
        tree.end();
        Ok(())
    }

    /// The same, for nothing is told of walls here.
    pub(super) async fn next(&mut self, _listens: bool) -> io::Result<HeldEvent> {
        self.ended().await.map(|()| HeldEvent::Ended)
    }

    /// Ends the command with all that it started.
    pub(super) fn let_go(&self) {
        if let Ok((tree, _)) = &self.started {
            tree.end();
        }
    }

    /// Ends what has not ended yet.
    pub(super) async fn kill(&mut self) {
        self.let_go();
    }

    /// The way in which the command ended, once all has ended.
    pub(super) async fn how(&mut self) -> CommandEnd {
        match &mut self.started {
            Err(error) => CommandEnd::NotStarted(error.clone()),
            Ok((_, child)) => match child.try_wait() {
                Ok(Some(status)) => status.code().map_or(CommandEnd::Lost, CommandEnd::Exit),
                Ok(None) | Err(_) => CommandEnd::Lost,
            },
        }
    }
}
