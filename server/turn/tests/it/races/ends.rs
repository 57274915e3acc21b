//! What must be true when a turn is over, and between two inputs.

use aside_turn::{
    effect::End,
    record::{CallKey, ErrorCode, Outcome, PromptId},
};

use super::{checker::Checker, count};

impl Checker {
    pub(crate) fn end(&mut self, end: &End) {
        self.counts.add(count::outcome(end.outcome));
        let recorded = self.life.last_recorded == "turn end" && self.turn.end == Some(end.outcome);
        if let Some(error) = &end.error {
            self.counts.add(count::error(error.code));
        }
        let code = end.error.as_ref().map(|error| error.code);
        let wrong = if self.life.broken {
            code != Some(ErrorCode::Internal)
        } else {
            !recorded || (end.outcome == Outcome::Failed) != code.is_some()
        };
        let over = code == Some(ErrorCode::Limit);
        if wrong {
            self.fail(format!(
                "ends {:?} {code:?}, on record is {:?}",
                end.outcome, self.turn.end
            ));
        } else if self.life.left && end.outcome != Outcome::Interrupted && !self.life.broken {
            self.fail(format!(
                "a client left, and the turn ends {:?}",
                end.outcome
            ));
        } else if self.life.cancelled
            && !self.life.left
            && !self.life.broken
            && end.outcome != Outcome::Cancelled
            && !over
        {
            self.fail(format!(
                "the user cancelled, and the turn ends {:?}",
                end.outcome
            ));
        } else if !self.life.requests.is_empty() {
            self.fail(format!("{:?} are out at the end", self.life.requests));
        }
        self.check_children(end);
        self.check_prompts(end);
        self.life.end = Some(end.clone());
    }

    fn check_children(&mut self, end: &End) {
        let running: Vec<_> = self.life.running.iter().collect();
        let stopped = running.iter().all(|key| self.life.stopped.contains(key));
        let abandoned = self.life.left && stopped;
        if !running.is_empty() && !abandoned {
            let what = format!("{running:?} still run at the end, {:?}", end.outcome);
            self.fail(what);
        }
    }

    fn check_prompts(&mut self, end: &End) {
        if end.outcome != Outcome::Interrupted {
            if !self.life.on_screen.is_empty() && !self.life.broken {
                let what = format!("{:?} stay on the screen", self.life.on_screen);
                self.fail(what);
            }
            return;
        }
        let open: Vec<_> = self
            .turn
            .open_prompts()
            .into_iter()
            .map(|(id, _)| id)
            .collect();
        let given: Vec<_> = end.prompts.iter().map(|prompt| prompt.id.clone()).collect();
        let right = if self.life.left {
            given.iter().all(|id| open.contains(id))
        } else {
            let waits = |key: &CallKey| self.turn.prompt_of(*key).is_some();
            !open.is_empty()
                && open.iter().all(|id| given.contains(id))
                && given.len() == open.len()
                && self.turn.unfinished().all(|(key, _)| waits(key))
        };
        if !right {
            return self.fail(format!("interrupted with {given:?}, open are {open:?}"));
        }
        if !self.life.left {
            let again = std::mem::replace(&mut self.turn.parked, true);
            self.counts
                .add(if again { "parked again" } else { "parked" });
        }
    }

    /// All effects of an input are performed: what waits for a person is on the screen.
    pub(crate) fn settled_down(&mut self) {
        if self.life.end.is_some() || self.life.broken {
            return;
        }
        let Some(client) = &self.client else { return };
        let missing = self.turn.prompts.iter().find(|(id, seen)| {
            let shows = self
                .turn
                .question(id)
                .is_none_or(|question| client.secret || !question.is_secret());
            let began = self.life.began.contains(&seen.call) || self.turn.question(id).is_some();
            shows && began && self.turn.is_open(id) && !self.life.on_screen.contains(id)
        });
        if let Some((id, _)) = missing {
            self.fail(format!("{} is open, and on no screen", id.0));
        }
    }

    /// An answer that did not fit came: the prompt is shown again, twice at the most.
    pub(crate) fn unfit(&mut self, prompt: &PromptId, shown: bool) {
        self.counts.add("answer that does not fit");
        let times = self.life.unfit.entry(prompt.clone()).or_default();
        *times += 1;
        if shown != (*times <= 2) {
            let what = format!("{} is shown again: {shown}, after {times}", prompt.0);
            self.fail(what);
        }
    }
}
