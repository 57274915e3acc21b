//! One call of a tool, from the response that made it to its result: prepare, permit, run, ask, deliver.
//!
//! A question sends the call back to its preparation with one answer more, so there is one way through:
//! what was approved is compared with what would run each time.

use serde_json::Value;

use crate::{
    ask::Waiting,
    context::Context,
    effect::{CallWork, Effect, Update},
    event::{About, CallKey, Closed, Event, PromptId, RefusalReason, Status},
    input::{Preparation, Prepared, Preview, PromptAnswer, Time, ToolOutcome, ToolOutput},
    limits,
    permit::{self, Delivery, Permit, Refused},
    prompt::{self, Prompted},
    question::{Answer, Question},
    told,
};

/// A call and where it stands.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) key: CallKey,
    /// The provider's id.
    pub(crate) id: String,
    pub(crate) tool: String,
    /// Parsed; null where they could not be.
    pub(crate) arguments: Value,
    /// All answers so far; the latest wins.
    pub(crate) answers: Vec<(String, Answer)>,
    pub(crate) runs: u32,
    /// The hash that a person approved for this call.
    pub(crate) approved: Option<String>,
    pub(crate) new_text: Option<String>,
    /// A permission prompt that was open before a resume, and what it was about.
    pub(crate) permission: Option<(PromptId, String)>,
    /// Questions so far.
    pub(crate) asked: u32,
    /// Valid answers, by question.
    pub(crate) answered: Vec<(Question, u32)>,
    pub(crate) state: State,
}

/// Where a call stands.
#[derive(Debug)]
pub(crate) enum State {
    /// It was made and nothing happened yet.
    New,
    Preparing,
    /// It may run, and waits for a place.
    Ready {
        title: String,
    },
    Running(Running),
    /// It asked, and runs again with the answer.
    Asking(Waiting),
    /// A person decides whether it runs.
    Permission {
        prompted: Prompted,
        prepared: Box<Prepared>,
    },
    /// A person decides whether the model sees its result.
    Delivery {
        prompted: Prompted,
        held: Box<Held>,
    },
    Done {
        status: Status,
        content: String,
    },
}

/// A run of a tool.
#[derive(Debug)]
pub(crate) struct Running {
    /// When its time is over, unless a question is open.
    deadline: Option<Time>,
    /// What was left of its time when a question stopped the clock.
    left: Time,
    pub(crate) live: Vec<Waiting>,
    stopping: Option<Stopping>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stopping {
    Cancelled,
    TimeOver,
    TooSlow,
}

impl Running {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }
}

/// A result that the model has not seen.
#[derive(Debug)]
pub(crate) struct Held {
    pub(crate) status: Status,
    pub(crate) output: ToolOutput,
}

/// Why calls are ended before their time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// The user cancelled.
    Cancelled,
    /// The turn's time is over.
    TimeOver,
}

impl Call {
    pub(crate) fn new(key: CallKey, id: String, tool: String) -> Self {
        Self {
            key,
            id,
            tool,
            arguments: Value::Null,
            answers: Vec::new(),
            runs: 0,
            approved: None,
            new_text: None,
            permission: None,
            asked: 0,
            answered: Vec::new(),
            state: State::New,
        }
    }

    /// Begins: everything that refuses a call before anybody looks at it.
    pub(crate) fn begin(&mut self, cx: &mut Context, raw: &str, place: usize) {
        let parsed = parse_arguments(raw);
        self.arguments = parsed.as_ref().cloned().unwrap_or(Value::Null);
        self.tell_call(cx, false, &self.tool.clone());
        if place >= cx.rules.limits.calls_in_message {
            return self.finish_text(cx, Status::Error, told::TOO_MANY_CALLS.into());
        }
        if !cx.rules.tools.contains_key(&self.tool) {
            let text = told::no_tool(&self.tool);
            return self.finish_text(cx, Status::Error, text);
        }
        if let Err(what) = parsed {
            let text = told::invalid_arguments(&self.tool, &what);
            return self.finish_text(cx, Status::Error, text);
        }
        if let Some(text) = cx
            .memory
            .refused(&self.tool, &self.arguments)
            .map(str::to_owned)
        {
            return self.finish_text(cx, Status::Denied, text);
        }
        self.prepare(cx);
    }

    pub(crate) fn prepare(&mut self, cx: &mut Context) {
        // What configuration refuses is not even looked at.
        if cx.tool(&self.tool).run == crate::rules::RunRule::Deny {
            return self.refuse(cx, Refused::Key);
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
            Preparation::Error(text) => self.finish_text(cx, Status::Error, text),
            Preparation::Question(question) => self.ask(cx, question, None),
        }
    }

