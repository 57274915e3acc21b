//! `run_command`: a command line, through `sh -c`.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::{
    turn::{
        effect::CallWork,
        input::{Preparation, Prepared, Preview, ToolOutcome, ToolOutput},
        rules::Class,
    },
    visible::{short_line, visible},
};

use super::{
    Tool, ToolContext, ToolSpec, arguments,
    hold::{Hold, not_seen},
    host::PreparedCall,
    off_thread, outcome, preparation, probe,
    process::{self, CommandEnd, Ended, Job},
    sandbox::{self, CommandDecision, Confinement},
    workspace::Folder,
};

/// The tool `run_command`.
pub(super) struct RunCommand(ToolSpec);

#[derive(Deserialize)]
struct RunCommandArguments {
    command: String,
    cwd: Option<String>,
    timeout_seconds: Option<u64>,
}

impl RunCommand {
    pub(super) fn new() -> Self {
        let mut about = ToolSpec::new(
            "run_command",
            "Run a command line with `sh -c` and get its output: standard output and error together, the \
             middle of a long one left out and kept for `read_output`. It has no standard input and no \
             terminal, so it must not ask. Everything that it starts ends with it: nothing stays in the \
             background. Use the other tools to read, search and edit files.",
            json!({
                "type": "object",
                "properties": {
                    "command": {"type": "string", "description": "The command line."},
                    "cwd": {"type": "string", "description": "The folder it runs in, from the workspace's root. Default: the root."},
                    "timeout_seconds": {"type": "integer", "minimum": 1, "description": "Stop it after this time. It cannot be longer than the user's limit, which is the default."}
                },
                "required": ["command"],
                "additionalProperties": false
            }),
        );
        about.class = Class::More;
        about.runs_commands = true;
        Self(about)
    }
}

/// What a call would run.
struct CommandPlan {
    args: RunCommandArguments,
    cwd: Folder,
    decision: CommandDecision,
    hash: String,
}

async fn plan(work: &CallWork, host: &Arc<ToolContext>) -> Result<CommandPlan, String> {
    let args: RunCommandArguments = arguments(work)?;
    if args.command.trim().is_empty() {
        return Err(super::invalid(&work.tool, "`command` is empty"));
    }
    let wanted = args.cwd.clone().unwrap_or_else(|| ".".to_owned());
    let folder = off_thread(work, host, move |_, host| {
        let folder = host.workspace.folder(&wanted);
        folder.map_err(|refusal| format!("{refusal}."))
    });
    let cwd = folder.await?;
    let verdict = host.sandbox.rules.commands.verdict(&args.command);
    let decision = CommandDecision::new(probe::confinement(host).await, &verdict);
    let decision = decision
        .ok_or("A rule of the user's denies this command; do not try it in another way.")?;
    // What is allowed inside the sandbox is not allowed outside of it.
    let tool = match decision.held {
        Confinement::Inside(_) => "run_command in the sandbox",
        Confinement::Outside(_) | Confinement::Free => "run_command",
    };
    // Command, folder, and what the environment has beyond the allow-list: nothing.
    let hash = crate::digest::of_parts(&[tool, &args.command, &cwd.real.to_string_lossy()]);
    Ok(CommandPlan {
        args,
        cwd,
        decision,
        hash,
    })
}

#[async_trait]
impl Tool for RunCommand {
    fn about(&self) -> &ToolSpec {
        &self.0
    }

    async fn prepare(&self, work: &CallWork, host: &Arc<ToolContext>) -> Preparation {
        let unsaved = off_thread(work, host, |_, host| Ok(host.unsaved())).await;
        preparation(plan(work, host).await.map(|plan| {
            let as_prepared = PreparedCall {
                hash: plan.hash.clone(),
                ..PreparedCall::default()
            };
            host.seen().prepared(work.call, as_prepared);
            Preparation::Ready(Prepared {
                class: Class::More,
                title: format!("Run `{}`", short_line(&plan.args.command, 80)),
                preview: Some(Preview::Command {
                    text: visible(&plan.args.command).into_owned(),
                    cwd: visible(&plan.cwd.real.to_string_lossy()).into_owned(),
                }),
                approved: plan.decision.approved || (host.approved)(&plan.hash),
                hash: plan.hash,
                sandboxed: !matches!(plan.decision.held, Confinement::Outside(_)),
                must_ask: plan
                    .decision
                    .must_ask
                    .map(|why| host.sandbox.with_made(why)),
                note: not_seen(&unsaved.unwrap_or_default()),
            })
        }))
    }

