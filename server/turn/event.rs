//! What a turn puts on record. The log keeps these beside events of its own; how they look on disk is the
//! session's business.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    attachment::Attachment,
    question::{Question, Source},
    response::{Finish, Usage},
    rules::Client,
};

/// A call of a turn: its place among all calls of the turn, counted from 0. Providers may use an id twice;
/// this is what is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallKey(pub u32);

/// A prompt's id: unique over all conversations, without a dot, the same before and after a resume.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PromptId(pub String);

/// One event of a turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// The turn begins.
    TurnStart,
    /// What the user asked for.
    UserMessage {
        /// The message.
        text: String,
        /// What was attached.
        attachments: Vec<Attachment>,
    },
    /// Something that Aside itself tells the model, on the user's side.
    Directive {
        /// The text.
        text: String,
    },
    /// What the user added while the turn ran.
    Steer {
        /// The text.
        text: String,
    },
    /// All that waits on the user's side goes out now: results in call order, then the rest in order of arrival.
    RequestSent {
        /// Counts from 1 in each turn.
        cycle: u32,
    },
    /// Words of a response.
    Text {
        /// The words.
        text: String,
        /// What the provider needs back.
        opaque: Option<String>,
    },
    /// Reasoning of a response.
    Reasoning {
        /// As far as it may be shown.
        text: String,
        /// What the provider needs back.
        opaque: Option<String>,
    },
    /// A complete call of a response.
    ToolCall {
        /// Its place in the turn.
        call: CallKey,
        /// The provider's id.
        id: String,
        /// The tool, as the model wrote it.
        name: String,
        /// The raw arguments, as received.
        arguments: String,
        /// What the provider needs back.
        opaque: Option<String>,
    },
    /// The response is whole: its items before this count, and its calls may run.
    ResponseEnd {
        /// Why it ended; none where it was cancelled.
        finish: Option<Finish>,
        /// Its tokens.
        usage: Usage,
    },
    /// A call runs, for this time.
    CallStarted {
        /// Which.
        call: CallKey,
        /// Counts from 1.
        run: u32,
        /// What the user was told that it does, in one line; empty where that is not on record.
        title: String,
    },
    /// A prompt waits for a person, or is parked for one.
    PromptOpened {
        /// Its id.
        prompt: PromptId,
        /// The call it belongs to.
        call: CallKey,
        /// What it asks.
        about: About,
    },
    /// A `runTool` or `deliverResult` prompt was settled. (A question's is settled by its response.)
    PromptClosed {
        /// Its id.
        prompt: PromptId,
        /// How.
        closed: Closed,
    },
    /// A tool asked.
    InquiryRequest {
        /// `tool_call.<tool>.<tool call id>.<question id>.<attempt>`; opaque to readers.
        id: String,
        /// The asking call.
        call: CallKey,
        /// Whose question it is.
        source: Source,
        /// What was asked.
        question: Question,
        /// It was asked while the tool runs on: no resume can answer it.
        live: bool,
    },
    /// How the question ended.
    InquiryResponse {
        /// The pair's id.
        id: String,
        /// The call.
        call: CallKey,
        /// How.
        response: InquiryResponse,
    },
    /// Somebody answered what was settled already; it changes nothing.
    LateAnswer {
        /// The prompt.
        prompt: PromptId,
    },
    /// What came of a call.
    ToolResult {
        /// Which.
        call: CallKey,
        /// How it ended.
        status: Status,
        /// What the model is told.
        content: String,
        /// Whether the model may see it is still being asked; a later event of the same call settles it.
        held: bool,
        /// What else the tool put on record, such as the files it read and their hashes.
        details: Option<Value>,
    },
    /// The model refuses something; remembered with the conversation.
    Learned {
        /// The model.
        model: String,
        /// What, in one word: `forced_tool`.
        refuses: String,
    },
    /// Something that the user was told.
    Notice {
        /// How grave.
        level: Level,
        /// What.
        text: String,
    },
    /// The turn ended.
    TurnEnd {
        /// How.
        outcome: Outcome,
        /// The text of the last step.
        answer: Option<String>,
        /// That text as JSON, with a schema.
        structured: Option<Value>,
        /// Why, where it failed.
        error: Option<TurnError>,
        /// Tokens of the turn, its inquiries included.
        usage: Usage,
        /// What was refused for want of a person.
        refusals: Vec<Refusal>,
    },
}

/// What a prompt asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum About {
    /// A tool's question; the pair's id.
    Question {
        /// The pair's id.
        inquiry: String,
    },
    /// May this run?
    RunTool {
        /// What the approval is bound to.
        hash: String,
        /// It shows a change of a file: "turn" then lets the rest of the turn's edits run.
        diff: bool,
        /// What the call would do, in one line; empty where that is not on record.
        title: String,
    },
    /// May the model see the result?
    DeliverResult,
}

