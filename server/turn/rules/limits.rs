//! The bounds of a turn that the turn itself keeps. Each can be set; each has its error.

use std::time::Duration;

/// Questions that one call may ask.
pub const QUESTIONS_A_CALL: u32 = 32;
/// Valid answers to the same question of one call after which it is not asked again.
pub const SAME_QUESTION: u32 = 3;
/// Times that a prompt is shown again after an answer that does not fit.
pub const UNFIT_ANSWERS: u8 = 2;
/// Repairs of an inquiry on its first rung, counted for each question.
pub const INQUIRY_REPAIRS: u8 = 2;
/// How long a question waits for others to share its inquiry while calls still execute.
pub const BATCH_WAIT: Duration = Duration::from_millis(50);
/// Responses in a row that may be cut at their token limit with nothing complete in them.
pub const CUTS_IN_A_ROW: u8 = 2;

/// Settings under `conversation.limits`.
#[derive(Clone, Debug, PartialEq)]
pub struct Limits {
    /// Provider requests a turn, its inquiries not counted.
    pub steps: u32,
    /// How long a tool may run before it is stopped; a live question stops this clock.
    pub tool_time: Duration,
    /// Tools that run side by side.
    pub tools_at_once: usize,
    /// Calls of one response that are looked at.
    pub calls_in_message: usize,
    /// Times that a request is sent again.
    pub retries: u32,
    /// How long retries of one request may go on.
    pub retry_time: Duration,
    /// How long the turn may take, if bounded.
    pub turn_time: Option<Duration>,
    /// US dollars that the turn may cost, if bounded.
    pub cost: Option<f64>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps: 100,
            tool_time: Duration::from_secs(120),
            tools_at_once: 16,
            calls_in_message: 256,
            retries: 5,
            retry_time: Duration::from_secs(60),
            turn_time: None,
            cost: None,
        }
    }
}
