//! The closed list of what a turn wants done. The engine performs effects in order, and never waits for one
//! but `Record`: an event is on disk before what comes after it is performed.

use serde_json::Value;

use crate::{
    input::{Preview, RequestId},
    model::response::Usage,
    question::{Answer, AnswerType, Source},
    record::{
        By, CallKey, Event, Level, Outcome, PromptId, Reason, Refusal, Status, TurnError,
        Vocabulary,
    },
};

mod request;

pub use request::{CallResult, Message, Request, RequestKind, Sending, SideRequest};

/// Something to do.
#[derive(Clone, Debug, PartialEq)]
pub enum Effect {
    /// Append this event to the log before going on.
    Record(Event),
    /// Prepare this call, changing nothing; answer with `Prepared`.
    Prepare(CallWork),
    /// Send this request; answer with `FirstByte`, `Piece` and `Failed`.
    Send(Request),
    /// Drop this request: nothing of it is wanted any more.
    Abort(RequestId),
    /// Run this call; answer with `Finished`.
    Run(CallWork),
    /// Stop this call's run; `Finished` still follows, when its last process has ended.
    Stop(CallKey),
    /// Answer a question that a tool asked while it runs, or say why it has no answer, in the words for the model.
    AnswerLive(CallKey, u32, Result<Answer, String>),
    /// Put this prompt to the client; answer with `Answer`.
    OpenPrompt(Box<Prompt>),
    /// Take this prompt off the screen: settled elsewhere, or withdrawn.
    ClosePrompt(PromptId, DismissReason),
    /// Keep this approval for good.
    KeepApproval(Box<Approval>),
    /// Check the final answer against its schema; answer with `Checked`.
    Check(String),
    /// Tell the clients.
    Tell(Update),
    /// The turn is over. Only the record of a late answer may follow.
    End(End),
}

/// A call to prepare or to run.
#[derive(Clone, Debug, PartialEq)]
pub struct CallWork {
    /// The place of the call in its turn.
    pub call: CallKey,
    /// The provider's id of it.
    pub id: String,
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// The arguments, parsed.
    pub arguments: Value,
    /// All answers so far by question id; the latest wins.
    pub answers: Vec<(String, Answer)>,
    /// The text that a person put in place of the prepared one.
    pub new_text: Option<String>,
}

/// Something for clients to show. Mirrors the protocol's `turn/update`.
#[derive(Clone, Debug, PartialEq)]
pub enum Update {
    /// A piece of the answer.
    Text {
        /// The step that it belongs to, counted from 1.
        step: u32,
        /// The text to append to what was shown of this step.
        text: String,
    },
    /// A piece of reasoning.
    Reasoning {
        /// The step that it belongs to, counted from 1.
        step: u32,
        /// The text to append to what was shown of this step.
        text: String,
    },
    /// A call came, or began to run.
    ToolCall {
        /// The step that it belongs to, counted from 1.
        step: u32,
        /// The provider's id.
        id: String,
        /// The name of the tool, as the model wrote it.
        name: String,
        /// What the call does, in one line.
        title: String,
        /// As the model gave them.
        arguments: Value,
        /// Whether it runs already.
        running: bool,
    },
    /// A call ended.
    ToolResult {
        /// The provider's id.
        id: String,
        /// Whether it ended with a result, an error, a cancel or a refusal.
        status: Status,
        /// The result in one line, for people.
        summary: String,
        /// With which status a command exited.
        exit_status: Option<i32>,
        /// The change that was made.
        diff: Option<String>,
    },
    /// A prompt was opened (or parked).
    QuestionOpened {
        /// The prompt that this is about.
        prompt: PromptId,
        /// The provider's id of the call.
        call: String,
        /// Whether it is a question, `runTool` or `deliverResult`.
        kind: PromptKind,
        /// Who asks, as the header of the prompt.
        label: String,
        /// What is asked, in one line.
        text: String,
    },
    /// A prompt was settled.
    QuestionClosed {
        /// The prompt that this is about.
        prompt: PromptId,
        /// Whether it was answered, and by whom, or why not.
        settled: Settled,
    },
    /// A model is being asked, or was.
    Inquiry {
        /// The provider's ids of the calls.
        calls: Vec<String>,
        /// Where it stands.
        status: InquiryStatus,
    },
    /// A message of the user's was taken in.
    Steered {
        /// What the user said.
        text: String,
    },
    /// A request is sent again.
    Retry {
        /// Counts from 1.
        attempt: u32,
        /// How long the turn waits before it sends the request again.
        after: std::time::Duration,
        /// Why the last try failed, in words of the provider.
        reason: String,
        /// The step whose shown text is void, because its response is asked for again.
        discard_step: Option<u32>,
    },
    /// Something that the user is to know.
    Notice {
        /// How grave it is.
        level: Level,
        /// What it is, in whole sentences.
        text: String,
    },
    /// Tokens of the turn so far.
    Usage {
        /// Tokens so far, those of inquiries included.
        usage: Usage,
        /// Of the turn's model.
        context_window: Option<u64>,
    },
}

