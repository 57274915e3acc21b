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
//! | [`replay`], [`resumable`] | turns that are over, put together from the log; prompts that a resume opens again |

pub mod changes;
pub mod consent;
mod from_turn;
pub mod introduction;
pub mod methods;
pub mod replay;
pub mod requests;
pub mod resumable;
#[cfg(test)]
mod tests;

pub use aside_turn::{
    effect::{
        CallStatus, InquiryStatus, PromptKind, PromptOutcome, QuestionUpdate, ShownChange,
        SummaryStatus, TurnPermission, TurnUsage, Update,
    },
    input::Preview,
};
use aside_turn::{
    input::SecretValue,
    question::{AnswerType, Source},
    record::{Outcome, Refusal, TurnError},
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

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
    pub usage: TurnUsage,
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
    /// What the answer `turn` permits, where that is offered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_permits: Option<TurnPermission>,
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
        /// The text that `new_text` takes the place of, where that is not the one in the preview.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        old_text: Option<String>,
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

fn unprintable<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SecretValue, D::Error> {
    Value::deserialize(deserializer).map(SecretValue)
}