impl About {
    /// The one line that a `runTool` or `deliverResult` prompt of this tool asks; a question has its own.
    #[must_use]
    pub fn text(&self, tool: &str) -> Option<String> {
        match self {
            Self::Question { .. } => None,
            Self::RunTool { title, .. } if title.is_empty() => Some(format!("Run {tool}?")),
            Self::RunTool { title, .. } => Some(format!("{title}?")),
            Self::DeliverResult => Some(format!("Let the model see the result of {tool}?")),
        }
    }
}

/// How a `runTool` or `deliverResult` prompt was settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Closed {
    /// By a person: what was chosen (`once`, `turn`, `always`, `no`, `true`, `false`).
    Answered {
        /// What was chosen.
        answer: Value,
        /// The text to run with instead, where the person changed it.
        new_text: Option<String>,
        /// Who showed it.
        seen: Option<Seen>,
    },
    /// By a person who would not answer, with a note or without.
    Declined {
        /// What the person left for the model.
        note: Option<String>,
        /// Who showed it.
        seen: Option<Seen>,
    },
    /// The turn was cancelled, or what was prepared changed.
    Withdrawn,
    /// It could not be shown.
    Failed {
        /// Why.
        why: String,
    },
}

/// Who showed a prompt to a person, and when. Times are since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// The client.
    pub client: Client,
    /// When it was shown.
    pub shown_at: std::time::Duration,
    /// When it was answered.
    pub answered_at: std::time::Duration,
}

impl Seen {
    /// A client showed it from then to now.
    #[must_use]
    pub fn new(
        client: &Client,
        shown_at: std::time::Duration,
        answered_at: std::time::Duration,
    ) -> Self {
        Self {
            client: client.clone(),
            shown_at,
            answered_at,
        }
    }
}

/// How a question ended.
#[derive(Clone, Debug, PartialEq)]
pub enum InquiryResponse {
    /// With an answer.
    Answered {
        /// The answer.
        answer: Value,
        /// Whose.
        by: By,
        /// The person said: for the rest of this turn.
        remember: bool,
        /// What a person saw.
        seen: Option<Seen>,
        /// What a model's answer took.
        effort: Option<Effort>,
    },
    /// With a secret that a person typed.
    Redacted {
        /// What the person saw.
        seen: Option<Seen>,
    },
    /// Without one.
    Cancelled {
        /// Why.
        reason: Reason,
        /// What the person left for the model.
        note: Option<String>,
        /// Why the backend failed or what was invalid, in words.
        why: Option<String>,
        /// What the person saw.
        seen: Option<Seen>,
        /// What a model's tries took.
        effort: Option<Effort>,
    },
}

/// Who answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A person.
    User,
    /// A model.
    Assistant,
    /// The configuration.
    Config,
    /// A person, earlier in this turn.
    Remembered,
    /// The question's default.
    Default,
}

/// Why a question has no answer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// A person declined or dismissed it.
    User,
    /// The turn or call was cancelled while it was open.
    Withdrawn,
    /// The inquiry or the client failed.
    BackendError,
    /// It is exclusive and nobody was there.
    NoPromptBackend,
    /// It is exclusive and was routed to the assistant.
    AssistantRoutingDenied,
    /// The configured answer does not fit.
    InvalidStaticAnswer,
    /// Policy refuses it.
    DetachedPolicy,
    /// The question is broken.
    InvalidQuestion,
    /// Too many, or the same again.
    LimitReached,
    /// One that this version does not know, kept as it is.
    Other(String),
}

/// What a model's answer took.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Effort {
    /// The model that answered or failed to.
    pub model: String,
    /// The strategy of its last try.
    pub strategy: String,
    /// Requests, repairs included.
    pub tries: u32,
    /// Their tokens; those of a batch stand with the first of its answers, so that sums are true.
    pub usage: Usage,
    /// Milliseconds from the first request to the answer.
    pub milliseconds: u64,
}

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

/// How grave a notice is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Good to know.
    Info,
    /// Something was left out or changed.
    Warning,
}

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
    /// The tool.
    pub tool: String,
    /// Why.
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

impl Reason {
    /// The word on record.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Withdrawn => "withdrawn",
            Self::BackendError => "backend_error",
            Self::NoPromptBackend => "no_prompt_backend",
            Self::AssistantRoutingDenied => "assistant_routing_denied",
            Self::InvalidStaticAnswer => "invalid_static_answer",
            Self::DetachedPolicy => "detached_policy",
            Self::InvalidQuestion => "invalid_question",
            Self::LimitReached => "limit_reached",
            Self::Other(name) => name,
        }
    }

    /// The reason of a word on record.
    #[must_use]
    pub fn of(name: &str) -> Self {
        match name {
            "user" => Self::User,
            "withdrawn" => Self::Withdrawn,
            "backend_error" => Self::BackendError,
            "no_prompt_backend" => Self::NoPromptBackend,
            "assistant_routing_denied" => Self::AssistantRoutingDenied,
            "invalid_static_answer" => Self::InvalidStaticAnswer,
            "detached_policy" => Self::DetachedPolicy,
            "invalid_question" => Self::InvalidQuestion,
            "limit_reached" => Self::LimitReached,
            other => Self::Other(other.to_owned()),
        }
    }
}