    fn permit(&mut self, cx: &mut Context, prepared: Prepared) {
        let permit = self.decide(cx, &prepared);
        let asks = matches!(permit, Permit::Ask | Permit::Park);
        if !asks
            || self
                .permission
                .as_ref()
                .is_some_and(|(_, hash)| *hash != prepared.hash)
        {
            self.drop_permission(cx);
        }
        match permit {
            Permit::Run => {
                self.state = State::Ready {
                    title: prepared.title,
                }
            }
            Permit::Ask => self.ask_permission(cx, prepared, false),
            Permit::Park => self.ask_permission(cx, prepared, true),
            Permit::Refuse(why) => self.refuse(cx, why),
        }
    }

    /// A prompt of before the resume need not be answered any more.
    pub(crate) fn drop_permission(&mut self, cx: &mut Context) {
        if let Some((id, _)) = self.permission.take() {
            cx.given.remove(&id);
            Prompted::new(id, true, cx.now).withdraw(cx);
        }
    }

    fn decide(&self, cx: &Context, prepared: &Prepared) -> Permit {
        let rules = cx.tool(&self.tool);
        // A prompt that waited for a person goes on waiting for one, whatever `detached` says now.
        let waited = self
            .permission
            .as_ref()
            .is_some_and(|(_, hash)| *hash == prepared.hash);
        let given = waited
            && self
                .permission
                .as_ref()
                .is_some_and(|(prompt, _)| cx.given.contains_key(prompt));
        permit::permit(&permit::Facts {
            mode: cx.mode,
            run: rules.run,
            class: prepared.class,
            trusted: cx.rules.trusted,
            sandboxed: prepared.sandboxed,
            must_ask: prepared.must_ask.is_some(),
            approved: prepared.approved
                || self.approved.as_deref() == Some(&prepared.hash)
                || cx.memory.is_approved(&prepared.hash),
            attached: cx.client.is_some() || given,
            detached: if waited {
                crate::rules::DetachedMode::Stop
            } else {
                rules.detached.run
            },
        })
    }

    fn ask_permission(&mut self, cx: &mut Context, prepared: Prepared, parked: bool) {
        let kept = self.permission.take();
        let recorded = kept.is_some();
        let id = kept.map_or_else(|| cx.next_prompt_id(), |(id, _)| id);
        let prompted = Prompted::new(id.clone(), parked, cx.now);
        if !recorded {
            let diff = matches!(prepared.preview, Some(Preview::Diff { .. }));
            let about = About::RunTool {
                hash: prepared.hash.clone(),
                diff,
            };
            cx.record(Event::PromptOpened {
                prompt: id.clone(),
                call: self.key,
                about,
            });
        }
        self.state = State::Permission {
            prompted,
            prepared: Box::new(prepared),
        };
        self.show(cx, &id);
    }

    /// The mode or an approval widened: a permission that is still being asked for may not be needed any more.
    pub(crate) fn permit_again(&mut self, cx: &mut Context) {
        let State::Permission { prompted, prepared } = &self.state else {
            return;
        };
        if self.decide(cx, prepared) != Permit::Run {
            return;
        }
        let (id, title, parked) = (prompted.id.clone(), prepared.title.clone(), prompted.parked);
        let closed = Closed::Answered {
            answer: Value::from("turn"),
            new_text: None,
            seen: None,
        };
        cx.record(Event::PromptClosed {
            prompt: id.clone(),
            closed,
        });
        if !parked {
            cx.close_prompt(&id, "approved for the rest of the turn");
        }
        cx.tell(prompt::settled_by_user(&id, Value::from("turn")));
        self.state = State::Ready { title };
    }

    /// It has a place: it runs.
    pub(crate) fn run(&mut self, cx: &mut Context) {
        let State::Ready { title } = &self.state else {
            return;
        };
        let title = title.clone();
        self.runs += 1;
        cx.record(Event::CallStarted {
            call: self.key,
            run: self.runs,
        });
        self.tell_call(cx, true, &title);
        let left = cx.rules.limits.tool_time;
        self.state = State::Running(Running {
            deadline: Some(cx.now + left),
            left,
            live: Vec::new(),
            stopping: None,
        });
        cx.perform(Effect::Run(self.work()));
    }

