//! The messages of a server as the contract documents them: what does not read into these types is not well-formed.
//!
//! Unknown fields and unknown kinds of updates are let through, since receivers ignore them.

mod prompt;

pub use prompt::{AnswerType, Position, Preview, Prompt, PromptTool, Source};

use serde::Deserialize;
use serde_json::Value;

/// Params of `aside/turn/update`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TurnUpdate {
    /// The id of the conversation.
    pub conversation_id: String,
    /// The id of the turn.
    pub turn_id: String,
    /// From 1, without gaps.
    pub seq: u64,
    /// What happened; [`Update::read`] reads it.
    pub update: Value,
}

/// What happened in a turn.
#[derive(Clone, Debug, Deserialize)]
#[serde(
    tag = "kind",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[allow(missing_docs, reason = "the fields are those of the contract's table")]
pub enum Update {
    Text {
        step: u32,
        text: String,
    },
    Reasoning {
        step: u32,
        text: String,
    },
    ToolCall {
        step: u32,
        call_id: String,
        name: String,
        title: String,
        arguments: Value,
        status: CallStatus,
    },
    ToolOutput {
        call_id: String,
        text: String,
    },
    ToolResult {
        call_id: String,
        status: ResultStatus,
        summary: String,
        diff: Option<String>,
    },
    Question(Question),
    Inquiry {
        call_ids: Vec<String>,
        status: InquiryStatus,
    },
    Edit {
        call_id: String,
        uris: Vec<String>,
    },
    Steered {
        text: String,
    },
    Retry {
        attempt: u32,
        after_ms: u64,
        reason: String,
        discard_step: Option<u32>,
    },
    Notice {
        level: String,
        text: String,
    },
    Usage(Usage),
    Title {
        title: String,
    },
}

/// The kinds of version 1.
pub const KINDS: [&str; 13] = [
    "text",
    "reasoning",
    "toolCall",
    "toolOutput",
    "toolResult",
    "question",
    "inquiry",
    "edit",
    "steered",
    "retry",
    "notice",
    "usage",
    "title",
];

/// Whether a call runs already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum CallStatus {
    Waiting,
    Running,
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum ResultStatus {
    Ok,
    Error,
    Cancelled,
    Denied,
}

/// Where an inquiry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum InquiryStatus {
    Asked,
    Answered,
    Failed,
}

/// An update of kind `question`: opened, or closed.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged, rename_all_fields = "camelCase")]
#[allow(missing_docs, reason = "the fields are those of the contract's table")]
pub enum Question {
    Opened {
        prompt_id: String,
        call_id: String,
        prompt_kind: PromptKind,
        label: String,
        text: String,
    },
    Closed(Settled),
}

/// What became of a prompt.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Settled {
    /// The id of the prompt.
    pub prompt_id: String,
    /// How the prompt was settled.
    pub outcome: PromptOutcome,
    /// Who gave the answer.
    pub by: Option<String>,
    /// Why it has no answer.
    pub reason: Option<String>,
    /// The answer, never a secret's. One that was left out is null, which is an answer.
    #[serde(default, deserialize_with = "also_null")]
    pub answer: Option<Value>,
}

/// A member that is there, also where it is null.
fn also_null<'de, D: serde::Deserializer<'de>>(member: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(member).map(Some)
}

/// How a prompt was settled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum PromptOutcome {
    Answered,
    Redacted,
    Cancelled,
}

/// What a prompt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum PromptKind {
    Question,
    RunTool,
    DeliverResult,
}

/// Tokens of a turn.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct Usage {
    pub input_tokens: u64,
    pub output_tokens: u64,
    pub cache_read_tokens: u64,
    pub cache_write_tokens: u64,
    pub cost_usd: Option<f64>,
    pub context_window: Option<u64>,
}

/// Params of `aside/turn/completed`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct Completed {
    pub conversation_id: String,
    pub turn_id: String,
    pub outcome: Outcome,
    pub answer: Option<String>,
    pub structured: Option<Value>,
    pub error: Option<TurnError>,
    pub usage: Usage,
    pub refusals: Vec<Refusal>,
    pub prompts: Vec<Prompt>,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum Outcome {
    Completed,
    Cancelled,
    Failed,
    Interrupted,
}

