//! End of a call, with the reason if its tool did not end it.

use serde::{Deserialize, Serialize};

use super::{
    end::{RefusalReason, refused},
    json::is_false,
};
use crate::{rules::Mode, word::Word};

/// End of a call, as clients show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// With a result.
    Ok,
    /// With an error.
    Error,
    /// By the user's cancel.
    Cancelled,
    /// The call was not allowed to run, or its result was withheld.
    Denied,
}

/// End of a call: by its tool, or by Aside with a reason. A call cannot be denied without one.
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

/// Reason for which Aside ended a call.
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
    /// The call needs approval, and nobody could be asked.
    NeedsApproval {
        /// Why a person has to be asked, whatever the mode; empty where it is the mode or a rule that asks.
        cause: String,
    },
    /// The `runTool` or `deliverResult` prompt could not be shown.
    PromptFailed {
        /// The failure in words; empty where it is not on record.
        why: String,
    },
    /// A person withheld the result.
    Withheld,
    /// The result needs approval, and nobody was there to give it.
    WithheldUnattended,
    /// A question of the call has no answer; the question's response has the reason.
    Unanswered {
        /// The reason in words for a person; empty if that is not on record.
        why: String,
    },
    /// The arguments are not a JSON object, or not one that the tool accepts.
    InvalidArguments {
        /// The fault in words; empty where it is not on record.
        why: String,
    },
    /// No tool has this name.
    UnknownTool,
    /// The response made too many calls.
    TooManyCalls,
    /// The call exceeded its time limit.
    TooSlow,
    /// The end of the process or of the tool cut the run off, so its effects are unknown.
    Interrupted,
    /// The log could not be written, which ended the turn.
    LogFailed,
    /// The user cancelled the turn, or the question of the call was withdrawn.
    Cancelled,
    /// The turn's time was over.
    TimeOver,
    /// A reason that this version does not know, or none where there must be one. Only the status counts.
    Unknown {
        /// End of the call.
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
    #[serde(default, skip_serializing_if = "String::is_empty")]
    why: String,
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
            why: match reason {
                Some(
                    ResultReason::PromptFailed { why }
                    | ResultReason::InvalidArguments { why }
                    | ResultReason::Unanswered { why }
                    | ResultReason::NeedsApproval { cause: why },
                ) => why.clone(),
                _ => String::new(),
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
                let mut reason = ResultReason::of(&word, status, fields.noted, mode);
                if let ResultReason::PromptFailed { why }
                | ResultReason::InvalidArguments { why }
                | ResultReason::Unanswered { why }
                | ResultReason::NeedsApproval { cause: why } = &mut reason
                {
                    *why = fields.why;
                }
                Self::Aside(reason)
            }
        }
    }
}

