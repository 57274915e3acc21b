//! A server's tool, as an implementation of [`Tool`].

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex},
};

use aside_base::{lock, visible::short_line};
use aside_tool::{CallPlan, Planning, Tool, ToolContext, ToolSpec, Unplanned, fitted};
use aside_turn::{
    attachment::{Attachment, Content, Media},
    effect::CallWork,
    input::{ToolOutcome, ToolOutput},
    record::CallKey,
    rules::Class,
};
use async_trait::async_trait;
use rmcp::model::CallToolRequestParams;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    connection::{CallFault, Connection},
    form::{Form, FormFault, answers_to},
    listing::ListedTool,
    questions::AskPerson,
    reply::{self, CallReply, ReplyPart},
    server::HeldServer,
};

/// Maximum number of times that a server may ask in one run of a call.
const MAX_ROUNDS: usize = 8;

/// A server's tool.
pub(super) struct McpTool {
    spec: ToolSpec,
    listed: ListedTool,
    server: Arc<HeldServer>,
    /// Hash that approvals are bound to, besides the arguments.
    hash: String,
    /// Calls that wait for answers to the server's questions.
    waiting: Mutex<HashMap<CallKey, WaitingCall>>,
}

/// A call that waits for answers.
#[derive(Clone)]
struct WaitingCall {
    forms: Vec<(String, Form)>,
    state: Option<String>,
    /// Number of times that the server asked in this call.
    round: usize,
}

impl McpTool {
    pub(super) fn new(listed: ListedTool, server: Arc<HeldServer>) -> Self {
        let mut spec = ToolSpec::new(&listed.name, &listed.description, listed.schema.clone());
        spec.class = Class::More;
        spec.questions = None;
        spec.runs_commands = true;
        spec.outside = true;
        spec.server = Some(server.definition.name.clone());
        spec.time = server.definition.call;
        let hash = aside_base::digest::of_parts(&["mcp", &server.definition.hash(), &listed.hash]);
        Self {
            spec,
            listed,
            server,
            hash,
            waiting: Mutex::default(),
        }
    }

    async fn answer(
        &self,
        work: &CallWork,
        context: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<ToolOutcome, String> {
        let say = |said: &str| (context.progress)(work.call, said);
        let connection = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Ok(ToolOutcome::Stopped),
            connection = self.server.connection(&self.listed, say) => connection?,
        };
        if !connection.is_older {
            return self.rounds(&connection, work, context, cancelled).await;
        }
        let turn = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Ok(ToolOutcome::Stopped),
            turn = self.server.turns.lock() => turn,
        };
        let (ask, call) = (context.ask_live.clone(), work.call);
        let person: AskPerson = Arc::new(move |question| ask(call, question));
        let asks = connection.questions.ask_through(person);
        let outcome = self.rounds(&connection, work, context, cancelled).await;
        let fault = connection.questions.take_fault();
        let unanswered = connection.questions.take_unanswered();
        drop(asks);
        drop(turn);
        match (fault, unanswered) {
            (Some(fault), _) => Err(form_fault(&fault)),
            (None, Some(why)) => Ok(without_answer(outcome?, &why)),
            (None, None) => outcome,
        }
    }

    /// Calls the server, and calls it again with answers as long as they are available.
    async fn rounds(
        &self,
        connection: &Connection,
        work: &CallWork,
        context: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<ToolOutcome, String> {
        let mut waiting = lock(&self.waiting).remove(&work.call);
        for _ in 0..MAX_ROUNDS {
            let mut params = CallToolRequestParams::new(self.listed.remote.clone());
            if let Value::Object(arguments) = &work.arguments {
                params = params.with_arguments(arguments.clone());
            }
            let round = waiting.as_ref().map_or(0, |it| it.round);
            if let Some(call) = waiting.take() {
                let mut responses = BTreeMap::new();
                for (key, form) in &call.forms {
                    match answers_to(form.questions(), &work.answers) {
                        Ok(answers) => drop(responses.insert(key.clone(), form.reply(&answers))),
                        Err(question) => {
                            let question = question.clone();
                            lock(&self.waiting).insert(work.call, call);
                            return Ok(ToolOutcome::NeedsInput(question));
                        }
                    }
                }
                if !responses.is_empty() {
                    params = params.with_input_responses(responses);
                }
                if let Some(state) = call.state {
                    params = params.with_request_state(state);
                }
            }
            let (key, shown) = (work.call, context.clone());
            let report = Box::new(move |said: &str| (shown.progress)(key, said));
            let result = match connection.call(params, cancelled, report).await {
                Ok(result) => result,
                // The server's state has expired: the call starts again, and known answers are reused.
                Err(CallFault::Expired) if round > 0 => continue,
                Err(fault) => return self.failed(fault),
            };
            match reply::read(&result) {
                CallReply::Done { parts, is_error } => {
                    let output = output_off_thread(context, &work.tool, parts).await?;
                    return Ok(match is_error {
                        true => ToolOutcome::Error(output),
                        false => ToolOutcome::Success(output),
                    });
                }
                CallReply::Asks { forms, state } => {
                    let round = round + 1;
                    let read = forms.iter().map(|(key, params)| {
                        let id = match round {
                            1 => key.clone(),
                            _ => format!("{key}.{round}"),
                        };
                        Form::read(params, &id).map(|form| (key.clone(), form))
                    });
                    let forms: Result<Vec<_>, FormFault> = read.collect();
                    waiting = Some(WaitingCall {
                        forms: forms.map_err(|fault| form_fault(&fault))?,
                        state,
                        round,
                    });
                }
                CallReply::Unknown(why) => return Err(why),
            }
        }
        Err(format!("it asked more than {MAX_ROUNDS} times"))
    }

    fn failed(&self, fault: CallFault) -> Result<ToolOutcome, String> {
        match fault {
            CallFault::Cancelled => Ok(ToolOutcome::Stopped),
            CallFault::Gone => Err(
                "it ended while the call ran, so the effects are unknown. Check them before you run it again"
                    .to_owned(),
            ),
            CallFault::Expired => Err("it no longer knows the call".to_owned()),
            CallFault::Refused(why) => Err(why),
        }
    }
}

