//! The watcher: it sees each input and effect, and says when one of the rules is broken.

use aside_turn::{
    Effect, Event, Input,
    effect::{CallWork, Prompt, Request, RequestKind, Update},
    input::{Preparation, Prepared, PromptAnswer, RequestId, ToolOutcome},
    inquiry::{Message, SideRequest},
    question::{Answer, Question},
    record::{CallKey, PromptId},
    response::Piece,
    rules::{Class, Client, DetachedMode, Mode, Rules, RunRule, ToolChoice},
    transcript::Transcript,
};

use super::{
    count::{self, Counts},
    history,
    seen::{Life, Said, TurnSeen},
};

/// What people type as a secret. It must never be seen again.
pub(crate) const SECRET: &str = "hunter2";

#[derive(Debug, Default)]
pub(crate) struct Checker {
    pub(crate) counts: Counts,
    /// The first rule that was broken.
    pub(crate) failure: Option<String>,
    pub(crate) rules: Rules,
    pub(crate) client: Option<Client>,
    pub(crate) transcript: Transcript,
    pub(crate) turn: TurnSeen,
    pub(crate) life: Life,
    /// The turn is being closed instead of resumed.
    pub(crate) closing: bool,
    /// A secret was typed.
    pub(crate) secret: bool,
}

impl Checker {
    pub(crate) fn fail(&mut self, what: String) {
        self.failure.get_or_insert(what);
    }

    /// Something is about to happen to the turn.
    pub(crate) fn input(&mut self, input: &Input) {
        match input {
            Input::Piece(request, Piece::Finish(_)) | Input::Failed(request, _) => {
                self.life.requests.remove(request);
            }
            Input::Prepared(key, preparation) => {
                self.life.waiting.push((*key, preparation.clone()));
                self.take_prepared();
            }
            Input::Finished(key, outcome) => {
                self.life.running.remove(key);
                self.life.live.retain(|(call, _)| call != key);
                if let ToolOutcome::NeedsInput(question) = outcome {
                    self.asks(*key, question);
                }
            }
            Input::LiveQuestion(key, number, question) => {
                self.life.live.insert((*key, *number));
                self.asks(*key, question);
            }
            Input::LiveWithdrawn(key, number) if self.life.live.remove(&(*key, *number)) => {
                self.counts.add("live question taken back");
            }
            Input::Answer(prompt, answer) => self.answer(prompt, answer),
            Input::Cancel if self.life.end.is_none() => {
                self.life.cancelled = true;
                if !self.life.running.is_empty() {
                    self.counts.add("cancelled with calls running");
                }
            }
            Input::ClientCame(client) if self.life.end.is_none() => {
                self.counts.add("client came");
                if !self.turn.open_prompts().is_empty() && self.client.is_none() {
                    self.counts.add("parked, then a client came");
                }
                self.client = Some(client.clone());
            }
            Input::ClientLeft if self.life.end.is_none() => {
                self.counts.add("client left");
                self.life.left = true;
                self.client = None;
            }
            Input::AppendFailed(_) => {
                self.counts.add("append failed");
                if !self.life.running.is_empty() {
                    self.counts.add("append failed with calls running");
                }
                self.life.broken = true;
            }
            _ => {}
        }
    }

    fn asks(&mut self, key: CallKey, question: &Question) {
        if let Some(call) = self.turn.calls.get_mut(&key) {
            call.asked = Some(question.clone());
        }
    }

    /// New calls go on in their order.
    fn take_prepared(&mut self) {
        while let Some((key, preparation)) = self.life.next_prepared() {
            self.prepared(key, &preparation);
        }
    }

    fn prepared(&mut self, key: CallKey, preparation: &Preparation) {
        self.life.began.insert(key);
        match preparation {
            Preparation::Ready(prepared) => {
                let attached = self.client.is_some();
                self.life.prepared.insert(key, (prepared.clone(), attached));
            }
            Preparation::Question(question) => self.asks(key, question),
            Preparation::Error(_) | Preparation::DeniedByRule => {}
        }
    }

    /// An answer to a prompt that is on a screen counts; any other is late.
    fn answer(&mut self, prompt: &PromptId, answer: &PromptAnswer) {
        if !self.turn.prompts.contains_key(prompt) {
            self.counts.add("answer to an unknown prompt");
        }
        if self.life.on_screen.remove(prompt) {
            self.said(prompt, answer);
        }
    }