impl CallEnd {
    /// Status that clients show.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Success => Status::Ok,
            Self::Failure => Status::Error,
            Self::Aside(reason) => reason.status(),
        }
    }

    /// Reason for which Aside ended the call; `None` if its tool did.
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
    /// Status that clients show for this reason.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Declined { .. }
            | Self::DeniedByConfiguration
            | Self::DeniedByRule
            | Self::DeniedByMode(_)
            | Self::NotTrusted
            | Self::NeedsApproval { .. }
            | Self::PromptFailed { .. }
            | Self::Withheld
            | Self::WithheldUnattended => Status::Denied,
            Self::Unanswered { .. }
            | Self::InvalidArguments { .. }
            | Self::UnknownTool
            | Self::TooManyCalls
            | Self::TooSlow
            | Self::Interrupted
            | Self::LogFailed => Status::Error,
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
            Self::NeedsApproval { .. } => "needs_approval",
            Self::PromptFailed { .. } => "prompt_failed",
            Self::Withheld => "withheld",
            Self::WithheldUnattended => "withheld_unattended",
            Self::Unanswered { .. } => "unanswered",
            Self::InvalidArguments { .. } => "invalid_arguments",
            Self::UnknownTool => "unknown_tool",
            Self::TooManyCalls => "too_many_calls",
            Self::TooSlow => "too_slow",
            Self::Interrupted => "interrupted",
            Self::LogFailed => "log_failed",
            Self::Cancelled => "cancelled",
            Self::TimeOver => "time_over",
            Self::Unknown { word, .. } => word,
        }
    }

    /// The refusal that this reason is; none where the call could run, or a person refused it.
    #[must_use]
    pub fn refusal(&self) -> Option<RefusalReason> {
        match self {
            Self::NeedsApproval { .. } => Some(RefusalReason::NeedsApproval),
            Self::WithheldUnattended => Some(RefusalReason::Withheld),
            Self::NotTrusted => Some(RefusalReason::NotTrusted),
            Self::DeniedByMode(_) => Some(RefusalReason::Mode),
            Self::DeniedByConfiguration | Self::DeniedByRule => Some(RefusalReason::Configuration),
            Self::Declined { .. }
            | Self::PromptFailed { .. }
            | Self::Withheld
            | Self::Unanswered { .. }
            | Self::InvalidArguments { .. }
            | Self::UnknownTool
            | Self::TooManyCalls
            | Self::TooSlow
            | Self::Interrupted
            | Self::LogFailed
            | Self::Cancelled
            | Self::TimeOver
            | Self::Unknown { .. } => None,
        }
    }

    /// The key of the configuration that refused a call of this tool, if one did.
    #[must_use]
    pub fn refusing_key(&self, tool: &str) -> Option<String> {
        match self {
            Self::DeniedByConfiguration => Some(format!("conversation.tools.{tool}.run")),
            Self::DeniedByRule => Some("commands.deny".to_owned()),
            _ => None,
        }
    }

    /// Why a person has to be asked before the call runs, where nobody was there.
    #[must_use]
    pub fn cause(&self) -> Option<&str> {
        match self {
            Self::NeedsApproval { cause } if !cause.is_empty() => Some(cause),
            _ => None,
        }
    }

    /// The reason in words for a person, who is told the tool beside it.
    #[must_use]
    pub fn in_words(&self, tool: &str) -> String {
        if let Some(refusal) = self.refusal() {
            return refused(refusal, self.refusing_key(tool).as_deref(), self.cause());
        }
        match self {
            Self::Declined { .. } => "you did not allow it".into(),
            Self::PromptFailed { why } => because("the prompt could not be shown", why),
            Self::Withheld => "you withheld the result".into(),
            Self::Unanswered { why } => because("its question was not answered", why),
            Self::InvalidArguments { why } => because("the arguments are invalid", why),
            Self::UnknownTool => "there is no tool of this name".into(),
            Self::TooManyCalls => "the message made too many calls; not run".into(),
            Self::TooSlow => "stopped after its time limit; its effects are unknown".into(),
            Self::Interrupted => "interrupted; its effects are unknown".into(),
            Self::LogFailed => "stopped: the conversation could not be written to disk".into(),
            Self::Cancelled => "cancelled by the user".into(),
            Self::TimeOver => "stopped: the turn's time limit was reached".into(),
            _ => self.word().to_owned(),
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
            "needs_approval" => Some(Self::NeedsApproval {
                cause: String::new(),
            }),
            "prompt_failed" => Some(Self::PromptFailed { why: String::new() }),
            "withheld" => Some(Self::Withheld),
            "withheld_unattended" => Some(Self::WithheldUnattended),
            "unanswered" => Some(Self::Unanswered { why: String::new() }),
            "invalid_arguments" => Some(Self::InvalidArguments { why: String::new() }),
            "unknown_tool" => Some(Self::UnknownTool),
            "too_many_calls" => Some(Self::TooManyCalls),
            "too_slow" => Some(Self::TooSlow),
            "interrupted" => Some(Self::Interrupted),
            "log_failed" => Some(Self::LogFailed),
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
                | Self::NeedsApproval { .. }
        )
    }
}

/// An event and its reason, if that is known, in one sentence.
fn because(happened: &str, why: &str) -> String {
    match why {
        "" => happened.to_owned(),
        why => format!("{happened}: {why}"),
    }
}
