//! A run of a call's tool, whose clock stops while a live question is open.

use crate::{call::question::OpenQuestion, input::Time, record::PromptId, rules::limits};

/// A run of a tool.
#[derive(Debug)]
pub(super) struct Running {
    /// The time at which the run is stopped, unless a question is open.
    deadline: Option<Time>,
    /// Time left when a question stopped the clock.
    left: Time,
    /// The time behind which progress prolongs nothing.
    last: Time,
    /// Live questions without an answer.
    live: Vec<OpenQuestion>,
    stopping: Option<Stopping>,
}

/// Reason for which a run is being stopped.
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
            last: now + most * limits::PROLONGED,
            live: Vec::new(),
            stopping: None,
        }
    }

    pub(super) fn stopping(&self) -> Option<Stopping> {
        self.stopping
    }

    /// Begins to stop the run. Returns false if it is being stopped already.
    pub(super) fn stop(&mut self, why: Stopping) -> bool {
        self.stopping.replace(why).is_none()
    }

    /// Whether the run has used up its time.
    pub(super) fn is_too_slow(&self, now: Time) -> bool {
        self.deadline().is_some_and(|deadline| deadline <= now)
    }

    /// The time at which the run is stopped, unless it is being stopped or waits for an answer.
    pub(super) fn deadline(&self) -> Option<Time> {
        self.deadline.filter(|_| self.stopping.is_none())
    }

    /// Begins the run's time anew, up to the longest that any run may take.
    pub(super) fn prolong(&mut self, now: Time, most: Time) {
        match &mut self.deadline {
            Some(deadline) => *deadline = (now + most).min(self.last).max(*deadline),
            None => self.left = most,
        }
    }

    pub(super) fn live(&self) -> &[OpenQuestion] {
        &self.live
    }

    /// The live question of this prompt.
    pub(super) fn live_mut(&mut self, prompt: &PromptId) -> Option<&mut OpenQuestion> {
        let mut live = self.live.iter_mut();
        live.find(|open| open.prompt_id().as_ref() == Some(prompt))
    }

    /// Adds a live question and stops the clock.
    pub(super) fn wait(&mut self, question: OpenQuestion, now: Time) {
        self.live.push(question);
        self.turn_clock(now);
    }

    /// Removes a live question. The clock goes on after the last one.
    pub(super) fn settle(&mut self, pair: &str, now: Time) {
        self.live.retain(|live| live.pair() != pair);
        self.turn_clock(now);
    }

    /// Takes one live question, because the tool no longer waits for its answer. The clock goes on after the last one.
    pub(super) fn take(&mut self, number: u32, now: Time) -> Option<OpenQuestion> {
        let at = self
            .live
            .iter()
            .position(|live| live.live() == Some(number))?;
        let open = self.live.remove(at);
        self.turn_clock(now);
        Some(open)
    }

    /// Takes the live questions, because the run ends.
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
