//! One call of a tool, from the response that made it to its result: prepare, permit, run, ask, deliver.
//!
//! A question sends the call back to its preparation with one answer more, so there is one way through:
//! what was approved is compared with what would run each time.

use serde_json::Value;

use crate::{
    ask::Waiting,
    context::Context,
    delivery::Held,
    effect::{CallWork, Effect, Update},
    event::{CallEnd, CallKey, Event, PromptId, ResultReason},
    history::parse_arguments,
    input::{Preparation, Prepared, ToolOutput},
    limits,
    permit::Refused,
    prompt::Prompted,
    question::{Answer, Question},
    run::{Running, Stopping},
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
    Asking(Box<Waiting>),
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
        end: CallEnd,
        content: String,
    },
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
            let text = cx.text().too_many_calls();
            return self.finish_aside(cx, ResultReason::TooManyCalls, text);
        }
        if !cx.rules.tools.contains_key(&self.tool) {
            let text = cx.text().no_tool(&self.tool);
            return self.finish_aside(cx, ResultReason::UnknownTool, text);
        }
        if let Err(what) = parsed {
            let text = cx.text().invalid_arguments(&self.tool, &what);
            return self.finish_aside(cx, ResultReason::InvalidArguments, text);
        }
        if let Some(reason) = cx.memory().refused(&self.tool, &self.arguments).cloned() {
            let text = cx.text().refused_again(&self.tool, &reason, cx.mode());
            return self.finish_aside(cx, reason, text);
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
            Preparation::Error(text) => {
                self.finish(cx, CallEnd::Failure, ToolOutput::text(text));
            }
            Preparation::Question(question) => self.ask(cx, question, None),
        }
    }

    /// Ends the call for a reason of Aside's, of which the model is told this.
    pub(crate) fn finish_aside(&mut self, cx: &mut Context, reason: ResultReason, content: String) {
        self.finish(cx, reason.into(), ToolOutput::text(content));
    }

    pub(crate) fn finish(&mut self, cx: &mut Context, end: CallEnd, output: ToolOutput) {
        self.drop_permission(cx);
        cx.record(Event::ToolResult {
            call: self.key,
            end: end.clone(),
            content: output.content.clone(),
            held: false,
            details: output.details,
        });
        if !cx.tool(&self.tool).hidden {
            cx.tell(Update::ToolResult {
                id: self.id.clone(),
                status: end.status(),
                summary: output.summary,
                diff: output.diff,
            });
        }
        self.state = State::Done {
            end,
            content: output.content,
        };
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
        let (reason, text) = match ending {
            Ending::Cancelled => (ResultReason::Cancelled, cx.text().cancelled()),
            Ending::TimeOver => (ResultReason::TimeOver, cx.text().time_over()),
        };
        self.finish_aside(cx, reason, text);
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

    pub(crate) fn tell_call(&self, cx: &mut Context, running: bool, title: &str) {
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
