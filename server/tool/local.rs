//! Tools that are programs of the user's. `local/README.md` tells how one is written.
//!
//! A program is started for each run of a call, reads one JSON object on its standard input and writes an outcome, or
//! plain text, on its standard output. It runs inside the sandbox and under the supervisor, as commands do.

use std::{ffi::OsString, io::Read, path::Path, sync::Arc};

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use aside_base::{
    regular,
    system::{
        files::{FileFacts, file_system, number, touched},
        folders::canonical,
    },
    visible::{in_sight, short_line},
};
use aside_turn::{
    effect::CallWork,
    input::{Preview, ToolOutcome},
    question::Answer,
    rules::Class,
};

use super::{
    CallPlan, Planning, Tool, ToolContext, ToolRun, ToolSpec, Unplanned,
    hold::{HeldProgram, Hold, gap_reason, gaps, not_seen},
    off_thread, probe,
    process::{self, Job},
    sandbox::{CommandDecision, Confinement, commands::Verdict},
};

mod printed;

/// Bytes of a program in the workspace that an approval is bound to.
const PROGRAM: u64 = 64 << 20;

/// A program that is a tool, as it is configured.
#[derive(Clone, Debug, PartialEq)]
pub struct LocalDefinition {
    /// The name of the tool.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// The program and its arguments, at least one. No shell reads it.
    pub command: Vec<String>,
    /// The JSON schema of the arguments: an object.
    pub parameters: Value,
    /// Options that the program gets at each call.
    pub options: Map<String, Value>,
}

/// A tool that is a program of the user's.
pub struct LocalTool {
    spec: ToolSpec,
    definition: LocalDefinition,
    /// Hash of the definition, to which approvals are bound besides the call.
    hash: String,
}

impl LocalTool {
    /// The tool that a definition makes. What it does nobody knows, so it does more than reading and editing.
    #[must_use]
    pub fn new(definition: LocalDefinition) -> Self {
        let LocalDefinition {
            name,
            description,
            command,
            parameters,
            options,
        } = &definition;
        let mut spec = ToolSpec::new(name, description, parameters.clone());
        spec.class = Class::More;
        spec.questions = None;
        spec.runs_commands = true;
        spec.outside = true;
        let (parameters, options) = (parameters.to_string(), json!(options).to_string());
        let mut parts: Vec<&str> = vec![name, description, &parameters, &options];
        parts.extend(command.iter().map(String::as_str));
        let hash = aside_base::digest::of_parts(&parts);
        Self {
            spec,
            definition,
            hash,
        }
    }

    /// The whole call, as a person sees it before it may run.
    fn preview(&self, work: &CallWork, context: &ToolContext) -> String {
        let command = self.definition.command.iter().map(String::as_str);
        let line =
            shlex::try_join(command).unwrap_or_else(|_| format!("{:?}", self.definition.command));
        let arguments = serde_json::to_string_pretty(&work.arguments).unwrap_or_default();
        let root = context.files.root().display();
        in_sight(&format!("{line}\nin {root}\nwith {arguments}")).into_owned()
    }

    /// Input of the program.
    fn input(&self, work: &CallWork, context: &ToolContext) -> Vec<u8> {
        let answers = work.answers.iter().map(|(id, answer)| {
            let value = match answer {
                Answer::Value(value) => value.clone(),
                Answer::Secret(secret) => secret.reveal().into(),
            };
            (id.clone(), value)
        });
        let answers: Map<String, Value> = answers.collect();
        let input = json!({
            "name": self.definition.name,
            "arguments": work.arguments,
            "answers": answers,
            "options": self.definition.options,
            "context": {
                "root": context.files.root().to_string_lossy(),
                "conversation": context.conversation,
                "turn": context.turn,
            },
        });
        format!("{input}\n").into_bytes()
    }

