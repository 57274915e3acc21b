//! What may stand in a line of the log.

use std::time::Duration;

use aside_turn::{Event, limits::Limits, question::AnswerType, record::Word, rules::Mode};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The newest version of a line that this program reads. A newer line is kept as it is where it is not understood.
///
/// A line is written with the lowest version that reads it whole: 2 for a question with a type of answer that programs
/// of version 1 do not know, else 1.
pub const VERSION: u64 = 2;

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

/// What may stand in a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Entry {
    /// A turn begins, with what a resume needs. It is read back as this, even where it was written as
    /// [`Event::TurnStart`], which has no room for options.
    TurnStart(TurnOptions),
    /// Any other event of a turn.
    Turn(Event),
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
    Compacted(Value),
    /// Of a type or version that this program does not know.
    Unknown {
        /// The version of its line, with which it is written again.
        version: u64,
        /// `type` and all other fields, as they are.
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
    #[serde(skip_serializing_if = "Option::is_none")]
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
            Self::TurnStart(_) => Some(&START),
            Self::Turn(event) => Some(event),
            _ => None,
        }
    }
}

impl Entry {
    /// The lowest version of a program that reads the entry whole.
    pub(super) fn version(&self) -> u64 {
        match self {
            Self::Unknown { version, .. } => *version,
            Self::Turn(Event::InquiryRequest { question, .. }) => match question.answer_type {
                AnswerType::Number { .. } | AnswerType::MultiSelect { .. } => 2,
                _ => 1,
            },
            _ => 1,
        }
    }
}

impl From<Event> for Entry {
    fn from(event: Event) -> Self {
        match event {
            Event::TurnStart => Self::TurnStart(TurnOptions::default()),
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
