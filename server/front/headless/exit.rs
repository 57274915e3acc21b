//! The exit code of `aside run`, which scripts depend on.

use aside_turn::{
    effect::End,
    record::{ErrorCode, Outcome, Refusal, RefusalReason},
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

/// What is not let pass, though the turn completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// Nothing.
    Off,
    /// Whatever was refused.
    AllRefusals,
    /// The same, but for what a mode refused: the user chose it on the command line for just that.
    AllButMode,
}

/// The exit code of a turn that ended so.
///
/// A signal counts only where it ended the turn: one that came too late changes nothing.
#[must_use]
pub fn exit_code(end: &End, strictness: Strictness, signal: Option<Signal>) -> u8 {
    let by_signal = match signal {
        Some(Signal::Terminate) => 143,
        Some(Signal::HangUp) => 129,
        Some(Signal::Interrupt) | None => 130,
    };
    let counts = |refusal: &Refusal| match strictness {
        Strictness::Off => false,
        Strictness::AllRefusals => true,
        Strictness::AllButMode => refusal.reason != RefusalReason::Mode,
    };
    match end.outcome {
        Outcome::Completed if end.refusals.iter().any(counts) => 3,
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
    use aside_turn::{question::AnswerType, record::TurnError, response::Usage};

    use super::*;
    use crate::front::headless::ask;

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

    fn refused(reason: RefusalReason) -> Refusal {
        Refusal {
            tool: "run_command".into(),
            arguments: serde_json::json!({"command": "true"}),
            reason,
            text: "run_command needs approval.".into(),
        }
    }

    #[test]
    fn a_completed_turn_is_0_or_under_strict_3_where_something_was_refused() {
        let check = |refusals: &[RefusalReason], strictness, signal, expected| {
            let end = End {
                refusals: refusals.iter().map(|reason| refused(*reason)).collect(),
                ..end(Outcome::Completed)
            };
            assert_eq!(exit_code(&end, strictness, signal), expected);
        };
        let (off, all, but_mode) = (
            Strictness::Off,
            Strictness::AllRefusals,
            Strictness::AllButMode,
        );
        let (approval, mode) = (RefusalReason::NeedsApproval, RefusalReason::Mode);
        check(&[], off, None, 0);
        check(&[], all, None, 0);
        check(&[approval], off, None, 0);
        check(&[approval], all, None, 3);
        check(&[RefusalReason::NotTrusted], all, None, 3);
        check(&[mode], all, None, 3);
        check(&[mode], but_mode, None, 0);
        check(&[mode, approval], but_mode, None, 3);
        check(&[], off, Some(Signal::Interrupt), 0);
    }

    #[test]
    fn a_failed_turn_tells_budget_limit_and_provider_from_the_rest() {
        let check = |code, expected| {
            let end = End {
                error: Some(TurnError::new(code, "")),
                ..end(Outcome::Failed)
            };
            assert_eq!(
                exit_code(&end, Strictness::AllRefusals, None),
                expected,
                "{code:?}"
            );
        };
        check(ErrorCode::Provider, 1);
        check(ErrorCode::Schema, 1);
        check(ErrorCode::ContextFull, 1);
        check(ErrorCode::Refused, 1);
        check(ErrorCode::Internal, 1);
        check(ErrorCode::Budget, 5);
        check(ErrorCode::Limit, 5);
        check(ErrorCode::NoProvider, 6);
        assert_eq!(exit_code(&end(Outcome::Failed), Strictness::Off, None), 1);
    }

    #[test]
    fn a_turn_that_stops_at_a_prompt_is_4_and_one_that_a_signal_ends_its_number() {
        let parked = End {
            prompts: vec![ask::tests::question("Ship it?", AnswerType::Boolean)],
            ..end(Outcome::Interrupted)
        };
        let check = |end: &End, signal, expected| {
            assert_eq!(
                exit_code(end, Strictness::Off, signal),
                expected,
                "{:?} {signal:?}",
                end.outcome
            );
        };
        check(&parked, None, 4);
        check(&parked, Some(Signal::Terminate), 143);
        check(&end(Outcome::Interrupted), Some(Signal::Interrupt), 130);
        check(&end(Outcome::Interrupted), Some(Signal::Terminate), 143);
        check(&end(Outcome::Interrupted), Some(Signal::HangUp), 129);
        check(&end(Outcome::Interrupted), None, 130);
        check(&end(Outcome::Cancelled), Some(Signal::Interrupt), 130);
    }
}