/// How a prompt was settled, for clients.
#[derive(Clone, Debug, PartialEq)]
pub enum Settled {
    /// With an answer; none for a secret.
    Answered {
        /// Who or what answered.
        by: By,
        /// The answer; none for a secret.
        answer: Option<Value>,
    },
    /// Without an answer, for this reason.
    Cancelled(Reason),
}

impl Settled {
    /// Neither a person nor a model was asked: the configuration, a default or what was said before decided.
    #[must_use]
    pub fn is_by_configuration(&self) -> bool {
        match self {
            Self::Answered { by, .. } => matches!(by, By::Config | By::Remembered | By::Default),
            Self::Cancelled(reason) => reason.is_by_configuration(),
        }
    }
}

/// Why a prompt is taken off a client's screen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DismissReason {
    /// The turn or the call is over, or what was asked has changed.
    Withdrawn,
    /// A person answered the same question for the rest of the turn.
    Remembered,
    /// A person allowed the call for the rest of the turn.
    Permitted,
    /// A person answered this prompt in another way.
    AnsweredElsewhere,
}

impl Vocabulary for DismissReason {
    const ALL: &'static [Self] = &[
        Self::Withdrawn,
        Self::Remembered,
        Self::Permitted,
        Self::AnsweredElsewhere,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Withdrawn => "withdrawn",
            Self::Remembered => "remembered",
            Self::Permitted => "permitted",
            Self::AnsweredElsewhere => "answered_elsewhere",
        }
    }
}

/// Where an inquiry stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InquiryStatus {
    /// A model is being asked.
    Asked,
    /// The model gave an answer that fits.
    Answered,
    /// It did not.
    Failed,
}

/// What a prompt is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PromptKind {
    /// A tool's question.
    Question,
    /// May this run?
    RunTool,
    /// May the model see this result?
    DeliverResult,
}

/// A prompt, as a client shows it. Mirrors the protocol's `Prompt`.
#[derive(Clone, Debug, PartialEq)]
pub struct Prompt {
    /// The id that an answer names.
    pub id: PromptId,
    /// The call it belongs to.
    pub call: CallKey,
    /// The provider's id of the call.
    pub call_id: String,
    /// The name of the tool, as the model wrote it.
    pub tool: String,
    /// As the model gave them.
    pub arguments: Value,
    /// The MCP server that the tool comes from.
    pub server: Option<String>,
    /// What it is for.
    pub kind: PromptKind,
    /// Who asks, as the header of the prompt.
    pub label: String,
    /// What is asked, in one line.
    pub text: String,
    /// Several, above it.
    pub context: Option<String>,
    /// What counts as an answer.
    pub answer_type: AnswerType,
    /// The answer may be left out: null.
    pub optional: bool,
    /// The answer to suggest; it fits `answer_type`.
    pub default: Option<Value>,
    /// Whether to offer "for the rest of this turn".
    pub remember: bool,
    /// Only a human may answer.
    pub exclusive: bool,
    /// Whose question it is, as it stands on record.
    pub source: Source,
    /// What would run, or be delivered.
    pub preview: Option<Preview>,
    /// Its place among the open prompts of the turn, counted from 1, and how many they are.
    pub position: (usize, usize),
}

/// What a person approved for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Of all that the approval covers: what was shown, and what else would make it another call.
    pub hash: String,
    /// The tool that may run.
    pub tool: String,
    /// The title of the call.
    pub title: String,
    /// What was shown.
    pub preview: Option<Preview>,
}

/// How a turn ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Whether the turn completed, failed, was cancelled or was interrupted.
    pub outcome: Outcome,
    /// The text of the last step.
    pub answer: Option<String>,
    /// That text as JSON, with a schema.
    pub structured: Option<Value>,
    /// Why, where it failed.
    pub error: Option<TurnError>,
    /// Tokens, inquiries included.
    pub usage: Usage,
    /// What was refused, but for what a person refused.
    pub refusals: Vec<Refusal>,
    /// The open prompts of an interrupted turn.
    pub prompts: Vec<Prompt>,
}