    async fn answer(&self, held: HeldProgram, run: &ToolRun) -> Result<ToolOutcome, String> {
        let ToolRun {
            work,
            context,
            cancelled,
            ..
        } = run;
        let root = context.files.root().to_owned();
        let found_in = probe::found_in(&held.held, context);
        let mut words = self.definition.command.iter().map(OsString::from);
        let job = Job {
            call: work.call,
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            verbatim: false,
            cwd: root,
            env: vec![],
            time: context.limits.time,
            drain: context.limits.drain,
            walls: None,
            inside: None,
            found_in,
        };
        let input = self.input(work, context);
        let mut hold = Hold::new(held, work, context, cancelled).await?;
        let answered = loop {
            let answered = process::answer(&hold.job(&job), &input, context, cancelled).await;
            let is_again = match &answered {
                Ok(answered) => hold.anew(&answered.how, work, context, cancelled).await?,
                Err(_) => false,
            };
            if !is_again {
                break answered;
            }
        };
        let answered = answered
            .map_err(|error| format!("{} could not be run: {error}; tell the user.", work.tool))?;
        let made = hold.made(work, context).await?;
        off_thread(work, context, move |work, context| {
            Ok(printed::outcome_of(answered, &made, work, context))
        })
        .await
    }
}

#[async_trait]
impl Tool for LocalTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan(self: Arc<Self>, planning: Planning) -> Result<CallPlan, Unplanned> {
        let (work, context) = (planning.work().clone(), planning.context().clone());
        // The user's rules are for command lines of the model's; this command is the user's own.
        let made = context.sandbox.made();
        let held = probe::confinement(&context).await;
        let decision = CommandDecision::new(held, &Verdict::Silent);
        let decision =
            decision.ok_or_else(|| "A rule of the user's denies this tool.".to_owned())?;
        let gaps = gaps(&work, &context, &decision.held).await?;
        let gap = gap_reason(&context, &gaps);
        let decision = decision.with_gaps(gap.clone());
        let command = self.definition.command.clone();
        let looked = off_thread(&work, &context, move |_, context| {
            let programs = programs(context.files.root(), &command);
            Ok((programs, not_seen(&context.files.unsaved())))
        });
        let (programs, unsaved) = looked.await?;
        // What is allowed inside the sandbox is not allowed outside of it.
        let place = match decision.held {
            Confinement::Inside(_) => "local tool in the sandbox",
            Confinement::Outside(_) | Confinement::Free => "local tool",
        };
        let root = context.files.root().to_string_lossy();
        let parts = [place, &self.hash, &work.arguments.to_string(), &root];
        let parts: Vec<String> = parts
            .map(str::to_owned)
            .into_iter()
            .chain(programs)
            .chain(gap)
            .collect();
        let program = self.definition.command.join(" ");
        let title = format!("Run {}: `{}`", work.tool, short_line(&program, 60));
        let text = self.preview(&work, &context);
        let held = HeldProgram {
            held: decision.held.clone(),
            cwd: context.files.root().to_owned(),
            gaps,
            made,
        };
        let plan = planning.running(title, |run| async move { self.answer(held, &run).await });
        Ok(plan
            .preview(Preview::Text { text })
            .note(unsaved)
            .bound_to(parts)
            .in_program(decision))
    }
}

/// What lies where the words of a command name files of the workspace, which the model may edit. A program elsewhere is
/// the user's own business.
fn programs(root: &Path, command: &[String]) -> Vec<String> {
    let named = command.iter().filter_map(|word| {
        let path = canonical(&root.join(word)).ok()?;
        path.starts_with(root).then(|| digest_of(&path))
    });
    named.collect()
}

/// SHA-256 of a file that an approval is bound to; empty where there is none. Of one that is too large, its state, which is
/// another one after each change.
fn digest_of(path: &Path) -> String {
    let looked = regular::open(path).and_then(|file| Ok((FileFacts::of(&file)?, file)));
    match looked {
        Ok((about, file)) if about.len() <= PROGRAM => {
            aside_base::digest::of_reader(file.take(PROGRAM)).unwrap_or_default()
        }
        Ok((about, _)) => {
            let (seconds, rest) = touched(&about);
            let (system, number) = (file_system(&about), number(&about));
            format!("{system} {number} {} {seconds}.{rest:09}", about.len())
        }
        Err(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_allowed_is_bound_to_a_large_program_as_long_as_nobody_writes_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("tool");
        let file = fs::File::create(&path).unwrap();
        file.set_len(PROGRAM + 1).unwrap();
        let before = digest_of(&path);
        assert_eq!(digest_of(&path), before);
        file.set_len(PROGRAM + 2).unwrap();
        assert_ne!(digest_of(&path), before);
    }
}
