//! Tools that are programs of the user's. `local/README.md` tells how one is written.
//!
//! A program is started for each run of a call, reads one JSON object on its standard input and writes an outcome, or
//! plain text, on its standard output. It runs inside the sandbox and under the supervisor, as commands do.

use std::{ffi::OsString, io::Read, path::Path, sync::Arc};

use aside_base::{
    regular,
    visible::{in_sight, short_line},
};
use aside_turn::{
    effect::CallWork,
    input::{Preparation, Prepared, Preview, ToolOutcome},
    question::Answer,
    rules::Class,
};
use async_trait::async_trait;
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Tool, ToolContext, ToolSpec,
    hold::{Hold, not_seen},
    host::PreparedCall,
    off_thread, outcome, preparation, probe,
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
    /// What it does and when to use it, for the model.
    pub description: String,
    /// The program and its arguments, at least one. No shell reads it.
    pub command: Vec<String>,
    /// The JSON schema of the arguments: an object.
    pub parameters: Value,
    /// What the program is given at each call besides.
    pub options: Map<String, Value>,
}

/// A tool that is a program of the user's.
pub struct LocalTool {
    about: ToolSpec,
    definition: LocalDefinition,
    /// What approvals are bound to, besides the call.
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
        let mut about = ToolSpec::new(name, description, parameters.clone());
        about.class = Class::More;
        about.questions = None;
        about.runs_commands = true;
        about.outside = true;
        let (parameters, options) = (parameters.to_string(), json!(options).to_string());
        let mut parts: Vec<&str> = vec![name, description, &parameters, &options];
        parts.extend(command.iter().map(String::as_str));
        let hash = aside_base::digest::of_parts(&parts);
        Self {
            about,
            definition,
            hash,
        }
    }

    async fn plan(&self, work: &CallWork, host: &Arc<ToolContext>) -> Result<LocalPlan, String> {
        // The user's rules are for command lines of the model's; this command is the user's own.
        let held = probe::confinement(host).await;
        let decision = CommandDecision::new(held, &Verdict::Silent);
        let decision = decision.ok_or("A rule of the user's denies this tool.")?;
        let command = self.definition.command.clone();
        let programs = off_thread(work, host, move |_, host| {
            Ok(programs(host.workspace.root(), &command))
        });
        let programs = programs.await?;
        // What is allowed inside the sandbox is not allowed outside of it.
        let place = match decision.held {
            Confinement::Inside(_) => "local tool in the sandbox",
            Confinement::Outside(_) | Confinement::Free => "local tool",
        };
        let (arguments, root) = (work.arguments.to_string(), host.workspace.root());
        let root = root.to_string_lossy();
        let mut parts = vec![place, &self.hash, &arguments, &root];
        parts.extend(programs.iter().map(String::as_str));
        Ok(LocalPlan {
            hash: aside_base::digest::of_parts(&parts),
            decision,
        })
    }

    /// What a person sees before the call may run: all of it.
    fn preview(&self, work: &CallWork, host: &ToolContext) -> String {
        let command = self.definition.command.iter().map(String::as_str);
        let line =
            shlex::try_join(command).unwrap_or_else(|_| format!("{:?}", self.definition.command));
        let arguments = serde_json::to_string_pretty(&work.arguments).unwrap_or_default();
        let root = host.workspace.root().display();
        in_sight(&format!("{line}\nin {root}\nwith {arguments}")).into_owned()
    }

    /// What the program reads.
    fn input(&self, work: &CallWork, host: &ToolContext) -> Vec<u8> {
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
                "root": host.workspace.root().to_string_lossy(),
                "conversation": host.conversation,
                "turn": host.turn,
            },
        });
        format!("{input}\n").into_bytes()
    }

    async fn answer(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<ToolOutcome, String> {
        let plan = self.plan(work, host).await?;
        if !host.seen().is_as_prepared(work.call, &plan.hash) {
            return Err("What this would run changed since it was approved; call it again.".into());
        }
        let root = host.workspace.root().to_owned();
        let hold = Hold::new(work, host, plan.decision.held, root.clone()).await?;
        let mut words = self.definition.command.iter().map(OsString::from);
        let job = Job {
            call: work.call,
            program: words.next().unwrap_or_default(),
            args: words.collect(),
            cwd: root,
            env: vec![],
            time: host.limits.time,
            drain: host.limits.drain,
            walls: hold.walls.clone(),
        };
        let input = self.input(work, host);
        let answered = process::answer(&job, &input, host, cancelled).await;
        let answered = answered
            .map_err(|error| format!("{} could not be run: {error}; tell the user.", work.tool))?;
        let made = hold.made(work, host).await?;
        off_thread(work, host, move |work, host| {
            Ok(printed::outcome_of(answered, &made, work, host))
        })
        .await
    }
}

/// What a call would run.
struct LocalPlan {
    decision: CommandDecision,
    hash: String,
}

#[async_trait]
impl Tool for LocalTool {
    fn about(&self) -> &ToolSpec {
        &self.about
    }

    async fn prepare(&self, work: &CallWork, host: &Arc<ToolContext>) -> Preparation {
        let unsaved = off_thread(work, host, |_, host| Ok(host.unsaved())).await;
        preparation(self.plan(work, host).await.map(|plan| {
            let as_prepared = PreparedCall {
                hash: plan.hash.clone(),
                ..PreparedCall::default()
            };
            host.seen().prepared(work.call, as_prepared);
            let program = self.definition.command.join(" ");
            Preparation::Ready(Prepared {
                class: Class::More,
                title: format!("Run {}: `{}`", work.tool, short_line(&program, 60)),
                preview: Some(Preview::Text {
                    text: self.preview(work, host),
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
        outcome(self.answer(work, host, cancelled).await)
    }
}

/// What lies where the words of a command name files of the workspace, which the model may edit. A program elsewhere is
/// the user's own business.
fn programs(root: &Path, command: &[String]) -> Vec<String> {
    let named = command.iter().filter_map(|word| {
        let path = root.join(word).canonicalize().ok()?;
        let digest = || {
            let file = regular::open(&path).ok()?;
            aside_base::digest::of_reader(file.take(PROGRAM)).ok()
        };
        path.starts_with(root).then(|| digest().unwrap_or_default())
    });
    named.collect()
}