    async fn run(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> ToolOutcome {
        outcome(run(work, host, cancelled).await)
    }
}

async fn run(
    work: &CallWork,
    host: &Arc<ToolContext>,
    cancelled: &CancellationToken,
) -> Result<ToolOutcome, String> {
    let plan = plan(work, host).await?;
    if !host.seen().is_as_prepared(work.call, &plan.hash) {
        return Err("What this would run changed since it was approved; call it again.".into());
    }
    // No argument widens what the user set.
    let time = plan
        .args
        .timeout_seconds
        .map_or(host.limits.time, Duration::from_secs);
    let held = plan.decision.held;
    let hold = Hold::new(work, host, held.clone(), plan.cwd.real.clone()).await?;
    let program = match held {
        Confinement::Inside(means) => means.shell.into(),
        Confinement::Outside(_) | Confinement::Free => sandbox::shell(host.workspace.root()),
    };
    let job = Job {
        call: work.call,
        program,
        args: vec!["-c".into(), plan.args.command.into()],
        cwd: plan.cwd.real,
        env: vec![],
        time: time.min(host.limits.time),
        drain: host.limits.drain,
        walls: hold.walls.clone(),
    };
    let unsaved = off_thread(work, host, |_, host| Ok(host.unsaved())).await?;
    let ended = process::run(&job, host, cancelled).await;
    let ended = ended.map_err(|error| format!("The command could not be run: {error}."))?;
    let unsaved = not_seen(&unsaved).map_or_else(String::new, |line| line + "\n");
    let notes = [unsaved, hold.warning(work, host).await?].concat();
    Ok(result_of(&ended, job.time, &notes))
}

/// A failing command is a result like any other: the model reads it and goes on.
fn result_of(ended: &Ended, time: Duration, notes: &str) -> ToolOutcome {
    let line = ended.how.line(time);
    let output = match ended.output.trim_end() {
        "" => "(no output)",
        text => text,
    };
    let text = ToolOutput {
        summary: line.clone(),
        details: ended
            .how
            .exit_status()
            .map(|status| json!({ ToolOutput::EXIT_STATUS: status })),
        ..ToolOutput::text(format!("{notes}{line}\n{output}"))
    };
    match ended.how {
        CommandEnd::Exit(_) | CommandEnd::Signal(_) => ToolOutcome::Success(text),
        CommandEnd::NotStarted(_) | CommandEnd::TimedOut | CommandEnd::Lost => {
            ToolOutcome::Error(text)
        }
        CommandEnd::Cancelled => ToolOutcome::Stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::trial::ToolTrial;

    #[tokio::test]
    async fn is_shown_whole_with_nothing_hidden() {
        let trial = ToolTrial::new(&[("sub/a", "")]);
        let command = "echo a\nrm -rf \u{202e}x";
        let prepared = trial
            .prepared("run_command", json!({"command": command, "cwd": "sub"}))
            .await;
        let cwd = trial
            .host
            .workspace
            .root()
            .join("sub")
            .to_string_lossy()
            .into_owned();
        let text = "echo a\nrm -rf <U+202E>x".to_owned();
        assert_eq!(prepared.preview, Some(Preview::Command { text, cwd }));
        assert_eq!(prepared.title, "Run `echo a␊rm -rf <U+202E>x`");
        assert_eq!(prepared.class, Class::More);
        assert!(!prepared.sandboxed);
        assert_eq!(
            prepared.must_ask.as_deref(),
            Some("there is no sandbox here, so commands ask")
        );
    }

    #[tokio::test]
    async fn an_approval_is_for_this_command_in_this_folder() {
        let trial = ToolTrial::new(&[("sub/a", "")]);
        let hash = async |args| trial.prepared("run_command", args).await.hash;
        let one = hash(json!({"command": "make"})).await;
        assert_eq!(one, hash(json!({"command": "make", "cwd": "."})).await);
        assert_ne!(one, hash(json!({"command": "make", "cwd": "sub"})).await);
        assert_ne!(one, hash(json!({"command": "make "})).await);
    }

    #[tokio::test]
    async fn refuses_folders_outside_and_empty_commands() {
        let trial = ToolTrial::new(&[]);
        trial
            .check(
                "run_command",
                json!({"command": "ls", "cwd": "/"}),
                "error: `/` is outside the workspace; use a path inside it.",
            )
            .await;
        trial
            .check(
                "run_command",
                json!({"command": " "}),
                "error: Invalid arguments for run_command: `command` is empty.",
            )
            .await;
    }
}