/// Result of a call whose question was not answered: an error, whatever the server returned.
fn without_answer(outcome: ToolOutcome, why: &str) -> ToolOutcome {
    match outcome {
        ToolOutcome::Success(output) | ToolOutcome::Error(output) => {
            let text = format!("{why}\nThe server answered: {}", output.content);
            ToolOutcome::Error(ToolOutput::text(text))
        }
        outcome => outcome,
    }
}

/// The text for the model, within its limits, and the images and documents that it names. All of it is stored, which
/// may block on disk.
async fn output_off_thread(
    context: &Arc<ToolContext>,
    tool: &str,
    parts: Vec<ReplyPart>,
) -> Result<ToolOutput, String> {
    let (context, tool) = (context.clone(), tool.to_owned());
    let output = tokio::task::spawn_blocking(move || {
        let read = parts
            .into_iter()
            .map(|part| part.for_model(&context.keep_blob));
        let (texts, media): (Vec<String>, Vec<Option<Media>>) = read.unzip();
        let shown = media.into_iter().flatten().enumerate();
        let attachment = |(at, media): (usize, Media)| Attachment {
            name: format!("{tool} {}", at + 1),
            content: Content::Media(media),
        };
        ToolOutput {
            media: shown.map(attachment).collect(),
            ..ToolOutput::text(fitted(&context, texts.join("\n")))
        }
    });
    output
        .await
        .map_err(|_| "its result was lost because of an error in Aside".to_owned())
}

/// Explains to the model why a form is shown to nobody.
fn form_fault(fault: &FormFault) -> String {
    match fault {
        FormFault::Secret(field) => format!(
            "it asked for a secret (`{}`) in a form, which is not allowed; tell the user to set the secret in the \
             server's environment",
            short_line(field, 80)
        ),
        FormFault::Unknown(why) => {
            format!("it asked a question that Aside does not support: {why}")
        }
    }
}

#[async_trait]
impl Tool for McpTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    async fn plan(self: Arc<Self>, planning: Planning) -> Result<CallPlan, Unplanned> {
        let arguments = &planning.work().arguments;
        let parts = [self.hash.clone(), arguments.to_string()];
        let server = self.server.definition.name.clone();
        let remote = short_line(&self.listed.remote, 64);
        let title = format!("Run {remote} of the server {server}");
        let destroys = "The server does not declare this tool as non-destructive.".to_owned();
        let note = (!self.listed.is_harmless).then_some(destroys);
        let plan = planning.running(title, |run| async move {
            let answered = self.answer(&run.work, &run.context, &run.cancelled).await;
            answered.map_err(|why| {
                let why = why.trim_end_matches('.');
                format!("{}: the server {server} failed: {why}.", run.work.tool)
            })
        });
        Ok(plan.note(note).bound_to(parts).elsewhere())
    }
}