    pub(crate) fn said(&mut self, prompt: &PromptId, answer: &PromptAnswer) {
        let said = match answer {
            PromptAnswer::Answer { value, .. } => Said::Value(value.0.clone()),
            PromptAnswer::Decline { .. } | PromptAnswer::Cancel => Said::No,
            PromptAnswer::Failed(_) => Said::Failed,
        };
        self.secret |= said == Said::Value(SECRET.into());
        if let Some(seen) = self.turn.prompts.get_mut(prompt) {
            seen.said.push(said);
        }
    }

    /// Something is about to be performed.
    pub(crate) fn effect(&mut self, effect: &Effect) {
        if self.secret && format!("{effect:?}").contains(SECRET) {
            self.fail("a secret shows".into());
        }
        let late = matches!(effect, Effect::Record(Event::LateAnswer { .. }));
        if self.life.end.is_some() && !late {
            return self.fail(format!("after the end: {effect:?}"));
        }
        if self.life.broken && !is_harmless(effect) {
            return self.fail(format!("after a failed append: {effect:?}"));
        }
        match effect {
            Effect::Record(event) => {
                self.life.last_recorded = match event {
                    Event::TurnEnd { .. } => "turn end",
                    _ => "another",
                };
                self.recorded(event);
            }
            Effect::Prepare(work) => {
                self.prepare(work);
                if work.answers.is_empty() {
                    self.life.preparing.insert(work.call);
                }
            }
            Effect::Run(work) => self.run(work),
            Effect::Stop(key) => self.stop(*key),
            Effect::Send(request) => self.send(request),
            Effect::Abort(request) => self.abort(*request),
            Effect::AnswerLive(key, number, answer) => {
                if answer.is_ok() {
                    self.counts.add("live question answered");
                }
                if !self.life.live.remove(&(*key, *number)) {
                    self.fail(format!("{key:?} did not ask {number} while it runs"));
                }
            }
            Effect::OpenPrompt(prompt) => self.open(prompt),
            Effect::ClosePrompt(prompt, _) => {
                if !self.life.on_screen.remove(prompt) {
                    self.fail(format!("{} is on no screen", prompt.0));
                }
            }
            Effect::KeepApproval(_) => self.counts.add("kept approval"),
            Effect::Tell(update) => self.tell(update),
            Effect::End(end) => self.end(end),
            Effect::Check(_) => {}
        }
    }

    fn prepare(&mut self, work: &CallWork) {
        let Some(call) = self.turn.calls.get(&work.call) else {
            return self.fail(format!("{:?} is prepared and not there", work.call));
        };
        if call.done.is_some() || call.lost {
            return self.fail(format!("{:?} is prepared and over", work.call));
        }
        if call.place >= self.rules.limits.calls_in_message && !self.turn.changed {
            return self.fail(format!("{:?} is one call too many", work.call));
        }
        let (tool, arguments, at) = (&call.tool, &call.arguments, call.at);
        if self
            .turn
            .refused
            .iter()
            .any(|(when, asker, with)| *when < at && asker == tool && with == arguments)
        {
            return self.fail(format!(
                "{:?} was refused before: {tool} {arguments}",
                work.call
            ));
        }
        self.check_answers(work);
    }

    fn check_answers(&mut self, work: &CallWork) {
        let Some(call) = self.turn.calls.get(&work.call) else {
            return;
        };
        let given: Vec<_> = work
            .answers
            .iter()
            .filter_map(|(id, answer)| Some((id.clone(), answer.value()?.clone())))
            .collect();
        let secrets = work
            .answers
            .iter()
            .all(|(id, answer)| matches!(answer, Answer::Value(_)) || call.secrets.contains(id));
        // An id may be asked as a secret and then openly: the latest wins, so fewer may be left.
        let right = if call.secrets.is_empty() {
            given == call.answers
        } else {
            given.iter().all(|answer| call.answers.contains(answer))
        };
        if !right || !secrets {
            let what = format!(
                "{:?} has {:?} of {:?}",
                work.call, work.answers, call.answers
            );
            self.fail(what);
        }
    }

