//! The exit code of `aside run`, which scripts depend on.

use aside_base::system::signals::EndSignal;
use aside_turn::{
    effect::End,
    record::{ErrorCode, Outcome, Refusal, RefusalReason},
};

/// Exit code: the command line or the configuration is invalid.
pub const USAGE: u8 = 2;
/// Exit code under `--strict`: a completed turn is not what was asked for.
pub const REFUSED: u8 = 3;
/// Exit code: a budget or another limit.
pub const LIMIT: u8 = 5;
/// Exit code: there is no usable provider or model.
pub const NO_PROVIDER: u8 = 6;

/// Refusals that make a completed turn fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// None.
    Off,
    /// All refusals.
    AllRefusals,
    /// All refusals except those by the mode that the user chose on the command line.
    AllButMode,
}

/// The exit code for a signal.
#[must_use]
pub fn by_signal(signal: EndSignal) -> u8 {
    match signal {
        EndSignal::HangUp => 129,
        EndSignal::Interrupt => 130,
        EndSignal::Terminate => 143,
    }
}

/// The exit code for the end of a turn.
///
/// A signal counts only if it ended the turn; one that came too late is ignored.
#[must_use]
pub fn exit_code(end: &End, strictness: Strictness, signal: Option<EndSignal>) -> u8 {
    let by_signal = by_signal(signal.unwrap_or(EndSignal::Interrupt));
    let counts = |refusal: &Refusal| match strictness {
        Strictness::Off => false,
        Strictness::AllRefusals => true,
        Strictness::AllButMode => refusal.reason != RefusalReason::Mode,
    };
    match end.outcome {
        Outcome::Completed if end.refusals.iter().any(counts) => REFUSED,
        Outcome::Completed => 0,
        Outcome::Failed => failed(end.error.as_ref().map(|error| error.code)),
        Outcome::Interrupted if signal.is_none() && !end.prompts.is_empty() => 4,
        Outcome::Cancelled | Outcome::Interrupted => by_signal,
    }
}

fn failed(code: Option<ErrorCode>) -> u8 {
    match code {
        Some(ErrorCode::Budget | ErrorCode::Limit | ErrorCode::CutOff | ErrorCode::Repeating) => {
            LIMIT
        }
        Some(ErrorCode::NoProvider) => NO_PROVIDER,
        Some(
            ErrorCode::Provider
            | ErrorCode::Schema
            | ErrorCode::ContextFull
            | ErrorCode::Refused
            | ErrorCode::Empty
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
            summary_due: None,
        }
    }

    fn refused(reason: RefusalReason) -> Refusal {
        let arguments = serde_json::json!({"command": "true"});
        Refusal::new("run_command".into(), arguments, reason, None, None)
    }

    #[test]
    fn completed_turns_exit_0_or_3_under_strict() {
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
        check(&[], off, Some(EndSignal::Interrupt), 0);
    }

    #[test]
    fn failed_turns_exit_by_cause() {
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
        check(ErrorCode::Empty, 1);
        check(ErrorCode::Internal, 1);
        check(ErrorCode::Budget, 5);
        check(ErrorCode::Limit, 5);
        check(ErrorCode::CutOff, 5);
        check(ErrorCode::Repeating, 5);
        check(ErrorCode::NoProvider, 6);
        assert_eq!(exit_code(&end(Outcome::Failed), Strictness::Off, None), 1);
    }

    #[test]
    fn stopped_turns_exit_4_and_signals_exit_by_number() {
        let parked = End {
            prompts: vec![ask::tests::question("Ship it?", AnswerType::Boolean)],
            summary_due: None,
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
        check(&parked, Some(EndSignal::Terminate), 143);
        check(&end(Outcome::Interrupted), Some(EndSignal::Interrupt), 130);
        check(&end(Outcome::Interrupted), Some(EndSignal::Terminate), 143);
        check(&end(Outcome::Interrupted), Some(EndSignal::HangUp), 129);
        check(&end(Outcome::Interrupted), None, 130);
        check(&end(Outcome::Cancelled), Some(EndSignal::Interrupt), 130);
    }
}
