//! How a call ended, and why where its tool did not end it.

use serde::{Deserialize, Serialize};

use super::json::is_false;
use crate::{rules::Mode, word::Word};

/// How a call ended, as clients show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// With a result.
    Ok,
    /// With an error.
    Error,
    /// By the user's cancel.
    Cancelled,
    /// It was not allowed to run, or its result was withheld.
    Denied,
}

/// How a call ended: by its tool, or by Aside with a reason. A call cannot be denied without one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "EndFields", into = "EndFields")]
pub enum CallEnd {
    /// The tool returned a result.
    Success,
    /// The tool, or its preparation, returned an error.
    Failure,
    /// Aside ended the call; the content of its result is rendered from the reason.
    Aside(ResultReason),
}

/// Why Aside ended a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResultReason {
    /// A person said that it may not run. With a note, the same call asks again.
    Declined {
        /// The person left a note for the model.
        noted: bool,
    },
    /// The tool's `run` is `deny`.
    DeniedByConfiguration,
    /// A rule in `commands.deny` speaks of its command.
    DeniedByRule,
    /// The mode of the turn does not allow it; none where the mode is not on record or not known.
    DeniedByMode(Option<Mode>),
    /// The workspace is not trusted.
    NotTrusted,
    /// It needs approval, and nobody was there to give it.
    NeedsApproval,
    /// Its `runTool` or `deliverResult` prompt could not be shown.
    PromptFailed,
    /// A person withheld the result.
    Withheld,
    /// The result needs approval, and nobody was there to give it.
    WithheldUnattended,
    /// Its question has no answer; why stands in the question's response.
    Unanswered,
    /// The arguments are no JSON object.
    InvalidArguments,
    /// No tool has this name.
    UnknownTool,
    /// Its response made more calls than are looked at.
    TooManyCalls,
    /// It ran longer than a tool may.
    TooSlow,
    /// Its run was cut off by the end of the process or of the tool, so its effects are unknown.
    Interrupted,
    /// The user cancelled the turn, or the question of the call was withdrawn.
    Cancelled,
    /// The turn's time was over.
    TimeOver,
    /// A reason that this version does not know, or none where there must be one. Only the status counts.
    Unknown {
        /// How the call ended.
        status: Status,
        /// The reason as it was read; empty where there was none.
        word: String,
    },
}

/// A [`CallEnd`] on record: the status, and the reason as a word.
#[derive(Serialize, Deserialize)]
struct EndFields {
    status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
    #[serde(default, skip_serializing_if = "is_false")]
    noted: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<Word<Mode>>,
}

impl From<CallEnd> for EndFields {
    fn from(end: CallEnd) -> Self {
        let reason = end.reason();
        Self {
            status: end.status(),
            reason: reason.map(|reason| reason.word().to_owned()),
            noted: matches!(reason, Some(ResultReason::Declined { noted: true })),
            mode: match reason {
                Some(ResultReason::DeniedByMode(mode)) => mode.map(Word::Known),
                _ => None,
            },
        }
    }
}

impl From<EndFields> for CallEnd {
    fn from(fields: EndFields) -> Self {
        let mode = fields.mode.and_then(|mode| mode.known());
        match (fields.reason, fields.status) {
            (None, Status::Ok) => Self::Success,
            (None, Status::Error) => Self::Failure,
            (word, status) => {
                let word = word.unwrap_or_default();
                Self::Aside(ResultReason::of(&word, status, fields.noted, mode))
            }
        }
    }
}

impl CallEnd {
    /// How clients show the end.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Success => Status::Ok,
            Self::Failure => Status::Error,
            Self::Aside(reason) => reason.status(),
        }
    }

    /// Why Aside ended the call; none where its tool did.
    #[must_use]
    pub fn reason(&self) -> Option<&ResultReason> {
        match self {
            Self::Aside(reason) => Some(reason),
            Self::Success | Self::Failure => None,
        }
    }
}

impl From<ResultReason> for CallEnd {
    fn from(reason: ResultReason) -> Self {
        Self::Aside(reason)
    }
}

impl ResultReason {
    /// How clients show a call that ended for this reason.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Declined { .. }
            | Self::DeniedByConfiguration
            | Self::DeniedByRule
            | Self::DeniedByMode(_)
            | Self::NotTrusted
            | Self::NeedsApproval
            | Self::PromptFailed
            | Self::Withheld
            | Self::WithheldUnattended => Status::Denied,
            Self::Unanswered
            | Self::InvalidArguments
            | Self::UnknownTool
            | Self::TooManyCalls
            | Self::TooSlow
            | Self::Interrupted => Status::Error,
            Self::Cancelled | Self::TimeOver => Status::Cancelled,
            Self::Unknown { status, .. } => *status,
        }
    }

    /// The word on record.
    #[must_use]
    pub fn word(&self) -> &str {
        match self {
            Self::Declined { .. } => "declined",
            Self::DeniedByConfiguration => "configuration",
            Self::DeniedByRule => "command_rule",
            Self::DeniedByMode(_) => "mode",
            Self::NotTrusted => "not_trusted",
            Self::NeedsApproval => "needs_approval",
            Self::PromptFailed => "prompt_failed",
            Self::Withheld => "withheld",
            Self::WithheldUnattended => "withheld_unattended",
            Self::Unanswered => "unanswered",
            Self::InvalidArguments => "invalid_arguments",
            Self::UnknownTool => "unknown_tool",
            Self::TooManyCalls => "too_many_calls",
            Self::TooSlow => "too_slow",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::TimeOver => "time_over",
            Self::Unknown { word, .. } => word,
        }
    }

    /// The reason of a word on record, for a call that ended with this status. A word that this version does not
    /// know, or that belongs to another status, is [`ResultReason::Unknown`]. `noted` and `mode` count only for the
    /// reasons that have them.
    #[must_use]
    pub fn of(word: &str, status: Status, noted: bool, mode: Option<Mode>) -> Self {
        let known = match word {
            "declined" => Some(Self::Declined { noted }),
            "configuration" => Some(Self::DeniedByConfiguration),
            "command_rule" => Some(Self::DeniedByRule),
            "mode" => Some(Self::DeniedByMode(mode)),
            "not_trusted" => Some(Self::NotTrusted),
            "needs_approval" => Some(Self::NeedsApproval),
            "prompt_failed" => Some(Self::PromptFailed),
            "withheld" => Some(Self::Withheld),
            "withheld_unattended" => Some(Self::WithheldUnattended),
            "unanswered" => Some(Self::Unanswered),
            "invalid_arguments" => Some(Self::InvalidArguments),
            "unknown_tool" => Some(Self::UnknownTool),
            "too_many_calls" => Some(Self::TooManyCalls),
            "too_slow" => Some(Self::TooSlow),
            "interrupted" => Some(Self::Interrupted),
            "cancelled" => Some(Self::Cancelled),
            "time_over" => Some(Self::TimeOver),
            _ => None,
        };
        known
            .filter(|reason| reason.status() == status)
            .unwrap_or_else(|| Self::Unknown {
                status,
                word: word.to_owned(),
            })
    }

    /// The same call may not run in this turn, so it is refused at once with the same reason. A no with a note
    /// does not count: the person is asked again.
    #[must_use]
    pub fn refuses_repetition(&self) -> bool {
        matches!(
            self,
            Self::Declined { noted: false }
                | Self::DeniedByConfiguration
                | Self::DeniedByRule
                | Self::DeniedByMode(_)
                | Self::NotTrusted
                | Self::NeedsApproval
        )
    }
}
