//! Events of a turn, as they happen and as they are on record: the log has each as the JSON that it serialises to,
//! beside events of its own. A member that has its default is left out, and one that is not known is ignored.
//!
//! | module | what lives there |
//! |---|---|
//! | `answer` | how questions ended |
//! | `by` | the author of an answer |
//! | `call_end` | how a call ended, and why where its tool did not end it |
//! | `directive` | what Aside itself tells the model, by kind |
//! | `end` | the end of a turn: its outcome, its error, and what was refused in it |
//! | [`json`] | values as they are on record |
//! | `refused` | what models refused of a request |
//! | `prompt` | what prompts ask, how they were settled, and who showed them |

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    model::{
        attachment::Attachment,
        response::{Finish, Usage},
    },
    question::{Question, Source},
};

mod answer;
mod by;
mod call_end;
mod directive;
mod end;
pub mod json;
mod prompt;
mod refused;

use json::{is_default, is_false, present, shallow};

pub use crate::word::{Vocabulary, Word};
pub use answer::{Backend, Effort, InquiryResponse, Reason};
pub use by::By;
pub use call_end::{CallEnd, ResultReason, Status};
pub use directive::{DirectiveKind, FaultKind};
pub use end::{ErrorCode, Outcome, Refusal, RefusalReason, TurnError};
pub use prompt::{Closed, Permission, PromptSubject, Showing};
pub use refused::Refused;

/// A call of a turn: its place among all calls of the turn, counted from 0. Providers may use an id twice;
/// this is what is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallKey(pub u32);

/// A prompt's id: unique over all conversations, without a dot, the same before and after a resume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptId(pub String);

impl PromptId {
    /// The id of the prompt with this number in a turn, counted from 1.
    #[must_use]
    pub fn numbered(turn: &str, number: u32) -> Self {
        Self(format!("{turn}-{number}"))
    }

    /// The number of the prompt in its turn; `None` where the id has none.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        let (_, number) = self.0.rsplit_once('-')?;
        number.parse().ok()
    }
}

/// A summary in a provider's own form, which no other model can use.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeSummary {
    /// The model that made it, as `provider/model`.
    pub model: String,
    /// Raw JSON that the provider needs back.
    pub opaque: String,
}

/// An output of a call that is not sent any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClearedOutput {
    /// Number of its turn in the conversation, from 1.
    pub turn: u32,
    /// Place of the call in that turn.
    pub call: CallKey,
    /// Bytes of the output. One of another size is another output, and stays.
    pub bytes: u64,
    /// Text for the model in its place. Kept because the history must not change, and never read back.
    pub text: String,
}

