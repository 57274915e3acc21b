//! A run of a call's tool: its time, which stands still while a question of it is open.

use crate::{call::question::OpenQuestion, input::Time, record::PromptId};

/// A run of a tool.
#[derive(Debug)]
pub(super) struct Running {
    /// When its time is over, unless a question is open.
    deadline: Option<Time>,
    /// What was left of its time when a question stopped the clock.
    left: Time,
    /// What it asked and has no answer yet.
    live: Vec<OpenQuestion>,
    stopping: Option<Stopping>,
}

/// Why a run is being stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stopping {
    Cancelled,
    TimeOver,
    TooSlow,
    LogFailed,
}

impl Running {
    pub(super) fn new(now: Time, most: Time) -> Self {
        Self {
            deadline: Some(now + most),
            left: most,
            live: Vec::new(),
            stopping: None,
        }
    }

    pub(super) fn stopping(&self) -> Option<Stopping> {
        self.stopping
    }

    /// It is to stop, for this reason; false where it is being stopped already.
    pub(super) fn stop(&mut self, why: Stopping) -> bool {
        self.stopping.replace(why).is_none()
    }

    /// Its clock, which a live question stops, has run out.
    pub(super) fn is_too_slow(&self, now: Time) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// When its time is over, if it is neither stopped nor waiting.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadline.filter(|_| self.stopping.is_none())
    }

    pub(super) fn live(&self) -> &[OpenQuestion] {
        &self.live
    }

    /// The live question of this prompt.
    pub(super) fn live_mut(&mut self, prompt: &PromptId) -> Option<&mut OpenQuestion> {
        let mut live = self.live.iter_mut();
        live.find(|open| open.prompt_id().as_ref() == Some(prompt))
    }

    /// It asks: its clock stands still.
    pub(super) fn wait(&mut self, question: OpenQuestion, now: Time) {
        self.live.push(question);
        self.turn_clock(now);
    }

    /// A question of it ended: its clock goes on after the last.
    pub(super) fn settle(&mut self, pair: &str, now: Time) {
        self.live.retain(|live| live.pair() != pair);
        self.turn_clock(now);
    }

    /// It is over, or ends: what it asked need not be answered.
    pub(super) fn take_live(&mut self) -> Vec<OpenQuestion> {
        std::mem::take(&mut self.live)
    }

    fn turn_clock(&mut self, now: Time) {
        match (self.live.is_empty(), self.deadline) {
            (false, Some(deadline)) => {
                self.left = deadline.saturating_sub(now);
                self.deadline = None;
            }
            (true, None) => self.deadline = Some(now + self.left),
            _ => {}
        }
    }
}
