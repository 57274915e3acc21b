//! The turn: one state machine around the calls and the inquiries. Takes inputs and returns effects.
//!
//! | module | part of the turn |
//! |---|---|
//! | `step` | a response, its end, and its calls |
//! | [`resume`] | an interrupted turn that goes on or is closed |
//! | `compact` | a summary between two steps |
//! | [`force`] | a tool that the model must call |
//! | `repeat` | a model that makes the same call again and again |
//! | `unused` | answers and rules for questions that no tool asked |
//! | `log_failure` | a log that cannot be written |

use std::time::Duration;

use crate::{
    call::{Call, Ending},
    clearing::Clearing,
    compaction::{Compacting, Occasion},
    context::Context,
    effect::{Effect, End, Request, RequestKind, Sending},
    history::fullness::Fullness,
    idle::summary_due,
    input::{Input, Preparation, PromptAnswer, RequestId, Time},
    inquiry::{Inquiries, OpenCall},
    model::{
        attachment::{Attachment, not_taken},
        response::Response,
        retry::Retries,
    },
    model_text::ModelText,
    question::Misfit,
    record::{CallKey, ErrorCode, Event, Level, Outcome, PromptId, TurnError},
    rules::{Client, Rules},
    turn::force::Force,
};

mod compact;
pub mod force;
mod log_failure;
mod repeat;
pub mod resume;
mod step;
mod unused;

/// Parameters with which a turn begins or resumes.
#[derive(Clone, Debug, Default)]
pub struct Setup {
    /// Id of the turn, without a dot; part of its prompts' ids.
    pub id: String,
    /// Rules from the user's configuration.
    pub rules: Rules,
    /// The attached client, if any.
    pub client: Option<Client>,
    /// The sentences for the model.
    pub model_text: ModelText,
    /// Tokens of the conversation, and the summaries that failed in a row.
    pub fullness: Fullness,
    /// Outputs that are left out from the next request on, if any.
    pub clearing: Option<Clearing>,
}

/// One turn: from one user message to the final answer.
#[derive(Debug)]
pub struct Turn {
    pub(crate) cx: Context,
    pub(crate) phase: Phase,
    /// The calls of the current step, in call order.
    pub(crate) calls: Vec<Call>,
    /// Preparations of calls that wait for an earlier call's preparation.
    prepared: Vec<(CallKey, Preparation)>,
    pub(crate) inquiries: Inquiries,
    pub(crate) force: Force,
    /// Outputs that are left out from the next request on, until that is sent.
    pub(crate) clearing: Option<Clearing>,
    /// Whether the next request is sent as it is, because a summary was just made or tried.
    pub(crate) compaction_settled: bool,
    /// Summaries in a row that the network prevented in this turn.
    pub(crate) summaries_put_off: u8,
    pub(crate) ends_at: Option<Time>,
    /// When the turn's last request was sent: from then on the provider's cache keeps the conversation for its time.
    requested_at: Option<Time>,
    /// Reason of the last retry, until a response is whole.
    pub(crate) retried_for: Option<String>,
}

/// Phase of a turn.
#[derive(Debug)]
pub(crate) enum Phase {
    /// A request is out or waits for its retry.
    Streaming(Streaming),
    /// A request for a summary is out or waits for its retry.
    Compacting(Box<Compacting>),
    /// The calls of the step are open.
    Calls,
    /// The final answer is being checked.
    Checking {
        text: String,
    },
    /// The end is decided; processes are still ending.
    Stopping(Conclusion),
    Ended,
}

/// The turn's own request.
#[derive(Debug)]
pub(crate) struct Streaming {
    pub(crate) request: RequestId,
    pub(crate) sending: Sending,
    pub(crate) response: Response,
    pub(crate) retries: Retries,
    /// Time of the retry, if the request failed.
    pub(crate) backoff: Option<Time>,
    /// Whether text of the response was shown.
    pub(crate) shown: bool,
    /// Whether any of the response came.
    pub(crate) began: bool,
}

