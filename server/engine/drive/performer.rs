//! Performs the effects of a turn: records, tasks, messages to the front end.

use std::{
    collections::{BTreeSet, HashMap, HashSet},
    io::ErrorKind,
    sync::Arc,
    time::Duration,
};

use aside_provider::{Head, ModelRequest, Provider, SharedBody, flatten};
use aside_session::{
    approvals::Approvals,
    record::{Entry, Frozen, TurnOptions},
};
use aside_tool::{ToolContext, registry::Registry};
use aside_turn::{
    Effect,
    effect::{self, CallWork, End, RequestKind, Update},
    input::{Input, Time},
    question::Answer,
    record::{CallKey, Event, Outcome, Refused},
    rules::{Feature, Model},
    transcript::Fork,
};
use serde_json::Value;
use tokio::sync::mpsc;

use super::{
    assistants::Assistants,
    durable::Durability,
    growing::GrowingTranscript,
    handle::TurnMessage,
    hooks::{Edits, Secrets},
    live::LiveQuestions,
    notice::TurnNotice,
    state::ConversationState,
    step_room::StepRoom,
    tasks::{Happening, TurnTasks},
    trace::Trace,
    writer::LogWriter,
};

/// Performs the effects of one turn, and owns everything that they need.
pub(in crate::engine) struct Performer {
    pub(in crate::engine) writer: Arc<LogWriter>,
    pub(in crate::engine) durability: Durability,
    pub(in crate::engine) transcript: GrowingTranscript,
    /// Ids of the conversation's turns, including this one.
    pub(in crate::engine) turns: HashSet<String>,
    /// When a request to a model was under way last.
    pub(in crate::engine) asked_at: Option<Time>,
    pub(in crate::engine) head: Arc<Head>,
    pub(in crate::engine) frozen: Frozen,
    pub(in crate::engine) learned: BTreeSet<(String, Refused)>,
    pub(in crate::engine) options: TurnOptions,
    pub(in crate::engine) schema: Option<Value>,
    pub(in crate::engine) provider: Arc<dyn Provider>,
    pub(in crate::engine) assistants: Assistants,
    pub(in crate::engine) shared: Arc<SharedBody>,
    pub(in crate::engine) registry: Arc<Registry>,
    pub(in crate::engine) context: Arc<ToolContext>,
    pub(in crate::engine) approvals: Approvals,
    pub(in crate::engine) secrets: Secrets,
    pub(in crate::engine) room: StepRoom,
    pub(in crate::engine) edits: Edits,
    pub(in crate::engine) live: LiveQuestions,
    pub(in crate::engine) front: mpsc::Sender<TurnMessage>,
    pub(in crate::engine) happenings: mpsc::Receiver<Happening>,
    pub(in crate::engine) tasks: TurnTasks,
    pub(in crate::engine) call_ids: HashMap<CallKey, String>,
    pub(in crate::engine) trace: Trace,
    pub(in crate::engine) end: Option<End>,
    /// Whether a summary was taken back, so that the transcript is another one than it was.
    pub(in crate::engine) took_summary_back: bool,
}

impl Performer {
    /// Performs one effect.
    ///
    /// # Errors
    /// Fails if an event could not be written to disk: the effects after it must not happen.
    pub(super) async fn perform(&mut self, effect: Effect) -> Result<(), String> {
        if let Effect::Prepare(_) | Effect::Run(_) | Effect::Send(_) = effect {
            self.earlier_turns().await?;
        }
        match effect {
            Effect::Record(event) => {
                let edited = self.edited(&event);
                self.record(event)?;
                if let Some(edited) = edited {
                    self.tell(edited).await;
                }
            }
            Effect::Prepare(work) => self.prepare(work),
            Effect::Run(work) => self.run(work),
            Effect::Stop(call) => self.tasks.stop(call),
            Effect::Send(request) => self.send(request),
            Effect::Abort(id) => self.tasks.abort(id),
            Effect::AnswerLive(call, number, answer) => {
                if let Ok(Answer::Secret(secret)) = &answer {
                    self.secrets.add(call, secret.clone());
                }
                self.live.answer(call, number, answer);
            }
            Effect::OpenPrompt(prompt) => self.tell(TurnMessage::Prompt(prompt)).await,
            Effect::ClosePrompt(prompt, why) => self.tell(TurnMessage::Dismiss(prompt, why)).await,
            Effect::KeepApproval(approval) => {
                if let Err(error) = self.approvals.keep(*approval, self.writer.now()) {
                    tracing::warn!(%error, "the approval was not kept; it holds for this turn");
                }
            }
            Effect::Check(text) => self.check(text),
            Effect::Tell(update) => self.tell(TurnMessage::Update(update)).await,
            Effect::End(end) => self.end = Some(end),
        }
        Ok(())
    }

