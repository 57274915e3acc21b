//! Kinds of directives, which Aside itself sends to the model.

use serde::{Deserialize, Serialize};

use crate::word::{Vocabulary, Word};

/// Purpose of a directive. The text is rendered from this and never read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DirectiveKind {
    /// The last response was cut with nothing complete in it.
    Cut,
    /// The last response had neither text nor a call.
    Empty,
    /// The same call was made several times, with the same result.
    Repeats {
        /// The tool's name.
        tool: String,
    },
    /// The provider refused this tool, so that it is left out from here on.
    LeftOut {
        /// The tool's name.
        tool: String,
    },
    /// The final answer does not fit its schema.
    SchemaRepair,
    /// A tool must be called: this one, or any.
    Force {
        /// The tool's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// The model answered without the call that was forced.
    ForceAgain {
        /// The tool's name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        tool: Option<String>,
    },
    /// A part of the log could not be read.
    Lost {
        /// The line, counted from 1.
        line: u64,
        /// Fault of the line.
        fault: Word<FaultKind>,
    },
    /// The user took back file changes of a turn.
    Undone {
        /// The id of that turn.
        #[serde(rename = "undone")]
        turn: String,
    },
    /// Files are not as the turn left them when it was interrupted.
    Moved,
    /// A kind that this version does not know. The text is sent, and counts for nothing.
    #[serde(untagged)]
    Other {
        /// The kind as it was read.
        kind: String,
    },
}

impl DirectiveKind {
    /// Whether it tells of a part of the log that could not be read.
    #[must_use]
    pub fn is_lost(&self) -> bool {
        matches!(self, Self::Lost { .. })
    }
}

/// Fault of a line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// The checksum does not match.
    Checksum,
    /// The line is not JSON.
    NotJson,
    /// A member that every line has is missing or malformed.
    Incomplete,
    /// The line is not an event known to this version.
    Unreadable,
    /// Lines are missing before it, because its number does not follow.
    Gap,
    /// The line was written incompletely.
    Torn,
}

impl Vocabulary for FaultKind {
    const ALL: &'static [Self] = &[
        Self::Checksum,
        Self::NotJson,
        Self::Incomplete,
        Self::Unreadable,
        Self::Gap,
        Self::Torn,
    ];

    fn word(self) -> &'static str {
        match self {
            Self::Checksum => "checksum",
            Self::NotJson => "not_json",
            Self::Incomplete => "incomplete",
            Self::Unreadable => "unreadable",
            Self::Gap => "gap",
            Self::Torn => "torn",
        }
    }
}
