//! `run_command`: a command line, through `sh -c`.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use aside_base::{digest, visible::{in_sight, short_line, visible}};
use aside_turn::{effect::CallWork, input::{Preparation, Prepared, Preview, ToolOutcome, ToolOutput}, rules::Class};


use super::{
    Tool, ToolContext, ToolSpec, arguments,
    hold::{Hold, not_seen, remark, warning},
    host::PreparedCall,
    off_thread, outcome,
    outside::{self, OutsideCommand},
    probe,
    process::{self, CommandEnd, Ended, Job},
    sandbox::{self, CommandDecision, Confinement, commands::Verdict},
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
        about.questions = Some(&[outside::QUESTION]);
        about.prompt_labels = &[(outside::QUESTION, "Outside the sandbox")];
        about.asks_people = true;
        Self(about)
    }
}

/// What a call would run.
struct CommandPlan {
    args: RunCommandArguments,
    cwd: Folder,
    decision: CommandDecision,
    hash: String,
    /// A person let exactly this run outside of the sandbox before.
    is_let_out: bool,
    /// The rule that would let it run unasked, as a sentence.
    sparing: Option<String>,
}

impl CommandPlan {
    /// How long it may run: no argument widens what the user set.
    fn time(&self, host: &ToolContext) -> Duration {
        let wanted = self.args.timeout_seconds.map(Duration::from_secs);
        wanted.map_or(host.limits.time, |wanted| wanted.min(host.limits.time))
    }

    /// The command as it would run outside of the sandbox.
    fn outside(&self, host: &ToolContext) -> OutsideCommand<'_> {
        let rules = &host.sandbox.rules.commands;
        OutsideCommand {
            command: &self.args.command,
            cwd: &self.cwd.real,
            rule: rules.sparing(&self.args.command, true),
        }
    }
}

/// Why a call is not planned.
enum Unplanned {
    /// A rule of the user's denies its command.
    Denied,
    /// It cannot be run; what the model is told.
    Error(String),
}

impl From<String> for Unplanned {
    fn from(text: String) -> Self {
        Self::Error(text)
    }
}

async fn plan(work: &CallWork, host: &Arc<ToolContext>) -> Result<CommandPlan, Unplanned> {
    let args: RunCommandArguments = arguments(work)?;
    if args.command.trim().is_empty() {
        return Err(super::invalid(&work.tool, "`command` is empty").into());
    }
    let wanted = args.cwd.clone().unwrap_or_else(|| ".".to_owned());
    let folder = off_thread(work, host, move |_, host| {
        let folder = host.workspace.folder(&wanted);
        folder.map_err(|refusal| format!("{refusal}."))
    });
    let cwd = folder.await?;
    let rules = &host.sandbox.rules.commands;
    let verdict = host.sandbox.after_made(rules.verdict(&args.command));
    let mut held = probe::confinement(host).await;
    let outside = OutsideCommand {
        command: &args.command,
        cwd: &cwd.real,
        rule: None,
    };
    let is_let_out = matches!(held, Confinement::Inside(_)) && outside.is_allowed(host);
    if is_let_out {
        held = Confinement::Outside("you let it run outside the sandbox".to_owned());
    }
    let decision = CommandDecision::new(held, &verdict).ok_or(Unplanned::Denied)?;
    // What is allowed inside the sandbox is not allowed outside of it. Command, folder, and what the environment has
    // beyond the allow-list: nothing.
    let folder = cwd.real.to_string_lossy();
    let hash = match decision.held {
        Confinement::Inside(_) => {
            digest::of_parts(&["run_command in the sandbox", &args.command, &folder])
        }
        Confinement::Outside(_) if is_let_out => outside.hash(),
        Confinement::Outside(_) | Confinement::Free => {
            digest::of_parts(&["run_command", &args.command, &folder])
        }
    };
    let is_outside = matches!(decision.held, Confinement::Outside(_));
    let sparing = match verdict {
        Verdict::Silent | Verdict::Allow => rules.sparing(&args.command, is_outside),
        _ => None,
    };
    Ok(CommandPlan {
        args,
        cwd,
        decision,
        hash,
        is_let_out,
        sparing,
    })
}

#[async_trait]
impl Tool for RunCommand {
    fn about(&self) -> &ToolSpec {
        &self.0
    }