/// End of a turn.
#[derive(Clone, Debug)]
pub(crate) struct Conclusion {
    pub(crate) outcome: Outcome,
    pub(crate) answer: Option<String>,
    pub(crate) structured: Option<serde_json::Value>,
    pub(crate) error: Option<TurnError>,
}

impl Turn {
    /// Begins a turn with a message of the user.
    #[must_use]
    pub fn start(setup: Setup, message: String, attachments: Vec<Attachment>, now: Time) -> Self {
        let mut turn = Self::new(setup, now);
        turn.cx.record(Event::TurnStart);
        let untaken = not_taken(&attachments, &turn.cx.rules.model);
        turn.cx.record(Event::UserMessage {
            text: message,
            attachments,
        });
        if let Some(text) = untaken {
            turn.cx.notice(Level::Warning, text);
        }
        turn.request();
        turn
    }

    pub(crate) fn new(setup: Setup, now: Time) -> Self {
        let Setup {
            id,
            rules,
            client,
            model_text,
            fullness,
            clearing,
        } = setup;
        Self {
            ends_at: rules.limits.turn_time.map(|time| now + time),
            requested_at: None,
            retried_for: None,
            force: Force::new(rules.tool_choice.clone()),
            cx: Context::new(id, rules, client, model_text, fullness, now),
            phase: Phase::Calls,
            calls: Vec::new(),
            prepared: Vec::new(),
            inquiries: Inquiries::default(),
            clearing,
            compaction_settled: false,
            summaries_put_off: 0,
        }
    }

    /// Handles an input.
    pub fn handle(&mut self, now: Time, input: Input) {
        self.cx.now = self.cx.now.max(now);
        if matches!(self.phase, Phase::Ended) {
            return self.after_the_end(input);
        }
        match input {
            Input::FirstByte(request) if self.is_own(request) => self.first_byte(),
            Input::FirstByte(request) => self.inquiries.first_byte(request),
            Input::Piece(request, piece) if self.is_own(request) => self.piece(piece),
            Input::Piece(request, piece) if self.is_compaction(request) => {
                self.compaction_piece(piece);
            }
            Input::Piece(request, piece) => {
                let own = self.own_sending();
                let calls = open(&self.calls);
                let settled = self
                    .inquiries
                    .piece(&mut self.cx, &calls, &own, request, piece);
                self.settle(settled);
            }
            Input::Failed(request, failure) if self.is_own(request) => self.failed(&failure),
            Input::Failed(request, failure) if self.is_compaction(request) => {
                self.compaction_failed(&failure);
            }
            Input::Failed(request, failure) => {
                let own = self.own_sending();
                let calls = open(&self.calls);
                let settled = self
                    .inquiries
                    .failed(&mut self.cx, &calls, &own, request, &failure);
                self.settle(settled);
            }
            Input::Prepared(key, preparation) => self.prepared.push((key, preparation)),
            Input::Finished(key, outcome) => {
                let mut calls = self.calls.iter();
                // What it asked while it ran. A run that is said to end again ends nothing more.
                if calls.any(|call| call.key() == key && call.is_running()) {
                    self.inquiries.drop_call(&mut self.cx, key);
                }
                self.with_call(key, |call, cx| call.finished(cx, outcome));
            }
            Input::Progress(key) => self.with_call(key, |call, cx| call.progress(cx)),
            Input::LiveQuestion(key, number, question) => {
                self.with_call(key, |call, cx| call.ask_live(cx, number, question));
            }
            Input::LiveWithdrawn(key, number) => {
                self.with_call(key, |call, cx| call.withdraw_live(cx, number));
                self.inquiries.keep_open(&mut self.cx, key, |pair| {
                    let mut calls = self.calls.iter();
                    calls.any(|call| call.key() == key && call.asks(pair))
                });
            }
            Input::Answer(prompt, answer) => self.answer(prompt, answer.trimmed()),
            Input::Steer(text) => self.steer(text),
            Input::Cancel => self.cancel(),
            Input::ClientRules(rules) => self.cx.configure_client_tools(&rules),
            Input::ClientCame(client) => self.client_came(client),
            Input::ClientLeft => self.leave(),
            Input::Checked(checked) => self.checked(checked),
            Input::AppendFailed(why) => self.append_failed(&why),
            Input::Tick => self.tick(),
        }
        self.advance();
    }

