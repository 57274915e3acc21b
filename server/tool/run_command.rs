//! `run_command`: a command line, through `sh -c`.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use async_trait::async_trait;
use serde::Deserialize;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use aside_base::{
    open_places::{self, OpenPlaces},
    visible::{in_sight, short_line, visible},
};
use aside_turn::{
    effect::CallWork,
    input::{Preview, ToolOutcome, ToolOutput},
    rules::Class,
};

use super::{
    BuiltIn, CallPlan, Planning, Tool, ToolContext, ToolRun, ToolSpec, Unplanned,
    hold::{HeldProgram, Hold, gap_reason, gaps, not_seen, remark, warning},
    off_thread,
    outside::{self, OutsideCommand},
    probe,
    process::{self, CommandEnd, Ended, Job},
    sandbox::{
        self, CommandDecision, Confinement,
        commands::{Verdict, may_last, sparing, verdict},
    },
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

impl BuiltIn for RunCommand {
    fn tool() -> Arc<dyn Tool> {
        let mut spec = ToolSpec::new(
            "run_command",
            &format!(
                "Run a command line with {} and get its output: standard output and error together, the \
                 middle of a long one left out and kept for `read_output`. It has no standard input and no \
                 terminal, so it must not ask. Everything that it starts ends with it: nothing stays in the \
                 background. Use the other tools to read, search and edit files.",
                sandbox::named_shell()
            ),
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
        spec.class = Class::More;
        spec.runs_commands = true;
        spec.questions = Some(&[outside::QUESTION]);
        spec.prompt_labels = &[(outside::QUESTION, "Outside the sandbox")];
        spec.asks_people = true;
        Arc::new(Self(spec))
    }
}

/// The command of a call.
struct CommandPlan {
    args: RunCommandArguments,
    cwd: Folder,
    /// Documents with unsaved changes, which the command does not see.
    unsaved: Option<String>,
}

impl CommandPlan {
    /// Maximum duration of the command. No argument extends the user's limit.
    fn time(&self, context: &ToolContext) -> Duration {
        let wanted = self.args.timeout_seconds.map(Duration::from_secs);
        wanted.map_or(context.limits.time, |wanted| {
            wanted.min(context.limits.time)
        })
    }

    /// Runs the command, and once more outside the sandbox if it failed because of that and a person allows it.
    async fn run(self, held: HeldProgram, run: ToolRun) -> Result<ToolOutcome, String> {
        let plan = self;
        let ToolRun {
            work,
            context,
            cancelled,
            ..
        } = &run;
        let unsaved = plan
            .unsaved
            .clone()
            .map_or_else(String::new, |line| line + "\n");
        let first = run_held(&plan, held, work, context, cancelled).await?;
        let hindrance = outside::hindrance(&first.ended).filter(|_| first.was_inside);
        let Some(why) = hindrance else {
            let notes = unsaved + &warning(&first.made);
            return Ok(result_of(
                &first.ended,
                plan.time(context),
                &notes,
                &first.made,
            ));
        };
        let is_there = (context.attended)();
        let known = context.sandbox.made();
        if !is_there || !plan.outside(context).ask(work, context, why).await {
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
            return Ok(result_of(&ended, plan.time(context), &notes, &first.made));
        }
        let held = HeldProgram {
            held: Confinement::Outside(why.to_owned()),
            cwd: plan.cwd.real.clone(),
            gaps: BTreeSet::new(),
            made: known,
        };
        let second = run_held(&plan, held, work, context, cancelled).await?;
        let before = format!(
            "Inside the sandbox it failed, and the user let it run outside. Inside: {}\n",
            first.ended.how.line(plan.time(context))
        );
        let notes = [unsaved, warning(&first.made), before].concat();
        Ok(result_of(
            &second.ended,
            plan.time(context),
            &notes,
            &first.made,
        ))
    }

    /// The command as it would run outside of the sandbox.
    fn outside(&self, context: &ToolContext) -> OutsideCommand<'_> {
        let rules = &context.sandbox.rules.commands;
        OutsideCommand {
            command: &self.args.command,
            cwd: &self.cwd.real,
            rule: sparing(rules, &self.args.command, true),
            may_last: may_last(&self.args.command, &self.cwd.real, &open_places(context)),
        }
    }
}

#[async_trait]
impl Tool for RunCommand {
    fn spec(&self) -> &ToolSpec {
        &self.0
    }

    async fn plan(self: Arc<Self>, planning: Planning) -> Result<CallPlan, Unplanned> {
        let args: RunCommandArguments = planning.arguments()?;
        if args.command.trim().is_empty() {
            return Err(planning.invalid("`command` is empty").into());
        }
        let context = planning.context().clone();
        let wanted = args.cwd.clone().unwrap_or_else(|| ".".to_owned());
        let looked = off_thread(planning.work(), &context, move |_, context| {
            let folder = context.files.folder(&wanted)?;
            Ok((folder, not_seen(&context.files.unsaved())))
        });
        let (cwd, unsaved) = looked.await?;
        let rules = &context.sandbox.rules.commands;
        let made = context.sandbox.made();
        let verdict = context
            .sandbox
            .after_made(verdict(rules, &args.command, &cwd.real));
        let mut held = probe::confinement(&context).await;
        let outside = OutsideCommand {
            command: &args.command,
            cwd: &cwd.real,
            rule: None,
            may_last: may_last(&args.command, &cwd.real, &open_places(&context)),
        };
        let is_let_out = matches!(held, Confinement::Inside(_)) && outside.is_allowed(&context);
        if is_let_out {
            held = Confinement::Outside("you let it run outside the sandbox".to_owned());
        }
        let decision = CommandDecision::new(held, &verdict).ok_or(Unplanned::Denied)?;
        let gaps = gaps(planning.work(), &context, &decision.held).await?;
        let gap = gap_reason(&context, &gaps);
        let decision = decision.with_gaps(gap.clone());
        // What is allowed inside the sandbox is not allowed outside of it. Command, folder, and what the environment
        // has beyond the allow-list: nothing.
        let parts = match decision.held {
            Confinement::Outside(_) if is_let_out => outside.parts(),
            Confinement::Inside(_) => outside.parts_as("run_command in the sandbox"),
            Confinement::Outside(_) | Confinement::Free => outside.parts_as("run_command"),
        };
        let is_outside = matches!(decision.held, Confinement::Outside(_));
        let advice = match verdict {
            Verdict::Silent | Verdict::Allow if outside.may_last || !is_outside => {
                sparing(rules, &args.command, is_outside)
            }
            _ => None,
        };
        let notes: Vec<String> = unsaved.clone().into_iter().chain(advice).collect();
        let title = format!("Run `{}`", short_line(&in_sight(&args.command), 80));
        let preview = Preview::Command {
            text: in_sight(&args.command).into_owned(),
            cwd: visible(&cwd.real.to_string_lossy()).into_owned(),
        };
        let held = HeldProgram {
            held: decision.held.clone(),
            cwd: cwd.real.clone(),
            gaps,
            made,
        };
        let command = CommandPlan { args, cwd, unsaved };
        let plan = planning.running(title, |run| command.run(held, run));
        Ok(plan
            .preview(preview)
            .note((!notes.is_empty()).then(|| notes.join("\n")))
            .bound_to(parts.into_iter().chain(gap))
            .in_program(decision))
    }
}

/// The folders in which commands inside the sandbox may write.
fn open_places(context: &ToolContext) -> OpenPlaces {
    let rules = &context.sandbox.rules;
    let places = open_places::known().and(&rules.writable);
    places.and(&[context.files.root().to_owned()])
}

/// Text for the model if a person did not let a command run outside.
const REFUSED: &str =
    " The user was asked and does not let it run outside; do not try it in another way.";

/// A run of a command.
struct HeldRun {
    ended: Ended,
    was_inside: bool,
    /// Protected places that the command made or replaced.
    made: Vec<String>,
}

async fn run_held(
    plan: &CommandPlan,
    held: HeldProgram,
    work: &CallWork,
    context: &Arc<ToolContext>,
    cancelled: &CancellationToken,
) -> Result<HeldRun, String> {
    let was_inside = matches!(held.held, Confinement::Inside(_));
    let found_in = probe::found_in(&held.held, context);
    let (shell, found) = sandbox::shell(context.files.root());
    let program = match &held.held {
        Confinement::Inside(means) => means.shell.clone().into(),
        Confinement::Outside(_) | Confinement::Free => found,
    };
    if let Some(why) = shell.refusal(&plan.args.command) {
        return Err(format!("The command cannot be read: {why}."));
    }
    let job = Job {
        call: work.call,
        program,
        args: shell.arguments(&plan.args.command),
        verbatim: shell.is_verbatim(),
        cwd: plan.cwd.real.clone(),
        env: vec![],
        time: plan.time(context),
        drain: context.limits.drain,
        walls: None,
        inside: None,
        found_in,
    };
    let mut hold = Hold::new(held, work, context, cancelled).await?;
    let ended = loop {
        let ended = process::run(&hold.job(&job), context, cancelled).await;
        let is_again = match &ended {
            Ok(ended) => hold.anew(&ended.how, work, context, cancelled).await?,
            Err(_) => false,
        };
        if !is_again {
            break ended;
        }
    };
    let ended = ended.map_err(|error| format!("The command could not be run: {error}."))?;
    Ok(HeldRun {
        ended,
        was_inside,
        made: hold.made(work, context).await?,
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
        CommandEnd::NotStarted(_)
        | CommandEnd::Unbuilt(_)
        | CommandEnd::TimedOut
        | CommandEnd::Lost => ToolOutcome::Error(text),
        CommandEnd::Cancelled => ToolOutcome::Stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trial::ToolTrial;

    #[tokio::test]
    async fn is_shown_whole_with_nothing_hidden() {
        let trial = ToolTrial::new(&[("sub/a", "")]);
        let command = "echo a\nrm -rf \u{202e}x";
        let prepared = trial
            .prepared("run_command", json!({"command": command, "cwd": "sub"}))
            .await;
        let cwd = trial
            .context
            .files
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
