//! What may stand in a line of the log.

use std::time::Duration;

use aside_turn::{
    Event,
    limits::Limits,
    record::{Word, json::shallow},
    rules::Mode,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The version of the lines that this program writes. A newer line is kept as it is where it is not understood.
pub const VERSION: u64 = 1;

/// One event of a conversation, as it is on disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Counts from 1 in each conversation.
    pub seq: u64,
    /// When it was appended: since the Unix epoch, whole milliseconds.
    pub time: Duration,
    /// The turn that it belongs to; none where it belongs to the conversation.
    pub turn: Option<String>,
    /// What happened, and what belongs to it.
    pub entry: Entry,
}

/// What may stand in a line, beside the frame.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Entry {
    /// A turn begins, with what a resume needs. It is read back as this, even where it was written as
    /// [`Event::TurnStart`], which has no room for options.
    TurnStart {
        /// How the turn was started.
        options: TurnOptions,
    },
    /// What the conversation's first request freezes.
    Conversation(Frozen),
    /// What of it changed.
    Changed(Changed),
    /// A file was changed, or is about to be.
    Edit(Edit),
    /// File changes of a turn were taken back.
    Undone(Undone),
    /// The conversation got a title.
    Renamed {
        /// The new title, on one line.
        title: String,
    },
    /// Reserved: a new base for the prefix.
    Compacted {
        /// The base.
        #[serde(serialize_with = "shallow")]
        base: Value,
    },
    /// Any other event of a turn.
    #[serde(untagged)]
    Turn(Event),
    /// Of a type or version that this program does not know.
    #[serde(untagged)]
    Unknown {
        /// The version of its line, with which it is written again.
        #[serde(skip)]
        version: u64,
        /// `type` and all other fields, as they are.
        #[serde(flatten)]
        body: Value,
    },
}

/// How a turn was started. What a field of a newer version says is kept in `other`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnOptions {
    /// The mode. One that this version does not know must never be taken for another that allows more.
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
    /// The bounds of the turn as a whole, where they are not those that are built in; they hold for all of it, however
    /// often it is resumed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limits: Option<TurnLimits>,
    /// Commands ran without a sandbox because the user said so. A resume has to be told again: what a person is asked
    /// about then is a command without walls.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub unsandboxed: bool,
    /// What other versions of the program wrote here.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// The bounds of a turn as a whole, as it was started with them. None: not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TurnLimits {
    /// Requests to the provider, at most; its inquiries are not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<u32>,
    /// Seconds that it may take; a resume begins to count anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_seconds: Option<u64>,
    /// US dollars that it may cost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl TurnLimits {
    /// The bounds of a turn with these limits; none where they are those that are built in.
    #[must_use]
    pub fn of(limits: &Limits) -> Option<Self> {
        let of = |limits: &Limits| Self {
            steps: Some(limits.steps),
            turn_seconds: limits.turn_time.map(|time| time.as_secs()),
            cost_usd: limits.cost,
        };
        Some(of(limits)).filter(|own| *own != of(&Limits::default()))
    }

    /// Puts them in the place of what is configured now.
    pub fn apply(&self, limits: &mut Limits) {
        limits.steps = self.steps.unwrap_or(limits.steps);
        limits.turn_time = self.turn_seconds.map(Duration::from_secs);
        limits.cost = self.cost_usd;
    }
}

impl TurnOptions {
    /// The mode that a turn with these options goes on in, where they have one. One that this version does not know
    /// is [`Mode::Ask`]: what is configured may allow more than the turn was started with.
    #[must_use]
    pub fn resumed_mode(&self) -> Option<Mode> {
        let mode = self.mode.as_ref()?;
        Some(mode.known().unwrap_or(Mode::Ask))
    }

    /// What the user is to know of a mode that this version does not know.
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

/// What a conversation's first request freezes.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Frozen {
    /// The system text.
    pub system: String,
    /// In the order in which providers are sent them.
    pub tools: Vec<FrozenTool>,
    /// The full name of the model, `provider/model`.
    pub model: String,
    /// The name under `providers`, or the built-in one.
    pub provider: String,
}

/// A tool as providers are told of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FrozenTool {
    /// The name of the tool.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// The JSON schema of its arguments.
    pub parameters: Value,
    /// Arguments are to be held to the schema by the provider.
    #[serde(default)]
    pub strict: bool,
}

/// What changed of a [`Frozen`]; what is `None` did not.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Changed {
    /// The system text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system: Option<String>,
    /// The new array of tools, where it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<Vec<FrozenTool>>,
    /// The full name of the model, `provider/model`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The provider's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub provider: Option<String>,
}

/// A change of one file by a call, with what undo needs. It is on record before the file is written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// The call's place in its turn.
    pub call: u32,
    /// Relative to the workspace.
    pub path: String,
    /// The blob of the content before; none where the file did not exist.
    pub before: Option<String>,
    /// The SHA-256 of the content after; none where the file was deleted.
    pub after: Option<String>,
    /// The Unix permission bits before, for a file that undo has to make anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<u32>,
}

/// File changes that were taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Undone {
    /// The turn that had made them.
    pub undone: String,
    /// The files, relative to the workspace.
    pub files: Vec<String>,
}

impl Frozen {
    /// Takes over what changed.
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
    /// The turn's event in it, if it holds one.
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
    /// The entry with these members; none where it is of a type that this version does not know.
    ///
    /// # Errors
    /// A member of a known type is missing or malformed.
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
            "compacted" => Self::Compacted {
                base: body["base"].clone(),
            },
            kind if Event::TYPES.contains(&kind) => Self::Turn(Event::deserialize(body)?),
            _ => return Ok(None),
        };
        Ok(Some(entry))
    }

    /// The version of the line.
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

/// RFC 3339 with milliseconds, in UTC.
pub fn time_text(time: Duration) -> String {
    let millis = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    let stamp = jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::MAX);
    format!("{stamp:.3}")
}

/// The time that a text is, unless it lies before 1970.
pub(super) fn time_of(text: &str) -> Option<Duration> {
    let stamp: jiff::Timestamp = text.parse().ok()?;
    u64::try_from(stamp.as_millisecond())
        .ok()
        .map(Duration::from_millis)
}
