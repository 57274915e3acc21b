//! Prompts: what they ask, how they were settled, and who showed them.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{
    by::By,
    json::{is_false, milliseconds},
};
use crate::{
    rules::Client,
    word::{Vocabulary, Word},
};

/// Subject of a prompt.
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
        /// Hash that the approval is bound to.
        hash: String,
        /// Whether the prompt shows a change of a file; `turn` then allows all further edits of the turn.
        #[serde(default, skip_serializing_if = "is_false")]
        diff: bool,
        /// One line that describes the call; empty if that is not on record.
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
/// Whatever is none of these words permits nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Permission {
    /// The call may run this once.
    Once,
    /// The same call, or any edit in case of a diff, may run for the rest of the turn.
    Turn,
    /// The same call may run in this workspace until the user revokes the approval.
    Always,
    /// The call may not run.
    No,
}

impl Permission {
    /// The choices of a person, in the order in which they are offered. A prompt that shows a change of a file (`diff`)
    /// does not offer `always`.
    #[must_use]
    pub fn options(diff: bool) -> &'static [Self] {
        if diff {
            &[Self::Once, Self::Turn, Self::No]
        } else {
            &[Self::Once, Self::Turn, Self::Always, Self::No]
        }
    }

    /// The permission in words for a person.
    fn in_words(self) -> &'static str {
        match self {
            Self::Once => "yes, once",
            Self::Turn => "yes, for this turn",
            Self::Always => "yes, always",
            Self::No => "no",
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

/// Outcome of a `runTool` or `deliverResult` prompt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "snake_case")]
pub enum Closed {
    /// A person, or a permission for the rest of the turn, answered a `runTool` prompt.
    Permitted {
        /// The choice. A word that this version does not know permits nothing.
        permission: Word<Permission>,
        /// The text to run with instead, where the person changed it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        new_text: Option<String>,
        /// The client that showed the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
    },
    /// The user's configuration answered a `runTool` prompt: this call may run. No client showed the prompt, or it was
    /// taken off the screen.
    Configured,
    /// A person answered a `deliverResult` prompt.
    Delivered {
        /// Whether the model may see the result.
        deliver: bool,
        /// The client that showed the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
    },
    /// A person would not answer, with a note or without.
    Declined {
        /// The person's note for the model.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        note: Option<String>,
        /// The client that showed the prompt.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        shown: Option<Showing>,
    },
    /// The turn was cancelled, or what was prepared changed.
    Withdrawn,
    /// The prompt could not be shown.
    Failed {
        /// The failure in words.
        why: String,
    },
}

impl Closed {
    /// The recorded answer; `None` if nobody answered.
    #[must_use]
    pub fn answer(&self) -> Option<Value> {
        match self {
            Self::Permitted { permission, .. } => Some(permission.as_str().into()),
            Self::Configured => Some(Permission::Once.word().into()),
            Self::Delivered { deliver, .. } => Some((*deliver).into()),
            Self::Declined { .. } | Self::Withdrawn | Self::Failed { .. } => None,
        }
    }

    /// The answer in words for a person; none if nobody answered.
    #[must_use]
    pub fn in_words(&self) -> &str {
        match self {
            Self::Permitted { permission, .. } => match permission {
                Word::Known(permission) => permission.in_words(),
                Word::Unknown(word) => word,
            },
            Self::Configured | Self::Delivered { deliver: true, .. } => "yes",
            Self::Delivered { deliver: false, .. } | Self::Declined { .. } => "no",
            Self::Withdrawn | Self::Failed { .. } => "",
        }
    }

    /// The answerer; `None` if nobody answered.
    #[must_use]
    pub fn by(&self) -> Option<By> {
        match self {
            Self::Permitted { .. } | Self::Delivered { .. } => Some(By::User),
            Self::Configured => Some(By::Config),
            Self::Declined { .. } | Self::Withdrawn | Self::Failed { .. } => None,
        }
    }
}

/// The client that showed a prompt, and the times. Times are since the Unix epoch, recorded in whole milliseconds.
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