    fn run(&mut self, work: &CallWork) {
        self.check_answers(work);
        let key = work.call;
        let Some(call) = self.turn.calls.get_mut(&key) else {
            return self.fail(format!("{key:?} runs and is not there"));
        };
        if !std::mem::take(&mut call.to_run) || call.done.is_some() || call.lost {
            return self.fail(format!("{key:?} runs, and its start is not on record"));
        }
        if !self.life.running.insert(key) {
            return self.fail(format!("{key:?} runs twice"));
        }
        self.life.stopped.remove(&key);
        match self.life.prepared.get(&key).cloned() {
            Some((prepared, attached)) => self.permitted(work, &prepared, attached),
            None => self.fail(format!("{key:?} runs and was not prepared")),
        }
    }

    /// A second opinion on whether a call may run.
    fn permitted(&mut self, work: &CallWork, prepared: &Prepared, attached: bool) {
        let Some(rules) = self.rules.tools.get(&work.tool) else {
            return self.fail(format!("{} runs and is not configured", work.tool));
        };
        let reads = prepared.class == Class::Reads;
        let forbidden = (!self.rules.trusted || self.rules.mode == Mode::Plan) && !reads;
        if rules.run == Some(RunRule::Deny) || forbidden {
            return self.fail(format!("{} runs and must not", work.tool));
        }
        let approved = prepared.approved
            || self.turn.approved.contains(&prepared.hash)
            || self
                .call(work.call)
                .is_some_and(|call| call.approved.contains(&prepared.hash));
        if approved {
            return self.counts.add("run by approval");
        }
        let runs_alone = match (rules.run, self.rules.mode) {
            (Some(RunRule::Unattended), _) | (None, Mode::Auto) => true,
            (None, Mode::Edits) => prepared.class != Class::More,
            (None, Mode::Ask) if self.turn.widened => prepared.class != Class::More,
            (None, _) => reads,
            _ => false,
        };
        let boxed = prepared.class != Class::More || prepared.sandboxed;
        let alone = runs_alone && boxed && prepared.must_ask.is_none();
        let detached = !attached && rules.detached.run == DetachedMode::Auto && boxed;
        if !alone && !detached {
            self.fail(format!(
                "{} runs and nobody allowed it: {prepared:?}",
                work.tool
            ));
        }
    }

    fn stop(&mut self, key: CallKey) {
        if !self.life.running.contains(&key) {
            return self.fail(format!("{key:?} is stopped and does not run"));
        }
        if !self.life.stopped.insert(key) {
            self.fail(format!("{key:?} is stopped twice"));
        }
        if !self.life.cancelled && !self.life.left && !self.life.broken {
            self.counts.add("tool too slow");
        }
    }

    fn send(&mut self, request: &Request) {
        self.life.requests.insert(request.id);
        let model = &self.rules.model;
        let forced = matches!(
            request.tool_choice,
            ToolChoice::Required | ToolChoice::Name(_)
        );
        let forces = model.forces_tools && (!request.reasoning || model.forces_while_reasoning);
        let switched = model.reasoning != request.reasoning;
        // An assistant of its own is not the turn's model.
        let own = match &request.kind {
            RequestKind::Inquiry(ask) => ask.assistant.is_some(),
            RequestKind::Turn { .. }
            | RequestKind::Compaction { .. }
            | RequestKind::NativeCompaction => false,
        };
        if !own && ((forced && !forces) || (switched && !model.reasoning_switches)) {
            return self.fail(format!("the model does not take this: {request:?}"));
        }
        let sent = self.transcript.fork();
        let history = match &request.kind {
            RequestKind::Turn { step, .. } if *step != self.turn.step => {
                Err(format!("step {step} is not on record"))
            }
            RequestKind::Turn { .. } => history::of_turn(&sent, self.turn.paused),
            // Cut before the last calls, the transcript is one that was sent already.
            RequestKind::Compaction { .. } | RequestKind::NativeCompaction => {
                self.counts.add("summary asked for");
                Ok(())
            }
            RequestKind::Inquiry(ask) => {
                let again = self.ask(ask);
                history::of_ask(&sent, ask, again, |key| {
                    let (status, content) = self.call(key)?.done.clone()?;
                    Some((content, status != aside_turn::record::Status::Ok))
                })
            }
        };
        if let Err(what) = history {
            self.fail(what);
        }
    }

