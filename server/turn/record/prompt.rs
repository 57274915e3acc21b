//! Prompts: what they ask, how they were settled, and who showed them.

use std::time::Duration;

use serde_json::Value;

use crate::rules::Client;
use crate::word::Vocabulary;

/// What a prompt asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PromptSubject {
    /// A tool's question.
    Question {
        /// The id of the question's pair.
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

impl PromptSubject {
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

/// A person's answer to a `runTool` prompt.
///
/// The list is closed for good: older programs take any word but `no` for a yes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// This call may run.
    Once,
    /// It may run, and so may the same again (or, of a diff, any edit) for the rest of the turn.
    Turn,
    /// It may run, and so may the same again in this workspace, until the user revokes it.
    Always,
    /// It may not run.
    No,
}

impl Permission {
    /// What a person may choose, in the order in which it is offered. A prompt that shows a change of a file (`diff`)
    /// does not offer `always`.
    #[must_use]
    pub fn options(diff: bool) -> &'static [Self] {
        if diff {
            &[Self::Once, Self::Turn, Self::No]
        } else {
            &[Self::Once, Self::Turn, Self::Always, Self::No]
        }
    }

    /// The words of [`Permission::options`].
    #[must_use]
    pub fn words(diff: bool) -> Vec<String> {
        let options = Self::options(diff).iter();
        options.map(|option| option.word().to_owned()).collect()
    }
}

impl Vocabulary for Permission {
    const ALL: &'static [Self] = &[Self::Once, Self::Turn, Self::Always, Self::No];

    fn word(self) -> &'static str {
        match self {
            Self::Once => "once",
            Self::Turn => "turn",
            Self::Always => "always",
            Self::No => "no",
        }
    }
}

/// How a `runTool` or `deliverResult` prompt was settled.
#[derive(Clone, Debug, PartialEq)]
pub enum Closed {
    /// A person, or a permission for the rest of the turn, answered a `runTool` prompt.
    Permitted {
        /// What was chosen.
        permission: Permission,
        /// The text to run with instead, where the person changed it.
        new_text: Option<String>,
        /// Who showed it.
        shown: Option<Showing>,
    },
    /// A person answered a `deliverResult` prompt.
    Delivered {
        /// Whether the model may see the result.
        deliver: bool,
        /// Who showed it.
        shown: Option<Showing>,
    },
    /// A person would not answer, with a note or without.
    Declined {
        /// What the person left for the model.
        note: Option<String>,
        /// Who showed it.
        shown: Option<Showing>,
    },
    /// The turn was cancelled, or what was prepared changed.
    Withdrawn,
    /// It could not be shown.
    Failed {
        /// Why, in words.
        why: String,
    },
    /// Settled with an answer that this version does not know. It approves nothing and delivers nothing.
    Unknown {
        /// The answer as it was read.
        answer: Value,
    },
}

impl Closed {
    /// What was answered, as it stands on record; none where nobody answered.
    #[must_use]
    pub fn answer(&self) -> Option<Value> {
        match self {
            Self::Permitted { permission, .. } => Some(permission.word().into()),
            Self::Delivered { deliver, .. } => Some((*deliver).into()),
            Self::Unknown { answer } => Some(answer.clone()),
            Self::Declined { .. } | Self::Withdrawn | Self::Failed { .. } => None,
        }
    }
}

/// Who showed a prompt to a person, and when. Times are since the Unix epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Showing {
    /// The client that showed it.
    pub client: Client,
    /// When it was shown.
    pub shown_at: Duration,
    /// When it was answered.
    pub answered_at: Duration,
}

impl Showing {
    /// A client showed it from then to now.
    #[must_use]
    pub fn new(client: &Client, shown_at: Duration, answered_at: Duration) -> Self {
        Self {
            client: client.clone(),
            shown_at,
            answered_at,
        }
    }
}
