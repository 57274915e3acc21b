//! The protocol's messages as they are on the wire, version 1.
//!
//! What crosses a pipe is a promise: these types are its spelling, field by field and in this order, and
//! the turn's own types stay free to change. What the turn already spells as the protocol
//! does (statuses, outcomes, codes, previews) is used as it is. No text is altered here: what a model
//! or a tool said reaches a client as it was said, and the client shows it safely.
//!
//! | module | what lives there |
//! |---|---|
//! | [`methods`] | the one table of all methods |
//! | [`introduction`] | what client and server say of themselves in `initialize` |
//! | [`requests`] | params and results of the methods, and the error codes |
//! | [`changes`] | changes of files, from the texts that are kept of them |
//! | [`consent`] | what a trusted workspace would run, and approvals that are kept |
//! | `from_turn` | the turn's types as they are on the wire |
//! | `settled` | a settled prompt, as data and in words |
//! | [`replay`], [`resumable`] | turns that are over, put together from the log; prompts that a resume opens again |

pub mod changes;
pub mod consent;
mod from_turn;
pub mod introduction;
pub mod methods;
pub mod replay;
pub mod requests;
pub mod resumable;
mod settled;
#[cfg(test)]
mod tests;

pub use aside_turn::{
    effect::{InquiryStatus, PromptKind},
    input::Preview,
};
use aside_turn::{
    input::SecretValue,
    question::{AnswerType, Source},
    record::{By, Level, Outcome, Reason, Refusal, Status, TurnError},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use self::changes::ShownChange;

/// A conversation and one of its turns. Both are opaque.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRef {
    /// The id of the conversation.
    pub conversation_id: String,
    /// The id of the turn.
    pub turn_id: String,
}

/// Params of `aside/turn/update`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnUpdate {
    /// The id of the conversation.
    pub conversation_id: String,
    /// The id of the turn.
    pub turn_id: String,
    /// Counts from 1 without gaps from each start or resume.
    pub seq: u64,
    /// The event to show.
    pub update: Update,
}

/// Something that happened in a turn, for clients to show.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum Update {
    /// A piece of the answer.
    Text {
        /// The step, counted from 1.
        step: u32,
        /// The piece that came.
        text: String,
    },
    /// A piece of reasoning.
    Reasoning {
        /// The step, counted from 1.
        step: u32,
        /// The piece that came.
        text: String,
    },
    /// A call came, or began to run.
    ToolCall {
        /// The step, counted from 1.
        step: u32,
        /// The provider's id of the call.
        call_id: String,
        /// The name of the tool.
        name: String,
        /// A title of one line.
        title: String,
        /// Arguments, as the model gave them.
        arguments: Value,
        /// Whether it runs already.
        status: CallStatus,
    },
    /// A piece of what a running tool printed.
    ToolOutput {
        /// The provider's id of the call.
        call_id: String,
        /// The piece that came.
        text: String,
    },
    /// A call ended.
    ToolResult {
        /// The provider's id of the call.
        call_id: String,
        /// Whether the call succeeded, failed, was denied or cancelled.
        status: Status,
        /// A summary of one line.
        summary: String,
        /// With which status a command exited.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        exit_status: Option<i32>,
    },
    /// A prompt was opened or settled.
    Question(QuestionUpdate),
    /// A model is being asked, or was.
    Inquiry {
        /// The provider's ids of the asking calls.
        call_ids: Vec<String>,
        /// Status of the inquiry.
        status: InquiryStatus,
    },
    /// Files or buffers were changed.
    Edit {
        /// The provider's id of the call.
        call_id: String,
        /// The changes, in order.
        changes: Vec<ShownChange>,
    },
    /// A message of the user's was taken in.
    Steered {
        /// The message that the user added.
        text: String,
    },
    /// A request is sent again.
    Retry {
        /// Counts from 1.
        attempt: u32,
        /// When, in milliseconds from now.
        after_ms: u64,
        /// Reason for the retry.
        reason: String,
        /// Forget what was shown of this step.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        discard_step: Option<u32>,
    },
    /// A notice for the user.
    Notice {
        /// Severity of the notice.
        level: Level,
        /// The text that is shown.
        text: String,
    },
    /// Tokens of the turn so far.
    Usage(Usage),
    /// The conversation's title.
    Title {
        /// The new title of the conversation.
        title: String,
    },
}

/// Whether a call runs already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum CallStatus {
    /// The call waits for permission or for its turn.
    Waiting,
    /// The call runs.
    Running,
}

