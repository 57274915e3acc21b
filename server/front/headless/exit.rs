//! The exit code of `aside run`, which scripts depend on.

use crate::turn::{
    effect::End,
    record::{ErrorCode, Outcome},
};

/// The command line or the configuration is wrong.
pub const USAGE: u8 = 2;
/// There is no usable provider or model.
pub const NO_PROVIDER: u8 = 6;

/// A signal that ended the turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// The user typed Ctrl-C (SIGINT).
    Interrupt,
    /// Somebody asks the program to end (SIGTERM).
    Terminate,
    /// SIGHUP: the terminal went away. Like a second Ctrl-C.
    HangUp,
}

/// The exit code of a turn that ended so. `strict`: what was refused for want of a human is not let pass.
///
/// A signal counts only where it ended the turn: one that came too late changes nothing.
#[must_use]
pub fn exit_code(end: &End, strict: bool, signal: Option<Signal>) -> u8 {
    let by_signal = match signal {
        Some(Signal::Terminate) => 143,
        Some(Signal::Interrupt | Signal::HangUp) | None => 130,
    };
    match end.outcome {
        Outcome::Completed if strict && !end.refusals.is_empty() => 3,
        Outcome::Completed => 0,
        Outcome::Failed => failed(end.error.as_ref().map(|error| error.code)),
        Outcome::Interrupted if signal.is_none() && !end.prompts.is_empty() => 4,
        Outcome::Cancelled | Outcome::Interrupted => by_signal,
    }
}

fn failed(code: Option<ErrorCode>) -> u8 {
    match code {
        Some(ErrorCode::Budget | ErrorCode::Limit) => 5,
        Some(ErrorCode::NoProvider) => NO_PROVIDER,
        Some(
            ErrorCode::Provider
            | ErrorCode::Schema
            | ErrorCode::ContextFull
            | ErrorCode::Refused
            | ErrorCode::Internal,
        )
        | None => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        front::headless::ask,
        turn::{
            question::AnswerType,
            record::{Refusal, RefusalReason, TurnError},
            response::Usage,
        },
    };

    fn end(outcome: Outcome) -> End {
        End {
            outcome,
            answer: None,
            structured: None,
            error: None,
            usage: Usage::default(),
            refusals: vec![],
            prompts: vec![],
        }
    }

    fn refused() -> Refusal {
        let reason = RefusalReason::NeedsApproval;
        Refusal {
            tool: "run_command".into(),
            reason,
            text: "run_command needs approval.".into(),
        }
    }

    #[test]
    fn a_completed_turn_is_0_or_under_strict_3_where_something_was_refused() {
        let check = |refusals: Vec<Refusal>, strict, signal, expected| {
            let end = End {
                refusals,
                ..end(Outcome::Completed)
            };
            assert_eq!(exit_code(&end, strict, signal), expected);
        };
        check(vec![], false, None, 0);
        check(vec![], true, None, 0);
        check(vec![refused()], false, None, 0);
        check(vec![refused()], true, None, 3);
        check(vec![], false, Some(Signal::Interrupt), 0);
    }

    #[test]
    fn a_failed_turn_tells_budget_limit_and_provider_from_the_rest() {
        let check = |code, expected| {
            let end = End {
                error: Some(TurnError::new(code, "")),
                ..end(Outcome::Failed)
            };
            assert_eq!(exit_code(&end, true, None), expected, "{code:?}");
        };
        check(ErrorCode::Provider, 1);
        check(ErrorCode::Schema, 1);
        check(ErrorCode::ContextFull, 1);
        check(ErrorCode::Refused, 1);
        check(ErrorCode::Internal, 1);
        check(ErrorCode::Budget, 5);
        check(ErrorCode::Limit, 5);
        check(ErrorCode::NoProvider, 6);
        assert_eq!(exit_code(&end(Outcome::Failed), false, None), 1);
    }

    #[test]
    fn a_turn_that_stops_at_a_prompt_is_4_and_one_that_a_signal_ends_its_number() {
        let parked = End {
            prompts: vec![ask::tests::question("Ship it?", AnswerType::Boolean)],
            ..end(Outcome::Interrupted)
        };
        let check = |end: &End, signal, expected| {
            assert_eq!(
                exit_code(end, false, signal),
                expected,
                "{:?} {signal:?}",
                end.outcome
            );
        };
        check(&parked, None, 4);
        check(&parked, Some(Signal::Terminate), 143);
        check(&end(Outcome::Interrupted), Some(Signal::Interrupt), 130);
        check(&end(Outcome::Interrupted), Some(Signal::Terminate), 143);
        check(&end(Outcome::Interrupted), Some(Signal::HangUp), 130);
        check(&end(Outcome::Interrupted), None, 130);
        check(&end(Outcome::Cancelled), Some(Signal::Interrupt), 130);
    }
}
