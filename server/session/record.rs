//! Content of a line of the log.

use std::time::Duration;

use aside_turn::{
    Event,
    limits::Limits,
    record::{Word, json::shallow},
    rules::Mode,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Version of the lines that this program writes. A newer line that is not understood is kept as it is.
pub const VERSION: u64 = 1;

/// An entry of the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Number of the entry in its conversation, from 1.
    pub seq: u64,
    /// Time of appending, since the Unix epoch, in whole milliseconds.
    pub time: Duration,
    /// Id of the turn; `None` for an entry of the conversation itself.
    pub turn: Option<String>,
    /// The content of the line.
    pub entry: Entry,
}

/// Content of a line, without the frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    /// A turn begins, with the options that a resume needs. [`Event::TurnStart`], which has no options, is read back as
    /// this.
    TurnStart {
        /// Options of the turn.
        options: TurnOptions,
    },
    /// The prefix that the conversation's first request freezes.
    Conversation(Frozen),
    /// A change of the frozen prefix.
    Changed(Changed),
    /// A file was changed, or is about to be.
    Edit(Edit),
    /// File changes of a turn were undone.
    Undone(Undone),
    /// The conversation was renamed.
    Renamed {
        /// The new title, on one line.
        title: String,
    },
    /// Any other event of a turn.
    #[serde(untagged)]
    Turn(Event),
    /// An entry of a type or version that this program does not know.
    #[serde(untagged)]
    Unknown {
        /// Version of the line, which is written back.
        #[serde(skip)]
        version: u64,
        /// `type` and all other fields, unchanged.
        #[serde(flatten)]
        body: Value,
    },
}

/// Options of a turn. Unknown fields of a newer version are kept in `other`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnOptions {
    /// The mode. An unknown one must never be taken for another that allows more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<Word<Mode>>,
    /// The full name of the model, `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// `auto`, `none`, `required`, or a tool's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_choice: Option<String>,
    /// The schema of the final answer.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "shallow")]
    pub schema: Option<Value>,
    /// The absolute path of the workspace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub root: Option<String>,
    /// Limits of the whole turn that differ from the built-in ones. They also hold after a resume.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<TurnLimits>,
    /// Whether commands ran without a sandbox because the user allowed it. A resume needs the user's word again, because a
    /// person then approves a command without a sandbox.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsandboxed: bool,
    /// Fields of other versions of the program.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Limits of a whole turn. `None` means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnLimits {
    /// Maximum number of requests to the provider, without inquiries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Maximum duration in seconds; a resume starts again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_seconds: Option<u64>,
    /// Maximum cost in US dollars.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl TurnLimits {
    /// The limits of a turn; `None` if they are the built-in ones.
    #[must_use]
    pub fn of(limits: &Limits) -> Option<Self> {
        let of = |limits: &Limits| Self {
            steps: Some(limits.steps),
            turn_seconds: limits.turn_time.map(|time| time.as_secs()),
            cost_usd: limits.cost,
        };
        Some(of(limits)).filter(|own| *own != of(&Limits::default()))
    }

    /// Overrides the configured limits.
    pub fn apply(&self, limits: &mut Limits) {
        limits.steps = self.steps.unwrap_or(limits.steps);
        limits.turn_time = self.turn_seconds.map(Duration::from_secs);
        limits.cost = self.cost_usd;
    }
}

impl TurnOptions {
    /// The mode in which the turn is resumed. An unknown one becomes [`Mode::Ask`], because the configured mode may allow
    /// more than the turn's.
    #[must_use]
    pub fn resumed_mode(&self) -> Option<Mode> {
        let mode = self.mode.as_ref()?;
        Some(mode.known().unwrap_or(Mode::Ask))
    }

    /// The notice for the user about an unknown mode.
    #[must_use]
    pub fn mode_notice(&self) -> Option<String> {
        match &self.mode {
            Some(Word::Unknown(word)) => Some(format!(
                "The turn was started in mode {word:?}, which this version does not know; it goes on in mode ask."
            )),
            Some(Word::Known(_)) | None => None,
        }
    }
}

