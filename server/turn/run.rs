//! A run of a call's tool: its time, which stands still while a question of it is open, and its end.

use crate::{
    ask::Waiting,
    call::{Call, State},
    context::Context,
    effect::Effect,
    event::{CallEnd, Event, ResultReason},
    input::{Time, ToolOutcome},
};

/// A run of a tool.
#[derive(Debug)]
pub(crate) struct Running {
    /// When its time is over, unless a question is open.
    pub(crate) deadline: Option<Time>,
    /// What was left of its time when a question stopped the clock.
    pub(crate) left: Time,
    pub(crate) live: Vec<Waiting>,
    pub(crate) stopping: Option<Stopping>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stopping {
    Cancelled,
    TimeOver,
    TooSlow,
}

impl Running {
    pub(crate) fn is_stopping(&self) -> bool {
        self.stopping.is_some()
    }
}

impl Call {
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
            title: title.clone(),
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
                let text = cx.text().cancelled();
                self.finish_aside(cx, ResultReason::Cancelled, text);
            }
            Some(Stopping::TimeOver) => {
                let text = cx.text().time_over();
                self.finish_aside(cx, ResultReason::TimeOver, text);
            }
            Some(Stopping::TooSlow) => {
                let text = cx
                    .text()
                    .too_slow(&self.tool, cx.rules.limits.tool_time.as_secs());
                self.finish_aside(cx, ResultReason::TooSlow, text);
            }
            None => match outcome {
                ToolOutcome::Success(output) => self.deliver(cx, CallEnd::Success, output),
                ToolOutcome::Error(output) => self.deliver(cx, CallEnd::Failure, output),
                ToolOutcome::NeedsInput(question) => self.ask(cx, question, None),
                ToolOutcome::Stopped => {
                    let text = cx.text().unknown_effects(&self.tool);
                    self.finish_aside(cx, ResultReason::Interrupted, text);
                }
            },
        }
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
