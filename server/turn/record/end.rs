//! How a turn ended.

use serde::{Deserialize, Serialize};

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With an answer.
    Completed,
    /// By the user.
    Cancelled,
    /// With an error.
    Failed,
    /// It can be resumed.
    Interrupted,
}

/// Why a turn failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    /// What kind of failure.
    pub code: ErrorCode,
    /// One sentence: what happened, to what, what to do next.
    pub message: String,
}

/// What kind of failure ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The provider failed.
    Provider,
    /// The provider rejects key or model.
    NoProvider,
    /// The answer does not fit the schema.
    Schema,
    /// The context window is full.
    ContextFull,
    /// The model or a filter refused.
    Refused,
    /// It would cost more than allowed.
    Budget,
    /// A limit ended it.
    Limit,
    /// Aside itself failed.
    Internal,
}

/// Something that was refused for want of a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The tool whose call, result or question was refused.
    pub tool: String,
    /// Why it was refused.
    pub reason: RefusalReason,
    /// What the model was told.
    pub text: String,
}

/// Why something was refused for want of a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// An exclusive question, and nobody there.
    NoPromptBackend,
    /// A question that policy refuses.
    DetachedPolicy,
    /// A call that needs approval.
    NeedsApproval,
    /// A result that needs approval.
    Withheld,
}

impl TurnError {
    /// An error with its sentence.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}
