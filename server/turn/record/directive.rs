//! What Aside itself tells the model, by kind.

use serde::{Deserialize, Serialize};

use crate::word::{Vocabulary, Word};

/// What a directive is for. Its text is rendered from this, and never read back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum DirectiveKind {
    /// The last response was cut with nothing complete in it.
    Cut,
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
        /// What is wrong with it.
        fault: Word<FaultKind>,
    },
    /// The user took back file changes of a turn.
    Undone {
        /// The id of that turn.
        #[serde(rename = "undone")]
        turn: String,
    },
    /// A kind that this version does not know. The text is sent, and counts for nothing.
    #[serde(untagged)]
    Other {
        /// The kind as it was read.
        kind: String,
    },
}

/// What is wrong with a line of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FaultKind {
    /// It does not match its checksum.
    Checksum,
    /// It is not JSON.
    NotJson,
    /// A member that every line has is missing or malformed.
    Incomplete,
    /// It is not an event that this version reads.
    Unreadable,
    /// Its number does not follow that of the line before it: lines are missing.
    Gap,
    /// It was never written whole.
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