/// Change of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
pub enum QuestionUpdate {
    /// The prompt was opened or parked.
    Opened {
        /// The id of the prompt.
        prompt_id: String,
        /// The provider's id of the call.
        call_id: String,
        /// Kind of the prompt.
        prompt_kind: PromptKind,
        /// The asker, such as the name of the tool.
        label: String,
        /// The question in one line.
        text: String,
    },
    /// The prompt was settled.
    Closed {
        /// The id of the prompt.
        prompt_id: String,
        /// Outcome of the prompt.
        outcome: PromptOutcome,
        /// The answerer, if there is an answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        by: Option<By>,
        /// Reason why there is no answer.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        reason: Option<Reason>,
        /// The answer, never a secret's; null where it was left out.
        #[serde(
            default,
            skip_serializing_if = "Option::is_none",
            deserialize_with = "present"
        )]
        answer: Option<Value>,
        /// The answer and who gave it, or why there is none, in words.
        text: String,
    },
}

/// Outcome of a prompt, in the words of the record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PromptOutcome {
    /// With an answer.
    Answered,
    /// With a secret.
    Redacted,
    /// Without an answer.
    Cancelled,
}

/// Tokens of a turn, its inquiries included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Input that was neither read from a cache nor written to one.
    pub input_tokens: u64,
    /// Output, reasoning included.
    pub output_tokens: u64,
    /// Input read from the cache.
    pub cache_read_tokens: u64,
    /// Input written to the cache.
    pub cache_write_tokens: u64,
    /// US dollars, where a price is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
    /// Tokens that the turn's model takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
}

/// Params of `aside/turn/completed`, the last message of its turn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnCompleted {
    /// The id of the conversation.
    pub conversation_id: String,
    /// The id of the turn.
    pub turn_id: String,
    /// Outcome of the turn.
    pub outcome: Outcome,
    /// The text of the last step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<String>,
    /// The answer as JSON, if a schema was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub structured: Option<Value>,
    /// The failure, if the turn failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TurnError>,
    /// The tokens that the turn used, and what they cost.
    pub usage: Usage,
    /// Refusals, without those by a person.
    pub refusals: Vec<Refusal>,
    /// The open ones of an interrupted turn.
    pub prompts: Vec<Prompt>,
}

/// Something that waits for a person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prompt {
    /// The id of the prompt, by which it is answered.
    pub prompt_id: String,
    /// The id of the conversation.
    pub conversation_id: String,
    /// The id of the turn.
    pub turn_id: String,
    /// The call it belongs to.
    pub tool: PromptTool,
    /// Kind of the prompt.
    pub kind: PromptKind,
    /// The asker, such as the name of the tool.
    pub label: String,
    /// The question in one line.
    pub text: String,
    /// Several, above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context: Option<String>,
    /// The type of answers that fit.
    pub answer_type: AnswerType,
    /// The number or text that counts as an answer, in words such as "a whole number of at least 3".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expects: Option<String>,
    /// The answer may be left out: null.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub optional: bool,
    /// Fits the answer type; never there for a secret.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// Whether to offer "for the rest of this turn".
    pub remember: bool,
    /// Only a human may answer.
    pub exclusive: bool,
    /// Origin of the question.
    pub source: Source,
    /// Preview of the call, or of the result to deliver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preview: Option<Preview>,
    /// Place of this prompt among the waiting ones.
    pub position: Position,
    /// Only in `aside/prompt/pending`: its turn must be resumed first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumable: Option<bool>,
}

/// The call of a prompt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PromptTool {
    /// The name of the tool.
    pub name: String,
    /// The provider's id of the call.
    pub call_id: String,
    /// Arguments, as the model gave them.
    pub arguments: Value,
    /// The MCP server that the tool comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
}

/// A prompt's place among the open ones of its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Counted from 1.
    pub n: usize,
    /// Number of waiting prompts.
    pub of: usize,
}

/// The reply of a client to a prompt.
///
/// The answer may be a secret, so this is read and never written: it has no `Serialize` outside of tests.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[cfg_attr(test, derive(Serialize))]
#[serde(
    tag = "action",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
pub enum PromptAnswer {
    /// The person answered.
    Answer {
        /// By the prompt's answer type.
        #[serde(deserialize_with = "unprintable")]
        #[cfg_attr(test, serde(serialize_with = "tests::revealed"))]
        answer: SecretValue,
        /// "For the rest of this turn."
        #[serde(default, skip_serializing_if = "Option::is_none")]
        remember: Option<bool>,
        /// For a `runTool` with a diff: run with this text instead.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_text: Option<String>,
    },
    /// The person will not answer.
    Decline {
        /// For the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// The person decided to skip it.
    Cancel,
}

/// Keeps a present `null` apart from a missing member.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

fn unprintable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SecretValue, D::Error> {
    Value::deserialize(deserializer).map(SecretValue)
}
