//! A model that makes the same call again and again: it is told, and then the turn ends.

use crate::{
    record::{DirectiveKind, ErrorCode, Event, Level, TurnError},
    rules::limits,
    turn::{Conclusion, Turn},
};

/// Consequence of calls that were made again with the same results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consequence {
    /// The turn goes on.
    GoOn,
    /// The model is told, and the turn goes on.
    Warn,
    /// The turn ends.
    End,
}

/// The consequence after this number of repetitions in a row; `warned` if the model knows already.
#[must_use]
pub(super) fn consequence(repetitions: u32, warned: bool) -> Consequence {
    match repetitions {
        limits::REPEATS_IN_A_ROW.. => Consequence::End,
        limits::REPEATS_WARNED.. if !warned => Consequence::Warn,
        _ => Consequence::GoOn,
    }
}

impl Turn {
    /// Sends the next request after the calls of a step, unless they repeat what was done in vain.
    pub(crate) fn go_on_unless_repeating(&mut self) {
        let repetition = self.cx.history.repetition();
        let Some((tool, times)) = repetition.worst() else {
            return self.request();
        };
        let tool = tool.to_owned();
        // The first call is no repetition.
        let calls = (times + 1).to_string();
        match consequence(times, repetition.is_warned()) {
            Consequence::GoOn => self.request(),
            Consequence::Warn => {
                let notice = format!(
                    "The model called {tool} {calls} times with the same result; it is told so."
                );
                let kind = DirectiveKind::Repeats { tool };
                let text = self.cx.text().directive(&kind, &calls);
                self.cx.record(Event::Directive { kind, text });
                self.cx.notice(Level::Warning, notice);
                self.request();
            }
            Consequence::End => {
                let model = &self.cx.rules.model.id;
                let text = format!(
                    "{model} called {tool} {calls} times with the same result, also after it was told so; say what \
                     it should do instead, or choose another model."
                );
                let error = TurnError::new(ErrorCode::Repeating, text);
                self.conclude(Conclusion::failed(error));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_warned_once_before_the_turn_ends() {
        let of = |times| (consequence(times, false), consequence(times, true));
        assert_eq!(of(1), (Consequence::GoOn, Consequence::GoOn));
        assert_eq!(of(2), (Consequence::GoOn, Consequence::GoOn));
        assert_eq!(of(3), (Consequence::Warn, Consequence::GoOn));
        assert_eq!(of(5), (Consequence::Warn, Consequence::GoOn));
        assert_eq!(of(6), (Consequence::End, Consequence::End));
        assert_eq!(of(u32::MAX), (Consequence::End, Consequence::End));
    }
}