    async fn prepare(&self, work: &CallWork, host: &Arc<ToolContext>) -> Preparation {
        let unsaved = off_thread(work, host, |_, host| Ok(host.unsaved())).await;
        let plan = match plan(work, host).await {
            Ok(plan) => plan,
            Err(Unplanned::Denied) => return Preparation::DeniedByRule,
            Err(Unplanned::Error(text)) => return Preparation::Error(text),
        };
        let as_prepared = PreparedCall {
            hash: plan.hash.clone(),
            ..PreparedCall::default()
        };
        host.seen().prepared(work.call, as_prepared);
        let notes = not_seen(&unsaved.unwrap_or_default()).into_iter();
        let notes: Vec<String> = notes.chain(plan.sparing).collect();
        let allowed = plan.decision.approved || plan.is_let_out;
        let must_ask = plan.decision.must_ask;
        Preparation::Ready(Prepared {
            class: Class::More,
            title: format!("Run `{}`", short_line(&in_sight(&plan.args.command), 80)),
            preview: Some(Preview::Command {
                text: in_sight(&plan.args.command).into_owned(),
                cwd: visible(&plan.cwd.real.to_string_lossy()).into_owned(),
            }),
            approved: allowed || (host.approved)(&plan.hash),
            hash: plan.hash,
            sandboxed: !matches!(plan.decision.held, Confinement::Outside(_)),
            must_ask: must_ask.map(|why| host.sandbox.with_made(why)),
            note: (!notes.is_empty()).then(|| notes.join("\n")),
        })
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

/// What is told of a call that is not any more what was prepared.
const CHANGED: &str = "What this would run changed since it was approved; call it again.";

async fn run(
    work: &CallWork,
    host: &Arc<ToolContext>,
    cancelled: &CancellationToken,
) -> Result<ToolOutcome, String> {
    let plan = match plan(work, host).await {
        Ok(plan) => plan,
        Err(Unplanned::Error(text)) => return Err(text),
        // The rules are those of the turn: it was not denied when it was prepared.
        Err(Unplanned::Denied) => return Err(CHANGED.into()),
    };
    if !host.seen().is_as_prepared(work.call, &plan.hash) {
        return Err(CHANGED.into());
    }
    let unsaved = off_thread(work, host, |_, host| Ok(host.unsaved())).await?;
    let unsaved = not_seen(&unsaved).map_or_else(String::new, |line| line + "\n");
    let held = plan.decision.held.clone();
    let first = run_held(&plan, held, work, host, cancelled).await?;
    let hindrance = outside::hindrance(&first.ended).filter(|_| first.was_inside);
    let Some(why) = hindrance else {
        let notes = unsaved + &warning(&first.made);
        return Ok(result_of(
            &first.ended,
            plan.time(host),
            &notes,
            &first.made,
        ));
    };
    let is_there = (host.attended)();
    if !is_there || !plan.outside(host).ask(work, host, why).await {
        let notes = unsaved + &warning(&first.made);
        let said = if is_there { REFUSED } else { "" };
        let output = format!(
            "{}\n[The sandbox is why: {why}.{said}]",
            first.ended.output.trim_end()
        );
        let ended = Ended {
            output,
            ..first.ended
        };
        return Ok(result_of(&ended, plan.time(host), &notes, &first.made));
    }
    let held = Confinement::Outside(why.to_owned());
    let second = run_held(&plan, held, work, host, cancelled).await?;
    let before = format!(
        "Inside the sandbox it failed, and the user let it run outside. Inside: {}\n",
        first.ended.how.line(plan.time(host))
    );
    let notes = [unsaved, warning(&first.made), before].concat();
    Ok(result_of(
        &second.ended,
        plan.time(host),
        &notes,
        &first.made,
    ))
}

/// What is said where a person did not let a command run outside.
const REFUSED: &str =
    " The user was asked and does not let it run outside; do not try it in another way.";

/// A run of a command.
struct HeldRun {
    ended: Ended,
    was_inside: bool,
    /// What it left that could run something later.
    made: Vec<String>,
}

async fn run_held(
    plan: &CommandPlan,
    held: Confinement,
    work: &CallWork,
    host: &Arc<ToolContext>,
    cancelled: &CancellationToken,
) -> Result<HeldRun, String> {
    let was_inside = matches!(held, Confinement::Inside(_));
    let hold = Hold::new(work, host, held.clone(), plan.cwd.real.clone()).await?;
    let program = match held {
        Confinement::Inside(means) => means.shell.into(),
        Confinement::Outside(_) | Confinement::Free => sandbox::shell(host.workspace.root()),
    };
    let job = Job {
        call: work.call,
        program,
        args: vec!["-c".into(), plan.args.command.clone().into()],
        cwd: plan.cwd.real.clone(),
        env: vec![],
        time: plan.time(host),
        drain: host.limits.drain,
        walls: hold.walls.clone(),
    };
    let ended = process::run(&job, host, cancelled).await;
    let ended = ended.map_err(|error| format!("The command could not be run: {error}."))?;
    Ok(HeldRun {
        ended,
        was_inside,
        made: hold.made(work, host).await?,
    })
}

/// A failing command is a result like any other: the model reads it and goes on.
fn result_of(ended: &Ended, time: Duration, notes: &str, made: &[String]) -> ToolOutcome {
    let line = ended.how.line(time);
    let output = match ended.output.trim_end() {
        "" => "(no output)",
        text => text,
    };
    let text = ToolOutput {
        summary: line.clone() + &remark(made),
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
    async fn no_run_of_blanks_pushes_a_part_out_of_sight() {
        let trial = ToolTrial::new(&[]);
        let (blanks, lines) = (" ".repeat(48), "\n".repeat(41));
        let command = format!("ls{blanks}; rm -rf x{lines}rm y");
        let prepared = trial
            .prepared("run_command", json!({"command": command}))
            .await;
        let Some(Preview::Command { text, .. }) = prepared.preview else {
            panic!("{prepared:?}");
        };
        assert_eq!(text, "ls⟨48 blanks⟩; rm -rf x\n⟨40 empty lines⟩\nrm y");
        let title = "Run `ls⟨48 blanks⟩; rm -rf x␊⟨40 empty lines⟩␊rm y`";
        assert_eq!(prepared.title, title);
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
