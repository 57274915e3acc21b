//! The closed list of what a turn wants done. The engine performs effects in order, and never waits for one
//! but `Record`: an event is on disk before what comes after it is performed.

use std::time::Duration;

use serde_json::Value;

use crate::{
    input::{OwnText, Preview, RequestId},
    model::response::Usage,
    question::{Answer, AnswerType, Source},
    record::{CallKey, Event, Outcome, PromptId, Refusal, TurnError, Vocabulary},
};

mod request;
mod update;
pub mod updates;

pub use request::{CallResult, Message, Request, RequestKind, Sending, SideRequest};
pub use update::{
    CallStatus, ChangedTexts, InquiryStatus, PromptKind, PromptOutcome, QuestionUpdate,
    ShownChange, SummaryStatus, TurnPermission, TurnUsage, Update,
};

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
    pub new_text: Option<OwnText>,
}

/// Reason for which a prompt is taken off a client's screen.
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
    /// Arguments, as the model gave them.
    pub arguments: Value,
    /// The MCP server that the tool comes from.
    pub server: Option<String>,
    /// Kind of the prompt.
    pub kind: PromptKind,
    /// Header of the prompt, which names the asker.
    pub label: String,
    /// The question in one line.
    pub text: String,
    /// Several, above it.
    pub context: Option<String>,
    /// The type of answers that fit.
    pub answer_type: AnswerType,
    /// The answer may be left out: null.
    pub optional: bool,
    /// The answer to suggest; it fits `answer_type`.
    pub default: Option<Value>,
    /// Whether to offer "for the rest of this turn".
    pub remember: bool,
    /// Only a human may answer.
    pub exclusive: bool,
    /// Recorded origin of the question.
    pub source: Source,
    /// Preview of the call, or of the result to deliver.
    pub preview: Option<Preview>,
    /// What the answer `turn` permits, where that is offered.
    pub turn_permits: Option<TurnPermission>,
    /// Place among the open prompts of the turn, from 1, and their number.
    pub position: (usize, usize),
}

/// An approval for good.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Approval {
    /// Of all that the approval covers: what was shown, and what else would make it another call.
    pub hash: String,
    /// The tool that may run.
    pub tool: String,
    /// The title of the call.
    pub title: String,
    /// The preview that was shown.
    pub preview: Option<Preview>,
}

/// End of a turn.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// Whether the turn completed, failed, was cancelled or was interrupted.
    pub outcome: Outcome,
    /// The text of the last step.
    pub answer: Option<String>,
    /// The answer as JSON, if a schema was given.
    pub structured: Option<Value>,
    /// The failure, if the turn failed.
    pub error: Option<TurnError>,
    /// Tokens, inquiries included.
    pub usage: Usage,
    /// Refusals, without those by a person.
    pub refusals: Vec<Refusal>,
    /// The open prompts of an interrupted turn.
    pub prompts: Vec<Prompt>,
    /// Time after which a summary is to be made, if nobody writes until then; none where it would save too little.
    pub summary_due: Option<Duration>,
}