    /// Waits until everything is there that was said before the turn: requests and tools need it.
    async fn earlier_turns(&mut self) -> Result<(), String> {
        let arrived = self.transcript.arrive().await;
        let arrived = arrived
            .map_err(|error| format!("its log cannot be read: {error}; look at its folder"))?;
        if let Some((seen, faults)) = arrived {
            self.context.seen().follows(seen);
            for fault in faults {
                fault.report.map(|event| self.record(event)).transpose()?;
                let notice = TurnNotice::Damage(fault.text);
                self.tell(TurnMessage::Notice(notice)).await;
            }
        }
        Ok(())
    }

    fn record(&mut self, mut event: Event) -> Result<(), String> {
        if let Event::Compacted { ledger, .. } = &mut event {
            let window = self.provider.model().context_window;
            let of_all = self.transcript.here_mut().ledger_mut();
            match self.approvals.read() {
                Ok(kept) => of_all.revoke(|hash| kept.contains(hash)),
                Err(error) => tracing::warn!(%error, "revoked approvals may be in the ledger"),
            }
            *ledger = of_all.for_request(window);
        }
        if event.is_of_request() {
            self.asked_at = Some(self.writer.now());
        }
        self.took_summary_back |= matches!(event, Event::CompactionUndone { .. });
        if let Event::ToolCall { call, id, .. } = &event {
            self.call_ids.insert(*call, id.clone());
        }
        if let Event::Learned { model, refuses } = &event {
            self.learned.insert((model.clone(), refuses.clone()));
        }
        self.trace.record(&event);
        self.context.seen().follow(&event);
        self.transcript.push(&event);
        let most = self.provider.model().compacts_at;
        if most.is_some_and(|most| event.context().is_some_and(|tokens| tokens > most)) {
            // A summary comes before the next request, and the results of these calls stand behind it.
            self.context.seen().forget_given();
        }
        let entry = match event {
            Event::TurnStart => Entry::TurnStart {
                options: self.options.clone(),
            },
            event => Entry::from(event),
        };
        self.writer.append(&entry).map_err(|error| {
            let advice = match error.kind() {
                ErrorKind::NotFound => "begin a new conversation",
                _ => "make room or fix the folder, then resume",
            };
            format!("{error}; {advice}")
        })
    }

    fn prepare(&mut self, work: CallWork) {
        self.call_ids.insert(work.call, work.id.clone());
        self.secrets.of(&work);
        let (registry, context) = (self.registry.clone(), self.context.clone());
        let (call, limit) = (work.call, self.context.limits.time);
        self.tasks.prepare(call, limit, async move {
            registry.prepare(&work, &context).await
        });
    }

    fn run(&mut self, work: CallWork) {
        let (registry, context) = (self.registry.clone(), self.context.clone());
        let (secrets, room) = (self.secrets.clone(), self.room.clone());
        self.live.begin(work.call);
        self.tasks.run(work.call, |token| async move {
            let outcome = registry.run(&work, &context, &token).await;
            let outcome = secrets.redact(work.call, outcome);
            room.fit(outcome, &work.answers, &context).await
        });
    }