    pub(crate) fn finished(&mut self, cx: &mut Context, outcome: ToolOutcome) {
        let State::Running(running) = &mut self.state else {
            return;
        };
        let stopping = running.stopping;
        for live in std::mem::take(&mut running.live) {
            live.withdraw(cx, self.key);
        }
        match stopping {
            Some(Stopping::Cancelled) => {
                self.finish_text(cx, Status::Cancelled, told::CANCELLED.into());
            }
            Some(Stopping::TimeOver) => {
                self.finish_text(cx, Status::Cancelled, told::TIME_OVER.into());
            }
            Some(Stopping::TooSlow) => {
                let text = told::too_slow(&self.tool, cx.rules.limits.tool_time.as_secs());
                self.finish_text(cx, Status::Error, text);
            }
            None => match outcome {
                ToolOutcome::Success(output) => self.deliver(cx, Status::Ok, output),
                ToolOutcome::Error(output) => self.deliver(cx, Status::Error, output),
                ToolOutcome::NeedsInput(question) => self.ask(cx, question, None),
                ToolOutcome::Stopped => {
                    let text = told::unknown_effects(&self.tool);
                    self.finish_text(cx, Status::Error, text);
                }
            },
        }
    }

    fn deliver(&mut self, cx: &mut Context, status: Status, output: ToolOutput) {
        let rules = cx.tool(&self.tool);
        match permit::deliver(rules.result, cx.client.is_some(), rules.detached.deliver) {
            Delivery::Deliver => self.finish(cx, status, output),
            Delivery::Withhold => self.withhold(cx),
            Delivery::Ask | Delivery::Park => {
                cx.record(Event::ToolResult {
                    call: self.key,
                    status,
                    content: output.content.clone(),
                    held: true,
                    details: output.details.clone(),
                });
                self.ask_delivery(cx, Held { status, output });
            }
        }
    }

    /// The result is on record, held; a person decides.
    pub(crate) fn ask_delivery(&mut self, cx: &mut Context, held: Held) {
        let parked = cx.client.is_none();
        let id = cx.next_prompt_id();
        let about = About::DeliverResult;
        cx.record(Event::PromptOpened {
            prompt: id.clone(),
            call: self.key,
            about,
        });
        let prompted = Prompted::new(id.clone(), parked, cx.now);
        self.state = State::Delivery {
            prompted,
            held: Box::new(held),
        };
        self.show(cx, &id);
    }

    fn withhold(&mut self, cx: &mut Context) {
        let text = told::result_needs_approval(&self.tool);
        cx.refused(&self.tool, RefusalReason::Withheld, &text);
        self.finish_text(cx, Status::Denied, text);
    }

    pub(crate) fn refuse(&mut self, cx: &mut Context, why: Refused) {
        let text = match why {
            Refused::Trust => told::not_trusted(&self.tool),
            Refused::Key => told::denied_by_key(&self.tool),
            Refused::Mode => told::denied_by_mode(&self.tool, cx.mode),
            Refused::NeedsApproval => told::needs_approval(&self.tool),
        };
        if why == Refused::NeedsApproval {
            cx.refused(&self.tool, RefusalReason::NeedsApproval, &text);
        }
        cx.memory.refuse(&self.tool, &self.arguments, &text);
        self.finish_text(cx, Status::Denied, text);
    }

    pub(crate) fn finish_text(&mut self, cx: &mut Context, status: Status, content: String) {
        self.finish(cx, status, ToolOutput::text(content));
    }

    pub(crate) fn finish(&mut self, cx: &mut Context, status: Status, output: ToolOutput) {
        self.drop_permission(cx);
        cx.record(Event::ToolResult {
            call: self.key,
            status,
            content: output.content.clone(),
            held: false,
            details: output.details,
        });
        if !cx.tool(&self.tool).hidden {
            cx.tell(Update::ToolResult {
                id: self.id.clone(),
                status,
                summary: output.summary,
                diff: output.diff,
            });
        }
        self.state = State::Done {
            status,
            content: output.content,
        };
    }

    /// The tool may run no longer: its clock, which a live question stops, has run out.
    pub(crate) fn tick(&mut self, cx: &mut Context) {
        let key = self.key;
        if let State::Running(running) = &mut self.state
            && running.stopping.is_none()
            && running.deadline.is_some_and(|deadline| deadline <= cx.now)
        {
            running.stopping = Some(Stopping::TooSlow);
            cx.perform(Effect::Stop(key));
        }
    }

    pub(crate) fn deadline(&self) -> Option<Time> {
        match &self.state {
            State::Running(running) if running.stopping.is_none() => running.deadline,
            _ => None,
        }
    }

