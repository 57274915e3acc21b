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
    /// Answer a question that a tool asked while it runs; `None`: it is not answered.
    AnswerLive(CallKey, u32, Option<Answer>),
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
    /// Which.
    pub call: CallKey,
    /// The provider's id of it.
    pub id: String,
    /// The tool.
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
        /// The cycle.
        step: u32,
        /// The piece.
        text: String,
    },
    /// A piece of reasoning.
    Reasoning {
        /// The cycle.
        step: u32,
        /// The piece.
        text: String,
    },
    /// A call came, or began to run.
    ToolCall {
        /// The cycle.
        step: u32,
        /// The provider's id.
        id: String,
        /// The tool.
        name: String,
        /// One line.
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
        /// How.
        status: Status,
        /// One line.
        summary: String,
        /// The change that was made.
        diff: Option<String>,
    },
    /// A prompt was opened (or parked).
    QuestionOpened {
        /// The prompt.
        prompt: PromptId,
        /// The provider's id of the call.
        call: String,
        /// Which kind.
        kind: PromptKind,
        /// Who asks.
        label: String,
        /// One line.
        text: String,
    },
    /// A prompt was settled.
    QuestionClosed {
        /// The prompt.
        prompt: PromptId,
        /// How.
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
        /// It.
        text: String,
    },
    /// A request is sent again.
    Retry {
        /// Counts from 1.
        attempt: u32,
        /// When.
        after: std::time::Duration,
        /// Why.
        reason: String,
        /// What was shown of this cycle is void.
        discard_step: Option<u32>,
    },
    /// A notice.
    Notice {
        /// How grave.
        level: Level,
        /// The text.
        text: String,
    },
    /// Tokens of the turn so far.
    Usage {
        /// Inquiries included.
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
        /// Whose.
        by: By,
        /// What.
        answer: Option<Value>,
    },
    /// Without.
    Cancelled(Reason),
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
    /// It answered.
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
    /// Its id.
    pub id: PromptId,
    /// The call it belongs to.
    pub call: CallKey,
    /// The provider's id of the call.
    pub call_id: String,
    /// The tool.
    pub tool: String,
    /// As the model gave them.
    pub arguments: Value,
    /// The MCP server that the tool comes from.
    pub server: Option<String>,
    /// What it is for.
    pub kind: PromptKind,
    /// Who asks.
    pub label: String,
    /// One line.
    pub text: String,
    /// Several, above it.
    pub context: Option<String>,
    /// What counts as an answer.
    pub answer_type: AnswerType,
    /// The answer may be left out: null.
    pub optional: bool,
    /// Fits `answer_type`.
    pub default: Option<Value>,
    /// Whether to offer "for the rest of this turn".
    pub remember: bool,
    /// Only a human may answer.
    pub exclusive: bool,
    /// As recorded.
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
    /// How.
    pub outcome: Outcome,
    /// The text of the last step.
    pub answer: Option<String>,
    /// That text as JSON, with a schema.
    pub structured: Option<Value>,
    /// Why, where it failed.
    pub error: Option<TurnError>,
    /// Tokens, inquiries included.
    pub usage: Usage,
    /// What was refused for want of a person.
    pub refusals: Vec<Refusal>,
    /// The open prompts of an interrupted turn.
    pub prompts: Vec<Prompt>,
}
