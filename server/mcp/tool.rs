//! A tool of a server, as the machine of tools sees it.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, PoisonError},
};

use aside_base::visible::{in_sight, short_line};
use aside_turn::{
    effect::CallWork,
    input::{Preparation, Prepared, Preview, ToolOutcome, ToolOutput},
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
use crate::tool::{PreparedCall, Tool, ToolContext, ToolSpec, fitted};

/// Times that a server may ask for more in one run of a call.
const ROUNDS: usize = 8;

/// A tool of a server.
pub(super) struct McpTool {
    about: ToolSpec,
    listed: ListedTool,
    server: Arc<HeldServer>,
    /// What approvals are bound to, besides the arguments.
    hash: String,
    /// Calls that the server answered with questions.
    waiting: Mutex<HashMap<CallKey, WaitingCall>>,
}

/// A call that waits for answers.
#[derive(Clone)]
struct WaitingCall {
    forms: Vec<(String, Form)>,
    state: Option<String>,
    /// Times that the server asked in this call.
    round: usize,
}

impl McpTool {
    pub(super) fn new(listed: ListedTool, server: Arc<HeldServer>) -> Self {
        let mut about = ToolSpec::new(&listed.name, &listed.description, listed.schema.clone());
        about.class = Class::More;
        about.questions = None;
        about.runs_commands = true;
        about.outside = true;
        about.server = Some(server.definition.name.clone());
        about.time = server.definition.call;
        let hash = aside_base::digest::of_parts(&["mcp", &server.definition.hash(), &listed.hash]);
        Self {
            about,
            listed,
            server,
            hash,
            waiting: Mutex::default(),
        }
    }

    async fn answer(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<ToolOutcome, String> {
        let connection = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Ok(ToolOutcome::Stopped),
            connection = self.server.connection(&self.listed) => connection?,
        };
        if !connection.is_older {
            return self.rounds(&connection, work, host, cancelled).await;
        }
        let turn = tokio::select! {
            biased;
            () = cancelled.cancelled() => return Ok(ToolOutcome::Stopped),
            turn = self.server.turns.lock() => turn,
        };
        let (asking, call) = (host.clone(), work.call);
        let person: AskPerson = Arc::new(move |question| (asking.ask_live)(call, question));
        connection.questions.ask_through(Some(person));
        let outcome = self.rounds(&connection, work, host, cancelled).await;
        let fault = connection.questions.take_fault();
        let unanswered = connection.questions.take_unanswered();
        connection.questions.ask_through(None);
        drop(turn);
        match (fault, unanswered) {
            (Some(fault), _) => Err(faulty(&fault)),
            (None, Some(why)) => Ok(without_answer(outcome?, &why)),
            (None, None) => outcome,
        }
    }

    /// Calls the server, and again with answers, as long as they are there.
    async fn rounds(
        &self,
        connection: &Connection,
        work: &CallWork,
        host: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> Result<ToolOutcome, String> {
        let mut waiting = self.waiting().remove(&work.call);
        for _ in 0..ROUNDS {
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
                            self.waiting().insert(work.call, call);
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
            let result = match connection.call(params, cancelled).await {
                Ok(result) => result,
                // What it kept of the call is gone: it is called afresh, and what it asks is answered from what is there.
                Err(CallFault::Expired) if round > 0 => continue,
                Err(fault) => return self.failed(fault),
            };
            match reply::read(&result) {
                CallReply::Done { parts, is_error } => {
                    let output = ToolOutput::text(text_off_thread(host, parts).await?);
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
                        forms: forms.map_err(|fault| faulty(&fault))?,
                        state,
                        round,
                    });
                }
                CallReply::Unknown(why) => return Err(why),
            }
        }
        Err("it asks again and again".to_owned())
    }

    fn failed(&self, fault: CallFault) -> Result<ToolOutcome, String> {
        match fault {
            CallFault::Cancelled => Ok(ToolOutcome::Stopped),
            CallFault::Gone => Err(
                "it ended while the call ran; its effects are unknown. Look before you run it again"
                    .to_owned(),
            ),
            CallFault::Expired => Err("it forgot the call".to_owned()),
            CallFault::Refused(why) => Err(why),
        }
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, HashMap<CallKey, WaitingCall>> {
        // Each change is one insert or one removal.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a call with a question that has no answer, whatever the server makes of that.
fn without_answer(outcome: ToolOutcome, why: &str) -> ToolOutcome {
    match outcome {
        ToolOutcome::Success(output) | ToolOutcome::Error(output) => {
            let text = format!("{why}\nThe server says: {}", output.content);
            ToolOutcome::Error(ToolOutput::text(text))
        }
        outcome => outcome,
    }
}

/// The text for the model, within its bounds. What is left out of it is kept, which may wait for a disk.
async fn text_off_thread(host: &Arc<ToolContext>, parts: Vec<ReplyPart>) -> Result<String, String> {
    let host = host.clone();
    let fitted = tokio::task::spawn_blocking(move || {
        let parts = parts.into_iter().map(|part| part.text(&host.keep_blob));
        fitted(&host, parts.collect::<Vec<_>>().join("\n"))
    });
    fitted
        .await
        .map_err(|_| "its result was lost inside Aside".to_owned())
}

/// Why a form is shown to nobody, for the model.
fn faulty(fault: &FormFault) -> String {
    match fault {
        FormFault::Secret(field) => format!(
            "it asks for a secret (`{}`) in a form, which is refused; a secret of a server belongs into its \
             environment, so tell the user",
            short_line(field, 80)
        ),
        FormFault::Unknown(why) => format!("it asks in a way that Aside does not know: {why}"),
    }
}

#[async_trait]
impl Tool for McpTool {
    fn about(&self) -> &ToolSpec {
        &self.about
    }

    async fn prepare(&self, work: &CallWork, host: &Arc<ToolContext>) -> Preparation {
        let arguments = work.arguments.to_string();
        let hash = aside_base::digest::of_parts(&[&self.hash, &arguments]);
        let as_prepared = PreparedCall {
            hash: hash.clone(),
            ..PreparedCall::default()
        };
        host.seen().prepared(work.call, as_prepared);
        let server = &self.server.definition.name;
        let shown = serde_json::to_string_pretty(&work.arguments).unwrap_or_default();
        let destroys = "It does not say that it destroys nothing.".to_owned();
        Preparation::Ready(Prepared {
            class: Class::More,
            title: format!(
                "Run {} of the server {server}",
                short_line(&self.listed.remote, 64)
            ),
            preview: Some(Preview::Text {
                text: in_sight(&shown).into_owned(),
            }),
            approved: host.allowed.contains(&work.tool) || (host.approved)(&hash),
            hash,
            must_ask: None,
            note: (!self.listed.is_harmless).then_some(destroys),
            // Servers run outside of it.
            sandboxed: host.sandbox.rules.unsandboxed,
        })
    }

    async fn run(
        &self,
        work: &CallWork,
        host: &Arc<ToolContext>,
        cancelled: &CancellationToken,
    ) -> ToolOutcome {
        let answered = self.answer(work, host, cancelled).await;
        answered.unwrap_or_else(|why| {
            let server = &self.server.definition.name;
            let why = why.trim_end_matches('.');
            let text = format!("{}: the server {server} failed: {why}.", work.tool);
            ToolOutcome::Error(ToolOutput::text(text))
        })
    }
}
