//! Failure to append to the log: no later effect is performed, and the turn ends.

use crate::{
    call::{Call, Ending},
    effect::Effect,
    record::{ErrorCode, TurnError},
    turn::{Conclusion, Phase, Turn},
};

impl Turn {
    pub(crate) fn append_failed(&mut self, why: &str) {
        let lost = self.cx.break_off();
        let over = matches!(self.phase, Phase::Ended);
        if over && !lost.iter().any(|effect| matches!(effect, Effect::End(_))) {
            return;
        }
        let message = format!("The conversation could not be written to disk: {why}.");
        let failed = Conclusion::failed(TurnError::new(ErrorCode::Internal, message));
        match &mut self.phase {
            Phase::Stopping(conclusion) => *conclusion = failed.clone(),
            _ => self.stop(Ending::LogFailed, failed.clone()),
        }
        self.make_up_for(lost);
        if over {
            self.conclude(failed);
        }
    }

    /// Performs lost effects that end something which was begun.
    fn make_up_for(&mut self, lost: Vec<Effect>) {
        self.cx
            .keep(|effect| !lost.iter().any(|lost| ends(effect, lost)));
        for effect in &lost {
            if let Effect::Run(work) = effect {
                let never_ran = |call: &&mut Call| call.key() == work.call && !call.is_done();
                if let Some(call) = self.calls.iter_mut().find(never_ran) {
                    call.log_failed(&mut self.cx);
                }
            }
        }
        for (at, effect) in lost.iter().enumerate() {
            let is_end = matches!(
                effect,
                Effect::Abort(_) | Effect::Stop(_) | Effect::ClosePrompt(..)
            );
            if is_end && !lost[..at].iter().any(|lost| ends(effect, lost)) {
                self.cx.perform(effect.clone());
            }
        }
    }
}

/// Whether `effect` ends the work that `other` begins.
fn ends(effect: &Effect, other: &Effect) -> bool {
    match (effect, other) {
        (Effect::Abort(id), Effect::Send(request)) => *id == request.id,
        (Effect::Stop(call), Effect::Run(work)) => *call == work.call,
        (Effect::ClosePrompt(id, _), Effect::OpenPrompt(prompt)) => *id == prompt.id,
        _ => false,
    }
}
