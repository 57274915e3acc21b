//! What a run of the test reached, and how often.

use std::collections::BTreeMap;

use aside_turn::{
    inquiry::Strategy,
    record::{By, ErrorCode, Outcome, Reason},
};

/// Everything that a run must reach.
pub(crate) const TO_REACH: &[&str] = &[
    "outcome completed",
    "outcome cancelled",
    "outcome failed",
    "outcome interrupted",
    "error provider",
    "error no_provider",
    "error schema",
    "error context_full",
    "error refused",
    "error budget",
    "error limit",
    "error internal",
    "reason user",
    "reason withdrawn",
    "reason backend_error",
    "reason no_prompt_backend",
    "reason assistant_routing_denied",
    "reason invalid_static_answer",
    "reason detached_policy",
    "reason invalid_question",
    "reason limit_reached",
    "by user",
    "by assistant",
    "by config",
    "by remembered",
    "by default",
    "redacted",
    "rung in_band",
    "rung in_band, repair",
    "rung forced_tool",
    "rung forced_tool, repair",
    "rung forced_tool, second",
    "rung structured",
    "rung structured, repair",
    "rung structured, second",
    "summary asked for",
    "summary on record",
    "batch of several",
    "batch of several, repaired",
    "resume: no response end",
    "resume: something owed after the answer",
    "resume: answered, no end",
    "resume: permission open",
    "resume: in vain",
    "resume: approved, not started",
    "resume: question open, attached",
    "resume: question open, parked",
    "resume: configured meanwhile",
    "resume: inquiry cut off",
    "resume: answered, not started again",
    "resume: secret to be typed again",
    "resume: delivery open",
    "resume: outcome unknown",
    "resume: live question cut off",
    "resume: call untouched",
    "resume: all results there",
    "resume: with some answers",
    "resume: unknown prompt",
    "resume: answer that does not fit",
    "resume: closed instead",
    "resume: closed instead, outcome unknown",
    "parked",
    "parked again",
    "parked, then a client came",
    "remembered spread",
    "approval spread",
    "late answer",
    "late answer after the end",
    "answer to an unknown prompt",
    "answer that does not fit",
    "steered",
    "cancelled with calls running",
    "client came",
    "client left",
    "crash",
    "append failed",
    "append failed with calls running",
    "several calls ask at once",
    "live question",
    "live question answered",
    "live question taken back",
    "tool too slow",
    "run by approval",
    "result withheld",
    "kept approval",
    "text put in place",
    "refused again at once",
    "not asked again",
    "forced softly",
    "forced softly, asked twice",
    "forced tools unlearned",
    "another feature unlearned",
    "request sent again",
    "response cut",
    "response paused",
    "schema repaired",
    "call id used twice",
];

/// How often each was reached.
#[derive(Debug, Default)]
pub(crate) struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    pub(crate) fn add(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(crate) fn of(&self, what: &str) -> u64 {
        self.0.get(what).copied().unwrap_or(0)
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (what, times) in other.0 {
            *self.0.entry(what).or_default() += times;
        }
    }

    /// What was not reached often enough, a line each.
    pub(crate) fn missing(&self, least: u64) -> Vec<String> {
        TO_REACH
            .iter()
            .filter(|what| self.of(what) < least)
            .map(|what| format!("{what}: {}", self.of(what)))
            .collect()
    }
}

pub(crate) fn outcome(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Completed => "outcome completed",
        Outcome::Cancelled => "outcome cancelled",
        Outcome::Failed => "outcome failed",
        Outcome::Interrupted => "outcome interrupted",
    }
}

pub(crate) fn error(code: ErrorCode) -> &'static str {
    match code {
        ErrorCode::Provider => "error provider",
        ErrorCode::NoProvider => "error no_provider",
        ErrorCode::Schema => "error schema",
        ErrorCode::ContextFull => "error context_full",
        ErrorCode::Refused => "error refused",
        ErrorCode::Budget => "error budget",
        ErrorCode::Limit => "error limit",
        ErrorCode::CutOff => "error cut_off",
        ErrorCode::Empty => "error empty",
        ErrorCode::Repeating => "error repeating",
        ErrorCode::Internal => "error internal",
    }
}

pub(crate) fn reason(reason: &Reason) -> &'static str {
    match reason {
        Reason::User => "reason user",
        Reason::Withdrawn => "reason withdrawn",
        Reason::BackendError => "reason backend_error",
        Reason::NoPromptBackend => "reason no_prompt_backend",
        Reason::AssistantRoutingDenied => "reason assistant_routing_denied",
        Reason::InvalidStaticAnswer => "reason invalid_static_answer",
        Reason::DetachedPolicy => "reason detached_policy",
        Reason::InvalidQuestion => "reason invalid_question",
        Reason::LimitReached => "reason limit_reached",
        Reason::Other(_) => "reason other",
    }
}

pub(crate) fn by(by: By) -> &'static str {
    match by {
        By::User => "by user",
        By::Assistant => "by assistant",
        By::Config => "by config",
        By::Remembered => "by remembered",
        By::Default => "by default",
    }
}

/// A request of an inquiry: its strategy, and whether it is on the second rung or a repair.
pub(crate) fn rung(strategy: Strategy, second: bool, repair: bool) -> &'static str {
    match (strategy, second, repair) {
        (Strategy::InBand, _, false) => "rung in_band",
        (Strategy::InBand, _, true) => "rung in_band, repair",
        (Strategy::ForcedTool, true, _) => "rung forced_tool, second",
        (Strategy::ForcedTool, false, false) => "rung forced_tool",
        (Strategy::ForcedTool, false, true) => "rung forced_tool, repair",
        (Strategy::Structured, true, _) => "rung structured, second",
        (Strategy::Structured, false, false) => "rung structured",
        (Strategy::Structured, false, true) => "rung structured, repair",
    }
}