/// The prefix of all requests, frozen by the conversation's first one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frozen {
    /// The system text.
    pub system: String,
    /// Tools in the order in which providers are sent them.
    pub tools: Vec<FrozenTool>,
    /// The full name of the model, `provider/model`.
    pub model: String,
    /// The name under `providers`, or the built-in one.
    pub provider: String,
}

/// A tool as providers are sent it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenTool {
    /// The name of the tool.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
    /// Whether the provider has to enforce the schema of the arguments.
    #[serde(default)]
    pub strict: bool,
}

/// A change of a [`Frozen`]; `None` is unchanged.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changed {
    /// The system text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The new array of tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<FrozenTool>>,
    /// The full name of the model, `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// A change of one file by a call, with its texts, for clients and for undo. Recorded before the file is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Place of the call in its turn.
    pub call: u32,
    /// Path relative to the workspace.
    pub path: String,
    /// Blob of the content before; `None` for a new file.
    pub before: Option<String>,
    /// Blob of the content after; `None` if the file was deleted.
    pub after: Option<String>,
    /// Unix permission bits before, for a file that undo has to create again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// File changes that were undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// Id of the turn that made them.
    pub undone: String,
    /// Paths of the files, relative to the workspace.
    pub files: Vec<String>,
}

impl Frozen {
    /// Applies a change.
    pub(super) fn change(&mut self, changed: &Changed) {
        fn set<T: Clone>(part: &mut T, changed: Option<&T>) {
            if let Some(changed) = changed {
                part.clone_from(changed);
            }
        }
        set(&mut self.system, changed.system.as_ref());
        set(&mut self.tools, changed.tools.as_ref());
        set(&mut self.model, changed.model.as_ref());
        set(&mut self.provider, changed.provider.as_ref());
    }
}

impl Entry {
    /// The event of a turn, if the entry is one.
    #[must_use]
    pub fn event(&self) -> Option<&Event> {
        static START: Event = Event::TurnStart;
        match self {
            Self::TurnStart { .. } => Some(&START),
            Self::Turn(event) => Some(event),
            _ => None,
        }
    }
}

impl Entry {
    /// Reads an entry from its members; `None` for an unknown type.
    ///
    /// # Errors
    /// Fails if a member of a known type is missing or malformed.
    pub(super) fn read(body: &Value) -> serde_json::Result<Option<Self>> {
        let kind = <&str>::deserialize(&body["type"])?;
        let entry = match kind {
            "turn_start" => Self::TurnStart {
                options: match body.get("options") {
                    Some(options) => TurnOptions::deserialize(options)?,
                    None => TurnOptions::default(),
                },
            },
            "conversation" => Self::Conversation(Frozen::deserialize(body)?),
            "changed" => Self::Changed(Changed::deserialize(body)?),
            "edit" => Self::Edit(Edit::deserialize(body)?),
            "undone" => Self::Undone(Undone::deserialize(body)?),
            "renamed" => Self::Renamed {
                title: String::deserialize(&body["title"])?,
            },
            kind if Event::TYPES.contains(&kind) => Self::Turn(Event::deserialize(body)?),
            _ => return Ok(None),
        };
        Ok(Some(entry))
    }

    /// Version of the line.
    pub(super) fn version(&self) -> u64 {
        match self {
            Self::Unknown { version, .. } => *version,
            _ => VERSION,
        }
    }
}

impl From<Event> for Entry {
    fn from(event: Event) -> Self {
        match event {
            Event::TurnStart => Self::TurnStart {
                options: TurnOptions::default(),
            },
            event => Self::Turn(event),
        }
    }
}

/// Formats a time as RFC 3339 with milliseconds, in UTC.
pub fn time_text(time: Duration) -> String {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let stamp = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
    format!("{stamp:.3}")
}

/// Parses a time; `None` before 1970.
pub(super) fn time_of(text: &str) -> Option<Duration> {
    let stamp: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_millisecond())
        .ok()
        .map(Duration::from_millis)
}