/// Why a turn failed.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct TurnError {
    pub code: ErrorCode,
    pub message: String,
}

/// The words for why a turn failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum ErrorCode {
    Provider,
    NoProvider,
    Schema,
    ContextFull,
    Refused,
    Budget,
    Limit,
    Internal,
}

/// What was refused, and by no person.
#[derive(Clone, Debug, Deserialize)]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct Refusal {
    pub tool: String,
    pub arguments: Value,
    pub reason: String,
    pub text: String,
}

/// Params of `aside/prompt/dismiss`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct Dismiss {
    pub prompt_id: String,
    pub reason: String,
}

/// An item of `aside/conversation/list`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct ListItem {
    pub conversation_id: String,
    pub title: String,
    pub created_at: Value,
    pub updated_at: Value,
    pub turns: u64,
    pub status: String,
    pub prompts: u64,
}

/// A turn of `aside/conversation/read`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct ReadTurn {
    pub turn_id: String,
    pub started_at: Value,
    pub message: String,
    pub updates: Vec<Value>,
    pub outcome: Option<Outcome>,
}

/// Params of `aside/status`.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the fields of the contract")]
pub struct Status {
    pub health: Health,
    pub busy: bool,
    pub message: Option<String>,
    pub model: Option<String>,
    pub pending_prompts: u64,
}

/// How the server is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs, reason = "the words of the contract")]
pub enum Health {
    Ok,
    Warning,
    Error,
}

/// Params of `window/showMessageRequest`.
#[derive(Clone, Debug, Deserialize)]
pub struct ShowMessage {
    /// 1 to 5.
    #[serde(rename = "type")]
    pub kind: u8,
    /// What is shown.
    pub message: String,
    /// The actions among which the user chooses.
    #[serde(default)]
    pub actions: Vec<Action>,
}

/// An action of a message.
#[derive(Clone, Debug, Deserialize)]
pub struct Action {
    /// The title that the action is shown with.
    pub title: String,
}

impl Update {
    /// Reads an update; none where its kind is not one of version 1.
    ///
    /// # Errors
    /// What is not as documented.
    pub fn read(value: &Value) -> Result<Option<Self>, String> {
        let kind = value
            .get("kind")
            .and_then(Value::as_str)
            .ok_or("an update has no kind")?;
        if !KINDS.contains(&kind) {
            return Ok(None);
        }
        let update: Self = Self::deserialize(value)
            .map_err(|error| format!("an update `{kind}` is not well-formed: {error}: {value}"))?;
        if let Self::Question(Question::Closed(settled)) = &update {
            settled.check()?;
        }
        Ok(Some(update))
    }
}

impl Settled {
    fn check(&self) -> Result<(), String> {
        let wrong = |what: &str| Err(format!("the closing of {} {what}", self.prompt_id));
        match (self.outcome, &self.by, &self.reason, &self.answer) {
            (PromptOutcome::Answered | PromptOutcome::Redacted, None, ..) => {
                wrong("does not say by whom")
            }
            (PromptOutcome::Redacted, _, _, Some(_)) => wrong("tells a secret"),
            (PromptOutcome::Cancelled, _, None, _) => wrong("has no reason"),
            (PromptOutcome::Cancelled, _, _, Some(_)) => {
                wrong("has an answer although it was cancelled")
            }
            _ => Ok(()),
        }
    }

    /// Whether a person's answer was counted, and it is this one.
    pub fn is_answer(&self, answer: &Value) -> bool {
        self.outcome == PromptOutcome::Answered
            && self.by.as_deref() == Some("user")
            && self.answer.as_ref() == Some(answer)
    }

    /// Whether it was cancelled for this reason.
    pub fn is_cancelled(&self, reason: &str) -> bool {
        self.outcome == PromptOutcome::Cancelled && self.reason.as_deref() == Some(reason)
    }
}
