//! One call of a tool, from the response that made it to its result: prepare, permit, run, ask, deliver.
//!
//! A question sends the call back to its preparation with one more answer. So there is one path, on which the
//! approved hash is compared with the prepared one before each run. Only this file and `people` change the state of a
//! call; the other modules return the next step of their part.
//!
//! | module | contents |
//! |---|---|
//! | [`permit`] | permission to run and to deliver: two functions that read as tables |
//! | [`route`] | the answerer of a question: one function that reads as a table |
//! | `state` | the state of a call and the prompts that it waits for |
//! | `people` | questions to people and models, and their answers |
//! | `identity` | the parts of a call that never change |
//! | `prompt` | the common parts of the three prompts |
//! | `permission` | the `runTool` prompt and its answers |
//! | `delivery` | the `deliverResult` prompt and its answers |
//! | `question` | a question that waits for its answer |
//! | `answer` | the recorded end of a question |
//! | `consider` | the next step of a question |
//! | `run` | a run of the tool and its clock |
//! | `resume` | the next step of a call in a resumed turn |

use serde_json::Value;

use crate::{
    context::Context,
    effect::{CallStatus, CallWork, Effect, Update},
    history::parse_arguments,
    input::{OwnText, Preparation, Prepared, ToolOutcome, ToolOutput},
    inquiry::OpenCall,
    question::Answer,
    record::{CallEnd, CallKey, Event, Level, ResultReason},
    rules::{RunRule, Time},
};

mod answer;
mod consider;
mod delivery;
mod identity;
mod people;
pub(crate) mod permission;
pub mod permit;
mod prompt;
mod question;
pub(crate) mod resume;
pub mod route;
mod run;
mod state;

use delivery::{DeliveryPrompt, HeldResult};
use identity::CallIdentity;
use permission::{KeptPrompt, PermissionPrompt};
use permit::{Delivery, Permit};
use prompt::CallEnding;
use question::QuestionCount;
use run::{Running, Stopping};
use state::State;

/// A call and its state.
#[derive(Debug)]
pub(crate) struct Call {
    identity: CallIdentity,
    /// All answers so far; the latest answer to a question counts.
    answers: Vec<(String, Answer)>,
    runs: u32,
    /// The hash that a person approved for this call.
    approved: Option<String>,
    new_text: Option<OwnText>,
    /// A permission prompt that was open before a resume.
    kept: Option<KeptPrompt>,
    questions: QuestionCount,
    state: State,
}

/// Reason for which calls are ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The user cancelled.
    Cancelled,
    /// The turn's time is over.
    TimeOver,
    /// The log could not be appended to.
    LogFailed,
}

impl Call {
    pub(crate) fn new(key: CallKey, id: String, tool: String) -> Self {
        Self {
            identity: CallIdentity {
                key,
                id,
                tool,
                arguments: Value::Null,
            },
            answers: Vec::new(),
            runs: 0,
            approved: None,
            new_text: None,
            kept: None,
            questions: QuestionCount::default(),
            state: State::New,
        }
    }

    pub(crate) fn key(&self) -> CallKey {
        self.identity.key
    }

