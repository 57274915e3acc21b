//! The closed list of what can happen to a turn.

use serde_json::Value;

use crate::{
    model::response::{Failure, Piece},
    question::Question,
    record::{CallKey, PromptId},
    rules::{Class, Client},
};

pub use crate::rules::Time;

/// A request to a provider: the turn's or an inquiry's. Counts from 1 in each start or resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// Something that happened.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The first byte of a response came.
    FirstByte(RequestId),
    /// A piece of a response came.
    Piece(RequestId, Piece),
    /// A request failed, before its response or in it.
    Failed(RequestId, Failure),
    /// A call was prepared.
    Prepared(CallKey, Preparation),
    /// A tool's run ended.
    Finished(CallKey, ToolOutcome),
    /// A tool asks while it runs. The number is the tool's own, unique in the run.
    LiveQuestion(CallKey, u32, Question),
    /// A person, or a client for one, answered a prompt.
    Answer(PromptId, PromptAnswer),
    /// The user adds something while the turn runs.
    Steer(String),
    /// The user ends the turn.
    Cancel,
    /// A client that can ask a human came.
    ClientCame(Client),
    /// It left, or the process is told to go at once: nothing is waited for.
    ClientLeft,
    /// The final answer was checked against its schema: the value, or what is wrong.
    Checked(Result<Value, String>),
    /// An append to the log failed; nothing after it is performed.
    AppendFailed(String),
    /// [`crate::Turn::deadline`] has come.
    Tick,
}

/// What preparing a call found. Preparing changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Preparation {
    /// It can run.
    Ready(Prepared),
    /// It cannot: the arguments do not fit, or what they name is not there. What the model is told.
    Error(String),
    /// It may not: a rule of the user's denies its command.
    DeniedByRule,
    /// It must ask first, so that what is shown is complete.
    Question(Question),
}

/// A call that can run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// What it does.
    pub class: Class,
    /// One line for people.
    pub title: String,
    /// What a person sees before approving it.
    pub preview: Option<Preview>,
    /// What an approval is bound to: a SHA-256 in hex of all that is shown and run.
    pub hash: String,
    /// An approval that was kept ("always") stands for this hash.
    pub approved: bool,
    /// It asks whatever mode and rules say; why, in one line.
    pub must_ask: Option<String>,
    /// What a person should know who is asked, in one line; asks for nothing by itself.
    pub note: Option<String>,
    /// It would run inside the sandbox, or the user said that it need not.
    pub sandboxed: bool,
}

/// What a person sees before approving a call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// A command, whole.
    Command {
        /// As it would be run.
        text: String,
        /// The folder that it would run in.
        cwd: String,
    },
    /// A change of one file.
    Diff {
        /// The URI of the file.
        uri: String,
        /// The version of its open document.
        version: Option<i32>,
        /// The whole text before.
        old: String,
        /// The whole text after.
        new: String,
    },
    /// Anything that is neither a command nor a change of one file.
    Text {
        /// What to show, as it is.
        text: String,
    },
}

/// What came of running a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// The tool did what it was called for.
    Success(ToolOutput),
    /// An error; a panic and a broken protocol are errors too.
    Error(ToolOutput),
    /// It needs an answer, and is run again with it.
    NeedsInput(Question),
    /// It was stopped, by [`crate::Effect::Stop`].
    Stopped,
}

/// The text of a result or an error, already within its size limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// What the model is told.
    pub content: String,
    /// One line for people.
    pub summary: String,
    /// What else goes on record, such as the files that were read and their hashes.
    pub details: Option<Value>,
    /// The change that was made, for clients.
    pub diff: Option<String>,
}

impl ToolOutput {
    /// The member of `details` that says with which status a command exited.
    pub const EXIT_STATUS: &'static str = "exit_status";

    /// With which status the command exited that was run; 128 and the number of a signal, where one ended it. None of
    /// what is no command, or did not end by itself.
    #[must_use]
    pub fn exit_status(details: Option<&Value>) -> Option<i32> {
        let status = details?.get(Self::EXIT_STATUS)?.as_i64()?;
        i32::try_from(status).ok()
    }

    /// A text, and its first line as the summary.
    #[must_use]
    pub fn text(content: impl Into<String>) -> Self {
        let content = content.into();
        let summary = content.lines().next().unwrap_or_default().to_owned();
        Self {
            content,
            summary,
            details: None,
            diff: None,
        }
    }
}

/// What a client made of a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptAnswer {
    /// The person answered.
    Answer {
        /// By the prompt's answer type. A secret's is a string.
        value: SecretValue,
        /// "For the rest of this turn."
        remember: bool,
        /// For a `runTool` with a diff: run with this text instead.
        new_text: Option<String>,
    },
    /// The person will not answer.
    Decline {
        /// For the model.
        note: Option<String>,
    },
    /// The person decided to skip it.
    Cancel,
    /// The client failed; never a person's decision.
    Failed(String),
}

/// A value that may be a secret: it cannot be printed.
#[derive(Clone, PartialEq)]
pub struct SecretValue(pub Value);

impl std::fmt::Debug for SecretValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[answer]")
    }
}

impl PromptAnswer {
    /// The same answer, its note without blanks around it; a note that says nothing is none.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        if let Self::Decline { note } = &mut self {
            let text = note.take().map(|note| note.trim().to_owned());
            *note = text.filter(|note| !note.is_empty());
        }
        self
    }

    /// A plain answer.
    #[must_use]
    pub fn value(value: impl Into<Value>) -> Self {
        Self::Answer {
            value: SecretValue(value.into()),
            remember: false,
            new_text: None,
        }
    }
}
