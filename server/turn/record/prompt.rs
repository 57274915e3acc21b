//! Prompts: what they ask, how they were settled, and who showed them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::json::{is_false, milliseconds};
use crate::{
    rules::Client,
    word::{Vocabulary, Word},
};

/// What a prompt asks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
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
        #[serde(default, skip_serializing_if = "is_false")]
        diff: bool,
        /// What the call would do, in one line; empty where that is not on record.
        #[serde(default, skip_serializing_if = "String::is_empty")]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Closed {
    /// A person, or a permission for the rest of the turn, answered a `runTool` prompt.
    Permitted {
        /// What was chosen. A word that this version does not know permits nothing.
        permission: Word<Permission>,
        /// The text to run with instead, where the person changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_text: Option<String>,
        /// Who showed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
    },
    /// A person answered a `deliverResult` prompt.
    Delivered {
        /// Whether the model may see the result.
        deliver: bool,
        /// Who showed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
    },
    /// A person would not answer, with a note or without.
    Declined {
        /// What the person left for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// Who showed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
    },
    /// The turn was cancelled, or what was prepared changed.
    Withdrawn,
    /// It could not be shown.
    Failed {
        /// Why, in words.
        why: String,
    },
}

impl Closed {
    /// What was answered, as it stands on record; none where nobody answered.
    #[must_use]
    pub fn answer(&self) -> Option<Value> {
        match self {
            Self::Permitted { permission, .. } => Some(permission.as_str().into()),
            Self::Delivered { deliver, .. } => Some((*deliver).into()),
            Self::Declined { .. } | Self::Withdrawn | Self::Failed { .. } => None,
        }
    }
}

/// Who showed a prompt to a person, and when. Times are since the Unix epoch; whole milliseconds are on record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Showing {
    /// The client that showed it.
    pub client: Client,
    /// When it was shown.
    #[serde(with = "milliseconds")]
    pub shown_at: Duration,
    /// When it was answered.
    #[serde(with = "milliseconds")]
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