    fn send(&mut self, request: effect::Request) {
        let effect::Request {
            id,
            kind,
            tool_choice,
            reasoning,
            without,
            left_out,
        } = request;
        let mut provider = self.provider.clone();
        let mut sent = ModelRequest {
            head: self.head.clone(),
            transcript: self.own_fork(&without),
            shared: self.shared.clone(),
            messages: Vec::new(),
            compacts: false,
            inquiry: None,
            tool_choice,
            reasoning,
            schema: None,
            without,
            left_out,
        };
        match kind {
            RequestKind::Turn { native_schema, .. } => {
                self.room.begin_step();
                sent.schema = self.schema.clone().filter(|_| native_schema);
            }
            RequestKind::Compaction {
                messages,
                shortened,
            } => {
                sent.transcript = sent.transcript.before_calls();
                sent.messages = messages;
                if shortened {
                    let window = self.provider.model().context_window;
                    sent.transcript = sent.transcript.with_short_results(window);
                    sent.shared = Arc::new(SharedBody::new(self.shared.conversation()));
                }
            }
            RequestKind::NativeCompaction => {
                sent.transcript = sent.transcript.before_response();
                sent.compacts = true;
            }
            RequestKind::Inquiry(ask) => {
                self.trace.ask(&ask);
                sent.messages = ask.messages;
                if let Some(assistant) = &ask.assistant {
                    let found = match self.assistants.get(&assistant.name) {
                        Ok(found) => found,
                        Err(text) => return self.tasks.fail(id, text),
                    };
                    let model = found.provider.model();
                    // It is told everything as text.
                    let transcript = self.fork_for(model, false);
                    (sent.transcript, sent.messages) =
                        flatten(&transcript, &sent.messages, model.context_window);
                    sent.shared = Arc::new(SharedBody::new(self.shared.conversation()));
                    sent.head = found.head;
                    provider = found.provider;
                }
                sent.inquiry = Some(ask.strategy);
                sent.schema = ask.schema;
            }
        }
        self.tasks.request(id, provider, sent);
    }

    /// The conversation as the turn's own model is sent it.
    fn own_fork(&self, without: &BTreeSet<Feature>) -> Fork {
        let model = self.provider.model();
        let fullness = self.transcript.here().fullness();
        let reads = fullness.reads_native(&model.id) && !without.contains(&Feature::History);
        self.fork_for(model, reads)
    }

    /// The conversation as this model is sent it. `reads` says whether it takes summaries of its own back.
    fn fork_for(&self, model: &Model, reads: bool) -> Fork {
        let fork = self.transcript.here().fork();
        fork.read_by(&model.id, reads, model.context_window)
    }

    fn check(&mut self, text: String) {
        let schema = self.schema.clone().unwrap_or(Value::Bool(true));
        self.tasks.check(async move {
            let checked = tokio::task::spawn_blocking(move || fits_schema(&schema, &text)).await;
            checked.unwrap_or_else(|_| Err("the check failed because of an error in Aside".into()))
        });
    }

    async fn tell(&mut self, message: TurnMessage) {
        // A front end that is gone reports that itself, through the turn's handle.
        let _ = self.front.send(message).await;
    }

    /// Handles an event of a task or a tool. Returns the input for the turn, if there is one.
    pub(super) async fn incoming(&mut self, happening: Happening) -> Option<Input> {
        match happening {
            Happening::Turn(input) => {
                if let Input::Finished(call, _) = &input {
                    self.live.end(*call);
                }
                Some(input)
            }
            Happening::Output(call, text) => {
                if let Some(call_id) = self.call_ids.get(&call).cloned() {
                    let output = Update::ToolOutput { call_id, text };
                    self.tell(TurnMessage::Update(output)).await;
                }
                None
            }
        }
    }

    /// The changes of files by a call, if this is its result.
    fn edited(&mut self, event: &Event) -> Option<TurnMessage> {
        let call = event.success()?;
        let edits = self.edits.take(call);
        for edit in &edits {
            let ledger = self.transcript.here_mut().ledger_mut();
            ledger.changed(&edit.path, edit.after.as_deref());
        }
        let call_id = self.call_ids.get(&call)?.clone();
        (!edits.is_empty()).then_some(TurnMessage::Edited { call_id, edits })
    }

