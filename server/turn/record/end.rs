//! The end of a turn: its outcome, its error, and what was refused in it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::shallow;
use crate::{model::response::FailureClass, swapped::for_people};

/// The outcome of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// With an answer.
    Completed,
    /// By the user.
    Cancelled,
    /// With an error.
    Failed,
    /// The turn was interrupted and can be resumed.
    Interrupted,
}

/// Failure of a turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnError {
    /// Kind of the failure.
    pub code: ErrorCode,
    /// One sentence: what happened, to what, what to do next.
    pub message: String,
}

/// Kind of failure that ended a turn.
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
    /// The next request would exceed the cost limit.
    Budget,
    /// A limit of the configuration ended the turn.
    Limit,
    /// The model's responses were cut off several times in a row.
    CutOff,
    /// The model answered nothing, also when it was asked once more.
    Empty,
    /// The model repeated the same calls with the same results, also after it was told.
    Repeating,
    /// Aside itself failed.
    Internal,
}

impl ErrorCode {
    /// The error of a turn whose request failed.
    #[must_use]
    pub fn of(class: &FailureClass) -> Self {
        match class {
            FailureClass::Auth => Self::NoProvider,
            FailureClass::Context => Self::ContextFull,
            FailureClass::Refusal => Self::Refused,
            _ => Self::Provider,
        }
    }
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
    /// Reason of the refusal.
    pub reason: RefusalReason,
    /// The key of the configuration that refused it, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Why a person has to be asked, whatever the mode, where nobody was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// One sentence for a person, made of the tool, the reason, the key and the cause.
    pub text: String,
}

/// Reason of a refusal.
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
    /// An answer or a rule for a question that nobody asked.
    UnusedAnswer,
}

impl Refusal {
    /// Creates a refusal with its sentence.
    #[must_use]
    pub fn new(
        tool: String,
        arguments: Value,
        reason: RefusalReason,
        key: Option<String>,
        cause: Option<String>,
    ) -> Self {
        let why = refused(reason, key.as_deref(), cause.as_deref());
        let text = for_people(format!("{tool} was refused: {why}."));
        Self {
            tool,
            arguments,
            reason,
            key,
            cause,
            text,
        }
    }

    /// Something that was set for a question which nobody asked; `what` says so.
    #[must_use]
    pub fn unused(tool: &str, what: String) -> Self {
        Self {
            tool: tool.to_owned(),
            arguments: Value::Null,
            reason: RefusalReason::UnusedAnswer,
            key: None,
            cause: None,
            text: for_people(what + "."),
        }
    }

    /// The reason in words for a person, with the key that refused it and the cause.
    #[must_use]
    pub fn why(&self) -> String {
        if self.reason == RefusalReason::UnusedAnswer {
            return self.text.trim_end_matches('.').to_owned();
        }
        refused(self.reason, self.key.as_deref(), self.cause.as_deref())
    }
}

impl RefusalReason {
    /// The reason in words for a person.
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
            Self::UnusedAnswer => "nobody asked the question that an answer is set for",
            Self::NeedsApproval => "nobody was there to approve it",
            Self::Withheld => "nobody was there to release its result",
        }
    }
}

/// A reason in words, with the key in brackets, and the cause behind it.
pub(super) fn refused(reason: RefusalReason, key: Option<&str>, cause: Option<&str>) -> String {
    let key = key.map_or_else(String::new, |key| format!(" ({key})"));
    let cause = cause.map_or_else(String::new, |cause| format!(": {cause}"));
    format!("{}{key}{cause}", reason.in_words())
}

impl TurnError {
    /// An error with its sentence.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: for_people(message.into()),
        }
    }
}
