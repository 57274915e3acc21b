//! Inputs of a turn, as a closed list.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    model::{
        attachment::Attachment,
        response::{Failure, Piece},
    },
    question::Question,
    record::{CallKey, PromptId},
    rules::{Class, Client, RunRule},
};

pub use crate::rules::Time;

/// Number of a request to a provider, of the turn or an inquiry. Counts from 1 in each start or resume.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u32);

/// An input of the turn.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// The first byte of a response arrived.
    FirstByte(RequestId),
    /// A piece of a response arrived.
    Piece(RequestId, Piece),
    /// A request failed, before or during its response.
    Failed(RequestId, Failure),
    /// A call was prepared.
    Prepared(CallKey, Preparation),
    /// A tool's run ended.
    Finished(CallKey, ToolOutcome),
    /// A running call makes progress, so that its time begins anew.
    Progress(CallKey),
    /// A tool asks while it runs. The number is the tool's own and unique in the run.
    LiveQuestion(CallKey, u32, Question),
    /// A tool no longer waits for the answer to the question of this number, which it asked while it runs.
    LiveWithdrawn(CallKey, u32),
    /// A person, or a client for one, answered a prompt.
    Answer(PromptId, PromptAnswer),
    /// The user adds a message while the turn runs.
    Steer(String),
    /// The user ends the turn.
    Cancel,
    /// The user's configuration of tools that run in the client changed: their rules by name.
    ClientRules(BTreeMap<String, Option<RunRule>>),
    /// A client that can ask a human attached.
    ClientCame(Client),
    /// The client left, or the process has to exit at once.
    ClientLeft,
    /// The final answer was checked against its schema: its value, or the faults.
    Checked(Result<Value, String>),
    /// An append to the log failed. No later effect was performed.
    AppendFailed(String),
    /// The time of [`crate::Turn::deadline`] has come.
    Tick,
}

/// Outcome of preparing a call. Preparing changes nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Preparation {
    /// The call can run.
    Ready(Prepared),
    /// The call cannot run, because its arguments do not fit or name something missing. Text for the model.
    Error(String),
    /// A command rule of the user denies the call.
    DeniedByRule,
    /// The call has to ask first, so that its preview is complete.
    Question(Question),
}

/// A call that can run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prepared {
    /// Effects of the call.
    pub class: Class,
    /// One line for people that describes the call.
    pub title: String,
    /// Preview that a person sees before approving the call.
    pub preview: Option<Preview>,
    /// SHA-256 in hex of everything that is shown and run; an approval is bound to it.
    pub hash: String,
    /// Whether an approval ("always") is kept for this hash.
    pub approved: bool,
    /// The reason, in one line, why a person must be asked whatever mode and rules say.
    pub must_ask: Option<String>,
    /// One line of advice for the person who is asked. Does not cause a prompt.
    pub note: Option<String>,
    /// Whether the call runs inside the sandbox, or the user waived it.
    pub sandboxed: bool,
}

/// Preview that a person sees before approving a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum Preview {
    /// A whole command.
    Command {
        /// The command as it would run.
        text: String,
        /// The working directory.
        cwd: String,
    },
    /// A change of one file.
    Diff {
        /// The URI of the file.
        uri: String,
        /// The version of its open document.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        version: Option<i32>,
        /// The whole text before.
        old: String,
        /// The whole text after.
        new: String,
    },
    /// Anything that is neither a command nor a change of one file.
    Text {
        /// The text to show.
        text: String,
    },
}

/// Outcome of running a tool.
#[derive(Clone, Debug, PartialEq)]
pub enum ToolOutcome {
    /// Success.
    Success(ToolOutput),
    /// An error; a panic and a broken protocol are errors too.
    Error(ToolOutput),
    /// The tool needs an answer, and is run again with it.
    NeedsInput(Question),
    /// The run was stopped by [`crate::Effect::Stop`].
    Stopped,
}

/// The text of a result or an error, already within its size limits.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolOutput {
    /// Text for the model.
    pub content: String,
    /// One line for people that summarises the result.
    pub summary: String,
    /// Other data for the record, such as the files that were read and their hashes.
    pub details: Option<Value>,
    /// Images and documents for models that take them; the content names them.
    pub media: Vec<Attachment>,
}

impl ToolOutput {
    /// Member of `details` that holds the exit status of a command.
    pub const EXIT_STATUS: &'static str = "exit_status";

    /// The exit status of a command; 128 plus the signal's number if a signal ended it. `None` if the tool ran no
    /// command, or the command did not end by itself.
    #[must_use]
    pub fn exit_status(details: Option<&Value>) -> Option<i32> {
        let status = details?.get(Self::EXIT_STATUS)?.as_i64()?;
        i32::try_from(status).ok()
    }

    /// The summary, where it is not the first line of the content.
    #[must_use]
    pub fn own_summary(&self) -> Option<String> {
        let first = self.content.lines().next().unwrap_or_default();
        (first != self.summary).then(|| self.summary.clone())
    }

    /// Creates an output from a text, whose first line becomes the summary.
    #[must_use]
    pub fn text(content: impl Into<String>) -> Self {
        let content = content.into();
        let summary = content.lines().next().unwrap_or_default().to_owned();
        Self {
            content,
            summary,
            ..Self::default()
        }
    }
}

/// Response of a client to a prompt.
#[derive(Clone, Debug, PartialEq)]
pub enum PromptAnswer {
    /// The person answered.
    Answer {
        /// A value of the prompt's answer type. A secret is a string.
        value: SecretValue,
        /// Whether the answer holds for the rest of this turn.
        remember: bool,
        /// The text that replaces the prepared one, for a `runTool` prompt with a diff.
        new_text: Option<OwnText>,
    },
    /// The person declines to answer.
    Decline {
        /// The person's note for the model.
        note: Option<String>,
    },
    /// The person skips the prompt.
    Cancel,
    /// The client failed. This is never a person's decision.
    Failed(String),
}

/// A text that a person puts in place of the prepared one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnText {
    /// All of it.
    pub text: String,
    /// The text in whose place it goes; `None` for the one that the prompt showed.
    pub base: Option<String>,
}

impl From<String> for OwnText {
    fn from(text: String) -> Self {
        Self { text, base: None }
    }
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
    /// Trims the note and drops it if it is blank.
    #[must_use]
    pub fn trimmed(mut self) -> Self {
        if let Self::Decline { note } = &mut self {
            let text = note.take().map(|note| note.trim().to_owned());
            *note = text.filter(|note| !note.is_empty());
        }
        self
    }

    /// Creates a plain answer.
    #[must_use]
    pub fn value(value: impl Into<Value>) -> Self {
        Self::Answer {
            value: SecretValue(value.into()),
            remember: false,
            new_text: None,
        }
    }
}