    /// Ends it before its time. A run ends when its last process has.
    pub(crate) fn end(&mut self, cx: &mut Context, ending: Ending) {
        let key = self.key;
        let state = std::mem::replace(&mut self.state, State::New);
        match state {
            State::Done { .. } => return self.state = state,
            State::Running(mut running) => {
                for live in std::mem::take(&mut running.live) {
                    live.withdraw(cx, key);
                }
                let already = running.stopping.is_some();
                running.stopping = Some(match ending {
                    Ending::Cancelled => Stopping::Cancelled,
                    Ending::TimeOver => Stopping::TimeOver,
                });
                self.state = State::Running(running);
                if !already {
                    cx.perform(Effect::Stop(key));
                }
                return;
            }
            State::Asking(waiting) => waiting.withdraw(cx, key),
            State::Permission { prompted, .. } | State::Delivery { prompted, .. } => {
                self.permission = None;
                prompted.withdraw(cx);
            }
            State::New | State::Preparing | State::Ready { .. } => {}
        }
        let text = match ending {
            Ending::Cancelled => told::CANCELLED,
            Ending::TimeOver => told::TIME_OVER,
        };
        self.finish_text(cx, Status::Cancelled, text.into());
    }

    /// The process goes at once: what runs is stopped, and nothing is decided.
    pub(crate) fn abandon(&self, cx: &mut Context) {
        if matches!(&self.state, State::Running(running) if !running.is_stopping()) {
            cx.perform(Effect::Stop(self.key));
        }
    }

    pub(crate) fn is_done(&self) -> bool {
        matches!(self.state, State::Done { .. })
    }

    /// It executes, or is about to: an inquiry may wait a moment for its question.
    pub(crate) fn executes(&self) -> bool {
        match &self.state {
            State::Running(running) => running.live.is_empty(),
            State::New | State::Preparing | State::Ready { .. } => true,
            _ => false,
        }
    }

    /// It waits for a person who is not there.
    pub(crate) fn is_parked(&self) -> bool {
        match &self.state {
            State::Asking(waiting) => waiting.is_parked(),
            State::Permission { prompted, .. } | State::Delivery { prompted, .. } => {
                prompted.parked
            }
            _ => false,
        }
    }

    pub(crate) fn work(&self) -> CallWork {
        CallWork {
            call: self.key,
            id: self.id.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            answers: self.answers.clone(),
            new_text: self.new_text.clone(),
        }
    }

    fn tell_call(&self, cx: &mut Context, running: bool, title: &str) {
        if !cx.tool(&self.tool).hidden {
            cx.tell(Update::ToolCall {
                step: cx.cycle,
                id: self.id.clone(),
                name: self.tool.clone(),
                title: title.to_owned(),
                arguments: self.arguments.clone(),
                running,
            });
        }
    }

    /// A live question stops the tool's clock; its answer starts it again.
    pub(crate) fn turn_clock(&mut self, now: Time) {
        if let State::Running(running) = &mut self.state {
            match (running.live.is_empty(), running.deadline) {
                (false, Some(deadline)) => {
                    running.left = deadline.saturating_sub(now);
                    running.deadline = None;
                }
                (true, None) => running.deadline = Some(now + running.left),
                _ => {}
            }
        }
    }
}

/// The arguments of a call; nothing at all is an empty object.
pub(crate) fn parse_arguments(raw: &str) -> Result<Value, String> {
    if raw.trim().is_empty() {
        return Ok(Value::Object(serde_json::Map::new()));
    }
    match serde_json::from_str(raw) {
        Ok(value @ Value::Object(_)) => Ok(value),
        Ok(_) => Err("they are not a JSON object".into()),
        Err(error) => Err(format!("they are not valid JSON: {error}")),
    }
}

/// Whether one more question is one too many for this call.
pub(crate) fn keeps_asking(call: &Call, question: &Question) -> bool {
    let same = call
        .answered
        .iter()
        .find(|(known, _)| known.is_same(question));
    call.asked > limits::QUESTIONS_A_CALL
        || same.is_some_and(|(_, answers)| *answers >= limits::SAME_QUESTION)
}

/// What a person may answer to a permission prompt.
pub(crate) fn permission_options(prepared: &Prepared) -> &'static [&'static str] {
    match prepared.preview {
        Some(Preview::Diff { .. }) => &["once", "turn", "no"],
        _ => &["once", "turn", "always", "no"],
    }
}

/// Whether an answer to a permission prompt is one.
pub(crate) fn permission_answer(
    prepared: &Prepared,
    answer: &PromptAnswer,
) -> Option<&'static str> {
    let PromptAnswer::Answer {
        value, new_text, ..
    } = answer
    else {
        return None;
    };
    let options = permission_options(prepared);
    let chosen = options
        .iter()
        .find(|option| value.0.as_str() == Some(**option))?;
    let diff = matches!(prepared.preview, Some(Preview::Diff { .. }));
    let text_fits = new_text.is_none() || (diff && *chosen != "no");
    text_fits.then_some(*chosen)
}