    /// The next effect. Call until it returns `None`.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.cx.poll()
    }

    /// The time at which to pass [`Input::Tick`].
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        let backoff = match &self.phase {
            Phase::Streaming(streaming) => streaming.backoff,
            Phase::Compacting(pass) => pass.backoff,
            Phase::Stopping(_) | Phase::Ended => return None,
            _ => None,
        };
        let calls = self.calls.iter().filter_map(Call::deadline).min();
        [
            self.ends_at,
            backoff,
            calls,
            self.inquiries.deadline(&open(&self.calls), &self.cx.rules),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// Checks an answer to a prompt; `None` if no such prompt is open.
    #[must_use]
    pub fn fits(&mut self, prompt: &PromptId, answer: &PromptAnswer) -> Option<Result<(), Misfit>> {
        self.calls
            .iter_mut()
            .find_map(|call| call.fits(prompt, answer))
    }

    /// Options of the turn's next request.
    pub(crate) fn own_sending(&self) -> Sending {
        self.force
            .next(&self.cx.rules.model, self.cx.history.force())
    }

    /// Sends the next request, unless a limit ends the turn.
    pub(crate) fn request(&mut self) {
        let sending = self.own_sending();
        if sending.directive.is_some() {
            let text = "The model does not take a forced tool here; it is told to call it instead.";
            self.cx.notice(Level::Info, text);
        }
        self.send(sending);
    }

    pub(crate) fn send(&mut self, sending: Sending) {
        if let Some(error) = self.over_limit() {
            return self.conclude(Conclusion::failed(error));
        }
        if let Some(clearing) = self.clearing.take() {
            let (event, text) = clearing.recorded();
            self.cx.record(event);
            self.cx.notice(Level::Info, text);
        }
        if self.compaction_is_due() {
            return self.compact(sending, Occasion::Due, "");
        }
        self.calls.clear();
        self.prepared.clear();
        self.inquiries.new_step();
        if let Some(kind) = sending.directive.clone() {
            let text = self.cx.text().directive(&kind, "");
            self.cx.record(Event::Directive { kind, text });
        }
        self.cx.step += 1;
        let step = self.cx.step;
        self.cx.record(Event::RequestSent { step });
        self.stream(sending, Retries::default());
    }

    /// Sends the request of this step, for the first time or again.
    pub(crate) fn stream(&mut self, sending: Sending, retries: Retries) {
        let request = self.cx.next_request();
        self.requested_at = Some(self.cx.now);
        let kind = RequestKind::Turn {
            step: self.cx.step,
            native_schema: self.cx.history.schema_repair(),
        };
        self.cx.perform(Effect::Send(Request {
            id: request,
            kind,
            tool_choice: sending.tool_choice.clone(),
            reasoning: sending.reasoning,
            without: self.cx.rules.refused_by(&self.cx.rules.model.id),
            left_out: self.cx.rules.left_out_of(&self.cx.rules.model.id),
        }));
        self.phase = Phase::Streaming(Streaming {
            request,
            sending,
            response: Response::default(),
            retries,
            backoff: None,
            shown: false,
            began: false,
        });
    }

    fn over_limit(&self) -> Option<TurnError> {
        let limits = &self.cx.rules.limits;
        if self.cx.step >= limits.steps {
            let text = format!(
                "The turn was stopped after {} requests; raise conversation.limits.steps to let it go on.",
                limits.steps
            );
            return Some(TurnError::new(ErrorCode::Limit, text));
        }
        self.over_cost()
    }

    /// The error of a turn that has cost what it may.
    pub(crate) fn over_cost(&self) -> Option<TurnError> {
        let limits = &self.cx.rules.limits;
        let (spent, most) = (self.cx.usage.cost?, limits.cost?);
        (spent >= most).then(|| {
            let text = format!(
                "The turn has cost ${spent:.4} of the allowed ${most:.4}; allow more to go on."
            );
            TurnError::new(ErrorCode::Budget, text)
        })
    }

    /// Advances calls and inquiries after each input, and ends the step once all calls are done.
    pub(crate) fn advance(&mut self) {
        self.take_prepared();
        self.spread_remembered();
        self.spread_permission();
        if matches!(self.phase, Phase::Calls) {
            self.start_ready();
            for wanted in std::mem::take(&mut self.cx.inquiry_questions) {
                // The provider's cache knows the conversation as it is from here on.
                self.clearing = None;
                self.inquiries.want(&self.cx, wanted);
            }
            let own = self.own_sending();
            self.inquiries
                .send_due(&mut self.cx, &open(&self.calls), &own);
            self.end_step();
        }
        self.end_stopping();
    }

    fn end_step(&mut self) {
        if self.calls.iter().all(Call::is_done) {
            self.go_on_unless_repeating();
        } else if self
            .calls
            .iter()
            .all(|call| call.is_done() || call.is_parked())
        {
            self.conclude(Conclusion::of(Outcome::Interrupted));
        }
    }

    /// Ends a stopping turn once the last process has ended.
    pub(crate) fn end_stopping(&mut self) {
        if let Phase::Stopping(conclusion) = &self.phase
            && self.calls.iter().all(Call::is_done)
        {
            let conclusion = conclusion.clone();
            self.conclude(conclusion);
        }
    }

    pub(crate) fn conclude(&mut self, conclusion: Conclusion) {
        let Conclusion {
            outcome,
            answer,
            structured,
            error,
        } = conclusion;
        let mut prompts = Vec::new();
        if outcome == Outcome::Interrupted {
            // A live question cannot be resumed.
            let resumable = self.calls.iter().filter(|call| !call.is_running());
            for call in resumable {
                prompts.extend(call.prompts(&self.cx));
            }
            let of = prompts.len();
            for (at, prompt) in prompts.iter_mut().enumerate() {
                prompt.position = (at + 1, of);
            }
        }
        let usage = self.cx.usage;
        let mut refusals = self.cx.refusals();
        if outcome != Outcome::Interrupted {
            refusals.extend(unused::unused(&self.cx.rules, &self.cx.history));
        }
        self.cx.record(Event::TurnEnd {
            outcome,
            answer: answer.clone(),
            structured: structured.clone(),
            error: error.clone(),
            usage,
            refusals: refusals.clone(),
        });
        self.phase = Phase::Ended;
        self.cx.perform(Effect::End(End {
            outcome,
            answer,
            structured,
            error,
            usage,
            refusals,
            prompts,
            summary_due: self.summary_due(outcome),
        }));
    }

    /// Time from now on after which a summary is to be made, if nobody writes until then.
    fn summary_due(&self, outcome: Outcome) -> Option<Duration> {
        let due = summary_due(&self.cx.fullness, &self.cx.rules)?;
        let at = self
            .requested_at
            .filter(|_| outcome == Outcome::Completed)?
            + due;
        (at > self.cx.now).then(|| at.saturating_sub(self.cx.now))
    }

    fn first_byte(&mut self) {
        if let Phase::Streaming(streaming) = &mut self.phase {
            streaming.began = true;
        }
    }

    fn is_own(&self, request: RequestId) -> bool {
        matches!(&self.phase, Phase::Streaming(streaming) if streaming.request == request)
    }

    fn after_the_end(&mut self, input: Input) {
        match input {
            Input::Answer(prompt, answer) => self.late(prompt, &answer),
            Input::AppendFailed(why) => self.append_failed(&why),
            _ => {}
        }
    }

    fn steer(&mut self, text: String) {
        if matches!(self.phase, Phase::Stopping(_)) {
            return;
        }
        self.cx.record(Event::Steer { text });
        self.answer_after_summary();
    }

    fn cancel(&mut self) {
        self.stop(Ending::Cancelled, Conclusion::of(Outcome::Cancelled));
    }

    /// Ends everything that is open, and the turn once the last process has ended.
    pub(crate) fn stop(&mut self, ending: Ending, mut conclusion: Conclusion) {
        match &self.phase {
            Phase::Stopping(_) | Phase::Ended => return,
            Phase::Streaming(streaming) => {
                if streaming.backoff.is_none() {
                    let request = streaming.request;
                    self.cx.perform(Effect::Abort(request));
                }
                conclusion.answer = self.keep_partial();
            }
            Phase::Compacting(_) => self.abort_compaction(),
            Phase::Checking { text } => conclusion.answer = Some(text.clone()),
            Phase::Calls => {
                for call in &mut self.calls {
                    call.end(&mut self.cx, ending);
                    self.inquiries.drop_call(&mut self.cx, call.key());
                }
            }
        }
        self.phase = Phase::Stopping(conclusion);
    }

    fn client_came(&mut self, client: Client) {
        self.cx.client = Some(client);
        for call in &mut self.calls {
            call.unpark(&mut self.cx);
        }
    }

    /// Leaves the turn at once, because the client left or the process exits. Nothing else is decided.
    fn leave(&mut self) {
        self.cx.client = None;
        match &self.phase {
            Phase::Streaming(streaming) if streaming.backoff.is_none() => {
                let request = streaming.request;
                self.cx.perform(Effect::Abort(request));
            }
            _ => self.abort_compaction(),
        }
        for call in &self.calls {
            call.abandon(&mut self.cx);
            self.inquiries.drop_call(&mut self.cx, call.key());
        }
        let conclusion = match &self.phase {
            Phase::Stopping(conclusion) if self.cx.broken => conclusion.clone(),
            // Nothing of it is kept, so nothing could be resumed.
            Phase::Compacting(pass) if pass.occasion.is_the_turn() => {
                Conclusion::of(Outcome::Cancelled)
            }
            _ => Conclusion::of(Outcome::Interrupted),
        };
        self.conclude(conclusion);
    }

    fn tick(&mut self) {
        if self.ends_at.is_some_and(|at| at <= self.cx.now) {
            let text = match &self.retried_for {
                None => "The turn's time was over; raise the timeout to let it go on.".to_owned(),
                Some(why) => format!("The turn's time was over while requests failed: {why}"),
            };
            let error = TurnError::new(ErrorCode::Limit, text);
            return self.stop(Ending::TimeOver, Conclusion::failed(error));
        }
        if let Phase::Streaming(streaming) = &self.phase
            && streaming.backoff.is_some_and(|at| at <= self.cx.now)
        {
            let (sending, retries) = (streaming.sending.clone(), streaming.retries);
            self.stream(sending, retries);
        }
        if let Phase::Compacting(pass) = &self.phase
            && pass.backoff.is_some_and(|at| at <= self.cx.now)
        {
            self.send_compaction();
        }
        for call in &mut self.calls {
            call.tick(&mut self.cx);
        }
    }
}

impl Conclusion {
    pub(crate) fn of(outcome: Outcome) -> Self {
        Self {
            outcome,
            answer: None,
            structured: None,
            error: None,
        }
    }

    pub(crate) fn failed(error: TurnError) -> Self {
        Self {
            error: Some(error),
            ..Self::of(Outcome::Failed)
        }
    }
}

/// The view of the calls that inquiries get.
fn open(calls: &[Call]) -> Vec<OpenCall<'_>> {
    calls.iter().map(Call::open).collect()
}
