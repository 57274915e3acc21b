//! The bounds of a turn that the turn itself keeps. Each can be set; each has its error.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Questions that one call may ask.
pub const QUESTIONS_A_CALL: u32 = 32;
/// Valid answers to the same question of one call after which it is not asked again.
pub const SAME_QUESTION: u32 = 3;
/// Times that a prompt is shown again after an answer that does not fit.
pub const UNFIT_ANSWERS: u8 = 2;
/// Repairs of an inquiry on its first rung, counted for each question.
pub const INQUIRY_REPAIRS: u8 = 2;
/// Steps of its model that an inquiry may cost in all, by the price of its first request.
pub const INQUIRY_STEPS: f64 = 4.0;
/// Time a question waits for calls of its step that ask no model, so that their results go along.
pub const SIBLING_WAIT: Duration = Duration::from_millis(50);
/// Time a question waits at most for calls of its step that may still ask a model: their questions join its inquiry.
/// Programs take a while to start, and a request costs a step.
pub const BATCH_WAIT: Duration = Duration::from_secs(5);
/// How many times as long as otherwise a tool may run that reports its progress.
pub const PROLONGED: u32 = 10;
/// Responses in a row that may be cut at their token limit with nothing complete in them.
pub const CUTS_IN_A_ROW: u8 = 2;
/// Repetitions of a call with the same result, after which the model is told.
pub const REPEATS_WARNED: u32 = 3;
/// Repetitions of a call with the same result, after which the turn ends.
pub const REPEATS_IN_A_ROW: u32 = 6;
/// Parts of requests that are left out in a turn because a server refused them by name.
pub const LEFT_OUT: usize = 32;

/// Bounds of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schemars", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Limits {
    /// Requests to the provider in a turn, inquiries not counted.
    #[cfg_attr(feature = "schemars", schemars(range(min = 1)))]
    pub steps: u32,
    /// Seconds that a tool may run; the time of a question that it asks while it runs does not count.
    #[serde(rename = "tool_seconds", with = "seconds")]
    #[cfg_attr(
        feature = "schemars",
        schemars(with = "u64", range(min = 1, max = 600))
    )]
    pub tool_time: Duration,
    /// Tools that run side by side.
    #[cfg_attr(
        feature = "schemars",
        schemars(with = "u32", range(min = 1, max = 256))
    )]
    pub tools_at_once: usize,
    /// Bytes at the start of a tool's output that the model is sent; the middle is left out.
    #[cfg_attr(feature = "schemars", schemars(with = "u32", range(max = 1_048_576)))]
    pub output_head: usize,
    /// Bytes at the end of a tool's output that the model is sent.
    #[cfg_attr(feature = "schemars", schemars(with = "u32", range(max = 1_048_576)))]
    pub output_tail: usize,
    /// Calls in one message of the model that are looked at.
    #[cfg_attr(
        feature = "schemars",
        schemars(with = "u32", range(min = 1, max = 4096))
    )]
    pub calls_in_message: usize,
    /// Times that a failed request is sent again.
    #[cfg_attr(feature = "schemars", schemars(range(max = 100)))]
    pub retries: u32,
    /// Seconds over which a failed request is sent again.
    #[serde(rename = "retry_seconds", with = "seconds")]
    #[cfg_attr(feature = "schemars", schemars(with = "u64", range(max = 86_400)))]
    pub retry_time: Duration,
    /// Seconds that a turn may take; unset is no bound.
    #[serde(rename = "turn_seconds", with = "optional_seconds")]
    #[cfg_attr(
        feature = "schemars",
        schemars(with = "Option<u64>", range(min = 1, max = 31_536_000))
    )]
    pub turn_time: Option<Duration>,
    /// US dollars that a turn may cost; unset is no bound.
    #[serde(rename = "cost_usd")]
    #[cfg_attr(feature = "schemars", schemars(range(min = 0.0)))]
    pub cost: Option<f64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100,
            tool_time: Duration::from_secs(120),
            tools_at_once: 16,
            output_head: 16 * 1024,
            output_tail: 16 * 1024,
            calls_in_message: 256,
            retries: 5,
            retry_time: Duration::from_secs(60),
            turn_time: None,
            cost: None,
        }
    }
}

/// A duration, written as whole seconds.
mod seconds {
    use super::Duration;
    use serde::{Deserialize as _, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_u64(time.as_secs())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        u64::deserialize(from).map(Duration::from_secs)
    }
}

/// A duration, written as whole seconds, or none.
mod optional_seconds {
    use super::Duration;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    pub(super) fn serialize<S: Serializer>(
        time: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        time.map(|time| time.as_secs()).serialize(to)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Option::<u64>::deserialize(from).map(|seconds| seconds.map(Duration::from_secs))
    }
}
