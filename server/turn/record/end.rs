//! How a turn ended.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Reason, ResultReason, json::shallow};

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

impl TurnError {
    /// The model's responses were cut off again and again.
    pub(crate) fn cut_off() -> Self {
        Self::new(ErrorCode::Limit, CUT_OFF)
    }

    /// Whether the limit that ended the turn is that of the model's responses.
    #[must_use]
    pub fn is_cut_off(&self) -> bool {
        self.code == ErrorCode::Limit && self.message == CUT_OFF
    }
}

/// What is said of a turn whose responses were cut off.
const CUT_OFF: &str =
    "The model's responses were cut off three times in a row; ask for less at once.";

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

/// A call that did not run, a result that the model did not see or a question that nobody was asked: for want of a
/// person or of trust, or by mode, key or policy. A person's own no is none of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The tool whose call, result or question was refused.
    pub tool: String,
    /// The arguments of the call, as the model gave them; null where they are not on record.
    #[serde(
        default,
        skip_serializing_if = "Value::is_null",
        serialize_with = "shallow"
    )]
    pub arguments: Value,
    /// Why it was refused.
    pub reason: RefusalReason,
    /// What the model was told.
    pub text: String,
}

/// Why something was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalReason {
    /// An exclusive question, and nobody there.
    NoPromptBackend,
    /// A question that policy refuses.
    DetachedPolicy,
    /// A question whose configured answer does not fit.
    InvalidStaticAnswer,
    /// An exclusive question that is configured to go to a model.
    AssistantRoutingDenied,
    /// A call that needs approval.
    NeedsApproval,
    /// A result that needs approval.
    Withheld,
    /// A call in a workspace that is not trusted.
    NotTrusted,
    /// A call that the mode of the turn does not allow.
    Mode,
    /// A call of a tool whose `run` is `deny`, or a command that a rule denies.
    Configuration,
}

impl RefusalReason {
    /// The same for a person.
    #[must_use]
    pub fn in_words(self) -> &'static str {
        match self {
            Self::NoPromptBackend => "nobody was there to answer",
            Self::DetachedPolicy => "the policy did not allow an answer",
            Self::InvalidStaticAnswer => "the configured answer does not fit",
            Self::AssistantRoutingDenied => "only a person may answer",
            Self::NotTrusted => "the workspace is not trusted",
            Self::Mode => "the mode does not allow it",
            Self::Configuration => "the configuration does not allow it",
            Self::NeedsApproval => "nobody was there to approve it",
            Self::Withheld => "nobody was there to release its result",
        }
    }
}

/// Why something was refused, and by no person.
#[derive(Clone, Debug, PartialEq)]
pub enum RefusalCause {
    /// The call was not run, or its result is kept from the model.
    Call(ResultReason),
    /// Its question has no answer.
    Question {
        /// The id of the question.
        id: String,
        /// Why it has none.
        reason: Reason,
    },
}

impl RefusalCause {
    /// The reason as it is told; none for what is no refusal, or a person's own.
    #[must_use]
    pub fn reason(&self) -> Option<RefusalReason> {
        Some(match self {
            Self::Call(ResultReason::NeedsApproval) => RefusalReason::NeedsApproval,
            Self::Call(ResultReason::WithheldUnattended) => RefusalReason::Withheld,
            Self::Call(ResultReason::NotTrusted) => RefusalReason::NotTrusted,
            Self::Call(ResultReason::DeniedByMode(_)) => RefusalReason::Mode,
            Self::Call(ResultReason::DeniedByConfiguration | ResultReason::DeniedByRule) => {
                RefusalReason::Configuration
            }
            Self::Call(_) => return None,
            Self::Question { reason, .. } => match reason {
                Reason::NoPromptBackend => RefusalReason::NoPromptBackend,
                Reason::DetachedPolicy => RefusalReason::DetachedPolicy,
                Reason::InvalidStaticAnswer => RefusalReason::InvalidStaticAnswer,
                Reason::AssistantRoutingDenied => RefusalReason::AssistantRoutingDenied,
                Reason::User
                | Reason::Withdrawn
                | Reason::BackendError
                | Reason::InvalidQuestion
                | Reason::LimitReached
                | Reason::Other(_) => return None,
            },
        })
    }
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
