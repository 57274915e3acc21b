//! The types on disk. What they spell is a promise; the turn's own types are free to change.
//!
//! [`Question`] and [`Source`] are the exception: their JSON is a promise already, made to tools.

use aside_turn::{
    question::{Question, Source},
    record,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::record::{Changed, Edit, Frozen, TurnOptions, Undone};

/// The fields of an entry.
#[derive(Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Disk {
    Conversation(Frozen),
    Changed(Changed),
    TurnStart {
        #[serde(default)]
        options: TurnOptions,
    },
    UserMessage {
        text: String,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        attachments: Vec<Attachment>,
    },
    Directive(Directive),
    Steer {
        text: String,
    },
    RequestSent {
        #[serde(rename = "cycle")]
        step: u32,
    },
    Text(ResponseText),
    Reasoning(ResponseText),
    ToolCall {
        call: u32,
        id: String,
        name: String,
        arguments: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        opaque: Option<String>,
    },
    ResponseEnd {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        finish: Option<String>,
        #[serde(default, skip_serializing_if = "Usage::is_none")]
        usage: Usage,
    },
    CallStarted {
        call: u32,
        run: u32,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        title: String,
    },
    PromptOpened(Opened),
    PromptClosed(Closed),
    InquiryRequest {
        id: String,
        source: Source,
        question: Question,
        #[serde(default)]
        call: u32,
        #[serde(default, skip_serializing_if = "is_false")]
        live: bool,
    },
    InquiryResponse(Response),
    LateAnswer {
        prompt: String,
    },
    ToolResult(ToolResult),
    Edit(Edit),
    Undone(Undone),
    Renamed {
        title: String,
    },
    Learned {
        model: String,
        refuses: String,
    },
    Notice {
        level: Level,
        text: String,
    },
    Compacted {
        base: Value,
    },
    TurnEnd(Box<End>),
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
pub(super) struct ResponseText {
    pub(super) text: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) opaque: Option<String>,
}

/// What Aside itself tells the model.
#[derive(Serialize, Deserialize)]
pub(super) struct Directive {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) kind: Option<String>,
    /// Of a forced tool: its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) tool: Option<String>,
    /// Of a lost line: its number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) line: Option<u64>,
    /// Of a lost line: what is wrong with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) fault: Option<String>,
    /// Of changes that were taken back: their turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) undone: Option<String>,
    pub(super) text: String,
}

/// What came of a call.
#[derive(Serialize, Deserialize)]
pub(super) struct ToolResult {
    pub(super) call: u32,
    pub(super) status: Status,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    /// Of a `declined` one: the person left a note.
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) noted: bool,
    /// Of a call that the mode does not allow: the mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) mode: Option<String>,
    pub(super) content: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) held: bool,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub(super) details: Option<Value>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Attachment {
    pub(super) name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) media: Option<Media>,
}

/// An image or PDF, whose bytes are a blob of the conversation.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Media {
    pub(super) mime_type: String,
    pub(super) blob: String,
    pub(super) size: u64,
}

/// What is not there is 0.
#[derive(Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Usage {
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) input: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) cache_read: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) cache_write: u64,
    #[serde(skip_serializing_if = "is_zero")]
    pub(super) output: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) cost: Option<f64>,
}

impl Usage {
    fn is_none(&self) -> bool {
        *self == Self::default()
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct Opened {
    pub(super) prompt: String,
    pub(super) call: u32,
    #[serde(flatten)]
    pub(super) subject: PromptSubject,
}

#[derive(Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub(super) enum PromptSubject {
    Question {
        inquiry: String,
    },
    RunTool {
        hash: String,
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        diff: bool,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        title: String,
    },
    DeliverResult,
}

/// How a `runTool` or `deliverResult` prompt was settled, in the words of an inquiry's response.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Closed {
    pub(super) prompt: String,
    pub(super) outcome: String,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub(super) answer: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) new_text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(flatten)]
    pub(super) shown: Showing,
}

/// How a question ended. Flat, so that old and foreign lines are read field by field.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Response {
    pub(super) id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) outcome: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub(super) answer: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<By>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) reason: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) backend: Option<String>,
    #[serde(skip_serializing_if = "is_false")]
    pub(super) remember: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) note: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) why: Option<String>,
    #[serde(flatten)]
    pub(super) shown: Showing,
    #[serde(flatten)]
    pub(super) effort: Effort,
    pub(super) call: u32,
}

/// Who showed a prompt to a person, and when. All or nothing.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Showing {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) client: Option<Client>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) shown_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) answered_at: Option<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Client {
    pub(super) name: String,
    #[serde(default)]
    pub(super) version: String,
    #[serde(default, skip_serializing_if = "is_false")]
    pub(super) secret: bool,
}

/// What a model's answer took. All or nothing.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Effort {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) strategy: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tries: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) usage: Option<Usage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) milliseconds: Option<u64>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct End {
    pub(super) outcome: Outcome,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) answer: Option<String>,
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "present"
    )]
    pub(super) structured: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<TurnError>,
    #[serde(default, skip_serializing_if = "Usage::is_none")]
    pub(super) usage: Usage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) refusals: Vec<Refusal>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct TurnError {
    pub(super) code: ErrorCode,
    pub(super) message: String,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Refusal {
    pub(super) tool: String,
    #[serde(default, skip_serializing_if = "Value::is_null")]
    pub(super) arguments: Value,
    pub(super) reason: RefusalReason,
    pub(super) text: String,
}

/// An enum of words that mirrors one of the turn's, which then cannot change unseen.
macro_rules! words {
    ($name:ident mirrors $of:ty { $($variant:ident),+ }) => {
        #[derive(Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub(super) enum $name { $($variant),+ }

        impl From<$of> for $name {
            fn from(value: $of) -> Self {
                match value { $(<$of>::$variant => Self::$variant),+ }
            }
        }

        impl From<$name> for $of {
            fn from(value: $name) -> Self {
                match value { $($name::$variant => Self::$variant),+ }
            }
        }
    };
}

words!(By mirrors record::By { User, Assistant, Config, Remembered, Default });
words!(Status mirrors record::Status { Ok, Error, Cancelled, Denied });
words!(Level mirrors record::Level { Info, Warning });
words!(Outcome mirrors record::Outcome { Completed, Cancelled, Failed, Interrupted });
words!(ErrorCode mirrors record::ErrorCode {
    Provider, NoProvider, Schema, ContextFull, Refused, Budget, Limit, Internal
});
words!(RefusalReason mirrors record::RefusalReason {
    NoPromptBackend, DetachedPolicy, InvalidStaticAnswer, AssistantRoutingDenied, NeedsApproval, Withheld,
    NotTrusted, Mode, Configuration
});

/// Where the member is there, a `null` is a value like any other.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(from).map(Some)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_false(value: &bool) -> bool {
    !value
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde's skip_serializing_if passes a reference"
)]
fn is_zero(value: &u64) -> bool {
    *value == 0
}