/// One event of a turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Event {
    /// The turn begins.
    TurnStart,
    /// A message of the user.
    UserMessage {
        /// The user's text.
        text: String,
        /// Files and images that came with the message.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    /// Something that Aside itself tells the model, on the user's side.
    Directive {
        /// Purpose of the directive.
        #[serde(flatten)]
        kind: DirectiveKind,
        /// Text for the model.
        text: String,
    },
    /// A message that the user added while the turn ran.
    Steer {
        /// Text for the model.
        text: String,
    },
    /// All that waits on the user's side goes out now: results in call order, then the rest in order of arrival.
    RequestSent {
        /// Counts from 1 in each turn.
        step: u32,
    },
    /// Words of a response.
    Text {
        /// The words of the model.
        text: String,
        /// Raw JSON that the provider needs back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    /// Reasoning of a response.
    Reasoning {
        /// The part that may be shown.
        text: String,
        /// Raw JSON that the provider needs back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    /// A complete call of a response.
    ToolCall {
        /// Place of the call in the turn.
        call: CallKey,
        /// The provider's id.
        id: String,
        /// The tool, as the model wrote it.
        name: String,
        /// The raw arguments, as received.
        arguments: String,
        /// Raw JSON that the provider needs back.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    /// The response is whole: its items before this count, and its calls may run.
    ResponseEnd {
        /// Reason why the response ended; `None` if it was cancelled.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<Finish>,
        /// The tokens of this request and its response.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// A call runs, for this time.
    CallStarted {
        /// The call that runs.
        call: CallKey,
        /// Counts from 1.
        run: u32,
        /// One line that describes the call, as it was shown; empty if that is not on record.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        title: String,
    },
    /// A prompt waits for a person, or is parked for one.
    PromptOpened {
        /// The prompt that this is about.
        prompt: PromptId,
        /// The call it belongs to.
        call: CallKey,
        /// Subject of the prompt.
        #[serde(flatten)]
        subject: PromptSubject,
    },
    /// A `runTool` or `deliverResult` prompt was settled. (A question's is settled by its response.)
    PromptClosed {
        /// The prompt that this is about.
        prompt: PromptId,
        /// The person's choice, or the reason why there is none.
        #[serde(flatten)]
        closed: Closed,
    },
    /// A tool asked.
    InquiryRequest {
        /// `tool_call.<tool>.<tool call id>.<question id>.<attempt>`; opaque to readers.
        id: String,
        /// The asking call.
        call: CallKey,
        /// Origin of the question.
        source: Source,
        /// The question as the tool asked it.
        question: Question,
        /// The label that is configured for the question; none where its source is the label.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        label: Option<String>,
        /// Whether the tool runs on while it asks, so that no resume can answer.
        #[serde(default, skip_serializing_if = "is_false")]
        live: bool,
    },
    /// The outcome of a question.
    InquiryResponse {
        /// The pair's id.
        id: String,
        /// The call that asked.
        call: CallKey,
        /// The answer, or why there is none.
        #[serde(flatten)]
        response: InquiryResponse,
    },
    /// Somebody answered what was settled already; it changes nothing.
    LateAnswer {
        /// The prompt that the answer names.
        prompt: PromptId,
    },
    /// The result of a call.
    ToolResult {
        /// The call that this result belongs to.
        call: CallKey,
        /// Whether its tool ended the call, or why Aside did.
        #[serde(flatten)]
        end: CallEnd,
        /// Text for the model. Kept because the history must not change, and never read back.
        content: String,
        /// The result in one line, for people; none where that is the first line of `content`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        summary: Option<String>,
        /// Whether the model may see it is still being asked; a later event of the same call settles it.
        #[serde(default, skip_serializing_if = "is_false")]
        held: bool,
        /// Other data of the tool, such as the files that it read and their hashes.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "present",
            serialize_with = "shallow"
        )]
        details: Option<Value>,
        /// Images and documents of the result, for models that take them.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        media: Vec<Attachment>,
    },
    /// The model refuses something; remembered with the conversation.
    Learned {
        /// The model, as `provider/model`.
        model: String,
        /// The refused feature or part.
        #[serde(flatten)]
        refuses: Refused,
    },
    /// The conversation so far was summarised: later requests begin with the summary, followed by the last response if its
    /// calls are answered in the next one.
    Compacted {
        /// Counts the summaries of the conversation from 1.
        number: u32,
        /// Whether the user asked for it, however full the conversation was.
        #[serde(default, skip_serializing_if = "is_default")]
        asked: bool,
        /// The summary, as the model wrote it; empty if only its provider can read it.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        summary: String,
        /// The same in the provider's own form, if it made it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        native: Option<NativeSummary>,
        /// The ledger for the model. Kept because the history must not change, and never read back.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        ledger: String,
        /// Tokens that the conversation had before.
        before: u64,
        /// Tokens of the request for the summary.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
    },
    /// The user took the last summary back: later requests are as if it had not been made.
    CompactionUndone {
        /// Number of the summary.
        number: u32,
        /// Tokens that the conversation has without it; 0 if that is not known.
        context: u64,
    },
    /// A summary that was due failed for another reason than the network's, or saved too little. A few in a row end them
    /// for the model.
    CompactionFailed {
        /// The model, as `provider/model`.
        model: String,
        /// Reason in words; not a whole sentence.
        reason: String,
    },
    /// Outputs of old calls are left out of later requests, because the provider's cache did not know them any more.
    OutputsCleared {
        /// The outputs, in the order of the conversation.
        outputs: Vec<ClearedOutput>,
        /// Tokens that the conversation has without them, about.
        context: u64,
    },
    /// A request of the turn brought nothing that the conversation keeps, because it broke off or gave no summary.
    Spent {
        /// Its tokens, which were paid for.
        usage: Usage,
    },
    /// Something that the user was told.
    Notice {
        /// Severity of the notice.
        level: Level,
        /// Text of the notice, in whole sentences.
        text: String,
    },
    /// The turn ended.
    TurnEnd {
        /// Whether it completed, failed, was cancelled or was interrupted.
        outcome: Outcome,
        /// The text of the last step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        answer: Option<String>,
        /// The answer as JSON, if a schema was given.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "present",
            serialize_with = "shallow"
        )]
        structured: Option<Value>,
        /// The failure, if the turn failed.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        error: Option<TurnError>,
        /// Tokens of the turn, its inquiries included.
        #[serde(default, skip_serializing_if = "is_default")]
        usage: Usage,
        /// Refusals, without those by a person.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refusals: Vec<Refusal>,
    },
}