    /// Nothing exclusive reaches a model, nor anything broken. Says whether the same was asked before.
    fn ask(&mut self, ask: &SideRequest) -> bool {
        let pairs = self.asked_in(ask);
        if pairs.len() > 1 {
            self.counts.add(if ask.messages.len() > 1 {
                "batch of several, repaired"
            } else {
                "batch of several"
            });
        }
        let mut again = false;
        for (id, question) in &pairs {
            if question.check().is_err() {
                self.fail(format!("a model is asked a broken question: {question:?}"));
            }
            if let Some(pair) = self.turn.pairs.get_mut(id) {
                let second = pair.strategies.iter().any(|known| *known != ask.strategy);
                again |= pair.strategies.contains(&ask.strategy);
                pair.strategies.push(ask.strategy);
                let rung = count::rung(ask.strategy, second, ask.messages.len() > 1);
                self.counts.add(rung);
            }
        }
        let said = texts(ask);
        let says = |part: &str| said.iter().any(|text| text.contains(part));
        let shown = self.turn.pairs.iter().find(|(id, pair)| {
            let text = &pair.question.text;
            // Another question, which a model may answer, can have the same words.
            let is_asked = pairs.iter().any(|(_, question)| question.text == *text);
            pair.question.is_exclusive()
                && (says(&format!("Inquiry {id}\n"))
                    || (!self.turn.changed && !is_asked && text.len() > 9 && says(text)))
        });
        if let Some((id, _)) = shown {
            self.fail(format!("{id} is exclusive, and a model is asked"));
        }
        again
    }

    /// The open questions that an inquiry asks.
    pub(crate) fn asked_in(&self, ask: &SideRequest) -> Vec<(String, Question)> {
        let Some(Message::User { text, .. }) = ask.messages.last() else {
            return Vec::new();
        };
        self.turn
            .pairs
            .iter()
            .filter(|(_, pair)| ask.calls.contains(&pair.call) && !pair.closed)
            .filter(|(id, _)| text.contains(&format!("Inquiry {id}\n")))
            .map(|(id, pair)| (id.clone(), pair.question.clone()))
            .collect()
    }

    fn abort(&mut self, request: RequestId) {
        if !self.life.requests.remove(&request) {
            self.fail(format!("{request:?} is aborted and not out"));
        }
    }

    fn open(&mut self, prompt: &Prompt) {
        let secret = prompt.answer_type == aside_turn::question::AnswerType::Secret;
        let shows = self
            .client
            .as_ref()
            .is_some_and(|client| client.secret || !secret);
        if !shows {
            return self.fail(format!("nobody is there who can be shown {}", prompt.id.0));
        }
        if !self.turn.is_open(&prompt.id) {
            return self.fail(format!("{} is shown and not open", prompt.id.0));
        }
        if !self.life.on_screen.insert(prompt.id.clone()) {
            return self.fail(format!("{} is shown twice", prompt.id.0));
        }
        if prompt.position.0 == 0 || prompt.position.0 > prompt.position.1 {
            self.fail(format!("{} is {:?}", prompt.id.0, prompt.position));
        }
    }

    fn tell(&mut self, update: &Update) {
        let last = self.life.last_result.and_then(|key| self.call(key));
        let hidden = last.is_some_and(|call| self.is_hidden(&call.tool)) && !self.life.broken;
        match update {
            Update::ToolCall { name, call_id, .. } if self.is_hidden(name) => {
                let what = format!("{call_id} of {name} is hidden");
                self.fail(what);
            }
            Update::ToolResult { call_id, .. } if hidden => {
                self.fail(format!("{call_id} is hidden"));
            }
            Update::Retry { .. } => self.counts.add("request sent again"),
            _ => {}
        }
    }

    fn is_hidden(&self, tool: &str) -> bool {
        self.rules.tools.get(tool).is_some_and(|rules| rules.hidden)
    }
}

/// What may still be performed once the log is broken.
fn is_harmless(effect: &Effect) -> bool {
    !matches!(
        effect,
        Effect::Record(_)
            | Effect::Prepare(_)
            | Effect::Run(_)
            | Effect::Send(_)
            | Effect::OpenPrompt(_)
            | Effect::KeepApproval(_)
            | Effect::AnswerLive(_, _, Ok(_))
            | Effect::Check(_)
    )
}

/// All that Aside itself says in an inquiry.
fn texts(ask: &SideRequest) -> Vec<&str> {
    ask.messages
        .iter()
        .flat_map(|message| match message {
            Message::User { results, text } => {
                let mut texts: Vec<&str> = vec![text];
                texts.extend(results.iter().map(|result| result.content.as_str()));
                texts
            }
            Message::Assistant(_) => Vec::new(),
        })
        .collect()
}