    /// Updates the state that tools may read before the turn handles an input: whether a person could be asked.
    pub(super) fn notice(&self, input: &Input) {
        match input {
            Input::ClientCame(_) => self.live.attend(true),
            Input::ClientLeft => self.live.attend(false),
            _ => {}
        }
    }

    /// Waits for the next event, besides messages from the front end.
    pub(super) async fn next(&mut self) -> Happening {
        tokio::select! {
            biased;
            Some(happening) = self.happenings.recv() => happening,
            input = self.tasks.next_panic() => Happening::Turn(input),
        }
    }

    pub(super) fn ended(&mut self) -> Option<End> {
        self.end.take()
    }

    /// Ends all tasks, makes the log durable and tells the front end. Returns the conversation's state, except for a
    /// turn that can be resumed, one that took a summary back, and one of which the log lacks something: these are read
    /// from the log.
    pub(super) async fn close(mut self, end: End) -> Option<ConversationState> {
        self.live.close();
        self.tasks.close(Duration::from_secs(2)).await;
        let outcome = end.outcome;
        // The sync does not hold the log's lock, so the next turn need not wait for the disk.
        let sync = self.durability.begin(self.writer.sync()).await;
        // A parked turn may wait for days, so it must survive a loss of power. Otherwise nobody waits for the disk, and
        // a failure is reported after the end.
        let front = self.front.clone();
        let durable = async move {
            if let Ok(Err(error)) = sync.await {
                tracing::warn!(%error, "the log could not be made durable");
                let notice = TurnNotice::NotDurable(error.to_string());
                // An error means that the front end is gone.
                let _ = front.send(TurnMessage::Notice(notice)).await;
            }
        };
        match outcome {
            Outcome::Interrupted => durable.await,
            _ => drop(tokio::spawn(durable)),
        }
        self.tell(TurnMessage::End(Box::new(end))).await;
        let (mark, transcript) = (self.writer.mark()?, self.transcript.whole()?);
        let is_kept = outcome != Outcome::Interrupted && !self.took_summary_back;
        is_kept.then(|| ConversationState {
            mark: Some(mark),
            seen: self.context.seen().after_turn(),
            transcript: transcript.into(),
            shared: self.shared,
            frozen: Some(self.frozen),
            learned: self.learned,
            turns: self.turns,
            asked_at: self.asked_at,
            unended: None,
            faults: Vec::new(),
        })
    }
}

/// Parses the final answer as JSON that matches the schema, or describes what is wrong with it.
fn fits_schema(schema: &Value, text: &str) -> Result<Value, String> {
    let text = text.trim();
    let inner = text
        .strip_prefix("```json")
        .or_else(|| text.strip_prefix("```"));
    let inner = inner
        .and_then(|inner| inner.trim_end().strip_suffix("```"))
        .unwrap_or(text);
    let value: Value =
        serde_json::from_str(inner).map_err(|error| format!("it is not valid JSON ({error})"))?;
    let validator = jsonschema::validator_for(schema)
        .map_err(|error| format!("the schema is invalid ({error})"))?;
    let wrong =
        validator
            .iter_errors(&value)
            .next()
            .map(|error| match error.instance_path().as_str() {
                "" => format!("the answer: {error}"),
                place => format!("{place}: {error}"),
            });
    wrong.map_or(Ok(value), Err)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::fits_schema;

    #[test]
    fn answers_match_their_schema_or_name_the_fault() {
        let schema =
            json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]});
        let check = |text: &str| match fits_schema(&schema, text) {
            Ok(value) => value.to_string(),
            Err(why) => why,
        };
        assert_eq!(check(r#"{"n":1}"#), r#"{"n":1}"#);
        assert_eq!(check("```json\n{\"n\":2}\n```"), r#"{"n":2}"#);
        assert_eq!(check(r#"{"n":"x"}"#), r#"/n: "x" is not of type "integer""#);
        assert_eq!(check("{}"), r#"the answer: "n" is a required property"#);
        assert!(check("no").starts_with("it is not valid JSON"));
    }
}