impl Event {
    /// Types of events, by the word on record. A line of another type is kept as it is.
    pub const TYPES: [&'static str; 24] = [
        "turn_start",
        "user_message",
        "directive",
        "steer",
        "request_sent",
        "text",
        "reasoning",
        "tool_call",
        "response_end",
        "call_started",
        "prompt_opened",
        "prompt_closed",
        "inquiry_request",
        "inquiry_response",
        "late_answer",
        "tool_result",
        "learned",
        "compacted",
        "compaction_undone",
        "compaction_failed",
        "outputs_cleared",
        "spent",
        "notice",
        "turn_end",
    ];

    /// Bytes that the event adds to the next request.
    #[must_use]
    pub fn waits_for_request(&self) -> u64 {
        let bytes = match self {
            Self::UserMessage { text, attachments } => {
                let attached = attachments.iter().map(Attachment::text_len).sum::<usize>();
                text.len() + attached
            }
            Self::Directive { text, .. } | Self::Steer { text } => text.len(),
            Self::ToolResult {
                content,
                held: false,
                ..
            } => content.len(),
            _ => 0,
        };
        bytes as u64
    }

    /// The call whose success this puts on record. Its result may be held back from the model.
    #[must_use]
    pub fn success(&self) -> Option<CallKey> {
        match self {
            Self::ToolResult {
                call,
                end: CallEnd::Success,
                ..
            } => Some(*call),
            _ => None,
        }
    }

    /// Whether a request to a model was under way at the event, and the provider's cache in use.
    #[must_use]
    pub fn is_of_request(&self) -> bool {
        matches!(self, Self::RequestSent { .. }) || self.usage().is_some()
    }

    /// Tokens that the conversation has after the event, where it tells: as a response counted them, about as many where
    /// outputs were cleared, and 0 after a summary, whose tokens nobody has counted yet.
    #[must_use]
    pub fn context(&self) -> Option<u64> {
        match self {
            Self::ResponseEnd { usage, .. } => usage.context(),
            Self::Compacted { .. } => Some(0),
            Self::CompactionUndone { context, .. } | Self::OutputsCleared { context, .. } => {
                Some(*context)
            }
            _ => None,
        }
    }

    /// The tokens that the event puts on record, of a request of any kind. The usage of a turn is their sum.
    #[must_use]
    pub fn usage(&self) -> Option<&Usage> {
        match self {
            Self::ResponseEnd { usage, .. }
            | Self::Compacted { usage, .. }
            | Self::Spent { usage } => Some(usage),
            Self::InquiryResponse { response, .. } => response.effort().map(|effort| &effort.usage),
            _ => None,
        }
    }
}

/// Severity of a notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something was left out or changed.
    Warning,
}