    pub(crate) fn tool(&self) -> &str {
        &self.identity.tool
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done)
    }

    /// Whether the call is being prepared and has not asked anything.
    pub(crate) fn is_new(&self) -> bool {
        matches!(self.state, State::Preparing) && self.answers.is_empty()
    }

    pub(crate) fn is_running(&self) -> bool {
        matches!(self.state, State::Running(_))
    }

    /// Whether the call may run and waits for a free slot.
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self.state, State::Ready { .. })
    }

    /// Whether the call waits for a person who is absent.
    pub(crate) fn is_parked(&self) -> bool {
        match &self.state {
            State::Asking(open) => open.is_parked(),
            State::Permission(prompt) => prompt.waiting().is_parked(),
            State::Delivery(prompt) => prompt.waiting().is_parked(),
            _ => false,
        }
    }

    /// The time at which its run is stopped.
    pub(crate) fn deadline(&self) -> Option<Time> {
        match &self.state {
            State::Running(running) => running.deadline(),
            _ => None,
        }
    }

    /// The view of this call that inquiries get.
    pub(crate) fn open(&self) -> OpenCall<'_> {
        OpenCall {
            key: self.identity.key,
            id: &self.identity.id,
            tool: &self.identity.tool,
            executes: match &self.state {
                State::Running(running) => running.live().is_empty(),
                State::New | State::Preparing | State::Ready { .. } => true,
                _ => false,
            },
        }
    }

    /// Begins the call, or refuses it before it is prepared.
    pub(crate) fn begin(&mut self, cx: &mut Context, raw: &str, place: usize) {
        let parsed = parse_arguments(raw);
        self.identity.arguments = parsed.as_ref().cloned().unwrap_or(Value::Null);
        let tool = &self.identity.tool;
        let text = cx.text();
        let (reason, text) = if place >= cx.rules.calls_in_message() {
            (ResultReason::TooManyCalls, text.too_many_calls())
        } else if !cx.rules.tools.contains_key(tool) {
            (ResultReason::UnknownTool, text.no_tool(tool))
        } else if let Err(what) = parsed {
            let text = text.invalid_arguments(tool, &what);
            (ResultReason::InvalidArguments { why: what }, text)
        } else if let Some(reason) = cx.memory().refused(tool, &self.identity.arguments) {
            (reason.clone(), text.refused(tool, reason, cx.mode()))
        } else {
            return self.prepare(cx);
        };
        self.finish_aside(cx, CallEnding { reason, text });
    }

    fn prepare(&mut self, cx: &mut Context) {
        // A call that the configuration denies is not prepared.
        if cx.tool(&self.identity.tool).run == Some(RunRule::Deny) {
            let reason = ResultReason::DeniedByConfiguration;
            return self.refuse(cx, reason);
        }
        self.state = State::Preparing;
        cx.perform(Effect::Prepare(self.work()));
    }

    pub(crate) fn prepared(&mut self, cx: &mut Context, preparation: Preparation) {
        if !matches!(self.state, State::Preparing) {
            return;
        }
        match preparation {
            Preparation::Ready(prepared) => self.permit(cx, prepared),
            Preparation::Error(text) => {
                self.finish(cx, CallEnd::Failure, ToolOutput::text(text));
            }
            Preparation::DeniedByRule => {
                self.refuse(cx, ResultReason::DeniedByRule);
            }
            Preparation::Question(question) => self.ask(cx, question, None),
        }
    }

    fn permit(&mut self, cx: &mut Context, prepared: Prepared) {
        let permit = self.decide(cx, &prepared);
        let asks = matches!(permit, Permit::Ask | Permit::Park);
        let kept = self.kept.as_ref();
        let changed = kept.filter(|kept| kept.hash != prepared.hash);
        if asks && changed.is_some_and(|kept| kept.forget_answer(cx)) {
            let title = &prepared.title;
            cx.notice(
                Level::Warning,
                format!("The answer was not used, for what it allows has changed since: {title}."),
            );
        }
        if !asks || changed.is_some() {
            self.drop_kept(cx);
        }
        match permit {
            Permit::Run => {
                let title = prepared.title;
                self.state = State::Ready { title };
            }
            Permit::RunAsConfigured => {
                // No client is shown the prompt.
                let prompt = PermissionPrompt::open(cx, &self.identity, prepared, None, true);
                let id = prompt.waiting().id().clone();
                self.state = State::Permission(prompt);
                self.show(cx, &id);
                self.permit_again(cx);
            }
            Permit::Ask | Permit::Park => {
                let (parked, kept) = (permit == Permit::Park, self.kept.take());
                let is_kept = kept.is_some();
                let prompt = PermissionPrompt::open(cx, &self.identity, prepared, kept, parked);
                let id = prompt.waiting().id().clone();
                self.state = State::Permission(prompt);
                if is_kept {
                    self.show_again(cx, &id);
                } else {
                    self.show(cx, &id);
                }
            }
            Permit::Refuse(reason) => self.refuse(cx, reason),
        }
    }

    fn decide(&self, cx: &Context, prepared: &Prepared) -> Permit {
        let approved = self.approved.as_deref() == Some(&prepared.hash);
        let kept = self.kept.as_ref();
        let is_asked = matches!(self.state, State::Permission(_));
        let was_asked = is_asked || kept.is_some() || self.approved.is_some();
        let tool = &self.identity.tool;
        permission::decide(cx, tool, prepared, approved, kept, was_asked)
    }

    /// Decides an open permission again after the mode, an approval or the configuration widened.
    pub(crate) fn permit_again(&mut self, cx: &mut Context) {
        let State::Permission(prompt) = &self.state else {
            return;
        };
        let permit = self.decide(cx, prompt.prepared());
        if matches!(permit, Permit::Run | Permit::RunAsConfigured) {
            prompt.settle_unasked(cx, permit == Permit::RunAsConfigured);
            let title = prompt.prepared().title.clone();
            self.state = State::Ready { title };
        }
    }

    /// Withdraws a prompt from before the resume.
    fn drop_kept(&mut self, cx: &mut Context) {
        if let Some(kept) = self.kept.take() {
            kept.withdraw(cx);
        }
    }

    /// Starts the run.
    pub(crate) fn run(&mut self, cx: &mut Context) {
        let State::Ready { title } = &self.state else {
            return;
        };
        let title = title.clone();
        self.runs += 1;
        cx.record(Event::CallStarted {
            call: self.identity.key,
            run: self.runs,
            title,
        });
        self.state = State::Running(Running::new(cx.now, cx.tool_time(&self.identity.tool)));
        cx.perform(Effect::Run(self.work()));
    }

    /// Lets the run take longer, because it makes progress.
    pub(crate) fn progress(&mut self, cx: &Context) {
        if let State::Running(running) = &mut self.state {
            running.prolong(cx.now, cx.tool_time(&self.identity.tool));
        }
    }

    /// Takes the outcome of the run.
    pub(crate) fn finished(&mut self, cx: &mut Context, outcome: ToolOutcome) {
        let State::Running(running) = &mut self.state else {
            return;
        };
        let stopping = running.stopping();
        for live in running.take_live() {
            live.withdraw(cx, &self.identity);
        }
        let (tool, text) = (&self.identity.tool, cx.text());
        let (reason, text) = match (stopping, outcome) {
            (Some(Stopping::Cancelled), _) => (ResultReason::Cancelled, text.cancelled()),
            // Nothing can be recorded any more, so no model reads of it.
            (Some(Stopping::LogFailed), _) => (ResultReason::LogFailed, String::new()),
            (Some(Stopping::TimeOver), _) => (ResultReason::TimeOver, text.time_over()),
            (Some(Stopping::TooSlow), _) => {
                let most = cx.tool_time(tool).as_secs();
                (ResultReason::TooSlow, text.too_slow(tool, most))
            }
            (None, ToolOutcome::Success(output)) => {
                return self.deliver(cx, CallEnd::Success, output);
            }
            (None, ToolOutcome::Error(output)) => {
                return self.deliver(cx, CallEnd::Failure, output);
            }
            (None, ToolOutcome::NeedsInput(question)) => return self.ask(cx, question, None),
            (None, ToolOutcome::Stopped) => (ResultReason::Interrupted, text.unknown_effects(tool)),
        };
        self.finish_aside(cx, CallEnding { reason, text });
    }

    /// Stops a run whose time is over.
    pub(crate) fn tick(&mut self, cx: &mut Context) {
        if let State::Running(running) = &mut self.state
            && running.is_too_slow(cx.now)
        {
            running.stop(Stopping::TooSlow);
            cx.perform(Effect::Stop(self.identity.key));
        }
    }

    fn deliver(&mut self, cx: &mut Context, end: CallEnd, output: ToolOutput) {
        let rules = cx.tool(&self.identity.tool);
        match permit::deliver(rules.result, cx.client.is_some(), rules.detached.deliver) {
            Delivery::Deliver => self.finish(cx, end, output),
            Delivery::Withhold => {
                self.refuse(cx, ResultReason::WithheldUnattended);
            }
            Delivery::Ask | Delivery::Park => {
                cx.record(Event::ToolResult {
                    call: self.identity.key,
                    end: end.clone(),
                    content: output.content.clone(),
                    summary: output.own_summary(),
                    held: true,
                    details: output.details.clone(),
                    media: output.media.clone(),
                });
                self.ask_delivery(cx, HeldResult { end, output });
            }
        }
    }

    /// Opens the delivery prompt for a held result.
    fn ask_delivery(&mut self, cx: &mut Context, held: HeldResult) {
        let prompt = DeliveryPrompt::open(cx, &self.identity, held);
        let id = prompt.waiting().id().clone();
        self.state = State::Delivery(prompt);
        self.show(cx, &id);
    }

    /// Ends the call because a rule refuses it.
    fn refuse(&mut self, cx: &mut Context, reason: ResultReason) {
        let text = cx.text().refused(&self.identity.tool, &reason, cx.mode());
        self.finish_aside(cx, CallEnding { reason, text });
    }

    /// Ends the call with a reason of Aside's own.
    fn finish_aside(&mut self, cx: &mut Context, ending: CallEnding) {
        let CallEnding { reason, text } = ending;
        self.finish(cx, reason.into(), ToolOutput::text(text));
    }

    fn finish(&mut self, cx: &mut Context, end: CallEnd, output: ToolOutput) {
        self.drop_kept(cx);
        cx.record(Event::ToolResult {
            call: self.identity.key,
            end,
            summary: output.own_summary(),
            content: output.content,
            held: false,
            details: output.details,
            media: output.media,
        });
        self.state = State::Done;
    }

    /// Ends the call early. A run ends when its last process has.
    pub(crate) fn end(&mut self, cx: &mut Context, ending: Ending) {
        match std::mem::replace(&mut self.state, State::New) {
            State::Done => return self.state = State::Done,
            State::Running(mut running) => {
                for live in running.take_live() {
                    live.withdraw(cx, &self.identity);
                }
                let first = running.stop(match ending {
                    Ending::Cancelled => Stopping::Cancelled,
                    Ending::TimeOver => Stopping::TimeOver,
                    Ending::LogFailed => Stopping::LogFailed,
                });
                self.state = State::Running(running);
                if first {
                    cx.perform(Effect::Stop(self.identity.key));
                }
                return;
            }
            State::Asking(open) => open.withdraw(cx, &self.identity),
            State::Permission(prompt) => {
                self.kept = None;
                prompt.waiting().clone().withdraw(cx);
            }
            State::Delivery(prompt) => {
                self.kept = None;
                prompt.waiting().clone().withdraw(cx);
            }
            State::New | State::Preparing | State::Ready { .. } => {}
        }
        let (reason, text) = match ending {
            Ending::Cancelled => (ResultReason::Cancelled, cx.text().cancelled()),
            Ending::TimeOver => (ResultReason::TimeOver, cx.text().time_over()),
            Ending::LogFailed => return self.log_failed(cx),
        };
        self.finish_aside(cx, CallEnding { reason, text });
    }

    /// Ends a call that does not run, where nothing can be recorded any more. No model reads of it.
    pub(crate) fn log_failed(&mut self, cx: &mut Context) {
        let ending = CallEnding {
            reason: ResultReason::LogFailed,
            text: String::new(),
        };
        self.finish_aside(cx, ending);
    }

    /// Stops the run because the process exits at once. Nothing else is decided.
    pub(crate) fn abandon(&self, cx: &mut Context) {
        if matches!(&self.state, State::Running(running) if running.stopping().is_none()) {
            cx.perform(Effect::Stop(self.identity.key));
        }
    }

    fn work(&self) -> CallWork {
        CallWork {
            call: self.identity.key,
            id: self.identity.id.clone(),
            tool: self.identity.tool.clone(),
            arguments: self.identity.arguments.clone(),
            answers: self.answers.clone(),
            new_text: self.new_text.clone(),
        }
    }

    /// Tells the clients of a call from before the resume, of which they have seen nothing.
    fn tell_again(&self, cx: &mut Context) {
        if !cx.tool(&self.identity.tool).hidden {
            cx.tell(Update::ToolCall {
                step: cx.step,
                call_id: self.identity.id.clone(),
                name: self.identity.tool.clone(),
                title: self.identity.tool.clone(),
                arguments: self.identity.arguments.clone(),
                status: CallStatus::Waiting,
            });
        }
    }
}
