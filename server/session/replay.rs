//! From records back to turns, the transcript, and what else a conversation remembers.

use std::{
    collections::{BTreeSet, HashMap},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::record::{Edit, Entry, Frozen, Record, TurnOptions};
use crate::turn::{
    event::{CallKey, Event, Outcome, PromptId, PromptSubject, ResultReason, Word},
    response::Feature,
    resume::close,
    told,
};

mod transcript;

pub use transcript::transcript;

/// One turn, as the log has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its id.
    pub id: String,
    /// When it was started, since the Unix epoch.
    pub started: Duration,
    /// How it was started.
    pub options: TurnOptions,
    /// What the user asked for.
    pub prompt: String,
    /// All its events in order; the first is its start, even where that line could not be read.
    pub events: Vec<Event>,
    /// The files that its calls changed, in order.
    pub edits: Vec<Edit>,
    /// Of these, the files that were put back.
    pub undone: Vec<String>,
    /// How far it came.
    pub standing: Standing,
}

/// How far a turn came, as its events say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// How it ended, unless it was resumed since. Without one, it runs or was interrupted.
    pub outcome: Option<Outcome>,
    /// The prompts that nobody has settled, in the order in which they were opened.
    pub open: Vec<OpenPrompt>,
}

/// A prompt that nobody has settled.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenPrompt {
    /// Its id.
    pub prompt: PromptId,
    /// The call it belongs to.
    pub call: CallKey,
    /// The id of the question's pair, where it asks a tool's question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub inquiry: Option<String>,
}

impl Turn {
    /// Whether it can be resumed: it did not end, or ended as interrupted.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        !self.standing.is_over()
    }

    fn new(id: &str, started: Duration) -> Self {
        Self {
            id: id.to_owned(),
            started,
            options: TurnOptions::default(),
            prompt: String::new(),
            events: vec![Event::TurnStart],
            edits: Vec::new(),
            undone: Vec::new(),
            standing: Standing::default(),
        }
    }

    fn take(&mut self, entry: &Entry) {
        match entry {
            Entry::TurnStart(options) => {
                self.options = options.clone();
                self.standing.take(&Event::TurnStart);
            }
            Entry::Edit(edit) => {
                // A file that is changed after it was put back is changed.
                self.undone.retain(|path| *path != edit.path);
                self.edits.push(edit.clone());
            }
            Entry::Turn(event) => {
                if let (Event::UserMessage { text, .. }, true) = (event, self.prompt.is_empty()) {
                    self.prompt.clone_from(text);
                }
                self.standing.take(event);
                self.events.push(event.clone());
            }
            _ => {}
        }
    }
}

impl Standing {
    /// Takes the next event of the turn in.
    pub fn take(&mut self, event: &Event) {
        match event {
            // What may still come after the end without going on with the turn.
            Event::LateAnswer { .. } | Event::Notice { .. } | Event::Learned { .. } => return,
            Event::TurnStart => {
                // Until its message is on record there is nothing to go on with: after a crash in between, the user
                // sends it again.
                *self = Self {
                    outcome: Some(Outcome::Cancelled),
                    open: Vec::new(),
                };
                return;
            }
            Event::TurnEnd { outcome, .. } => {
                self.outcome = Some(*outcome);
                if self.is_over() {
                    self.open.clear();
                }
                return;
            }
            Event::PromptOpened {
                prompt,
                call,
                subject,
            } => {
                // A resume opens the same prompt again.
                self.open.retain(|open| open.prompt != *prompt);
                let inquiry = match subject {
                    PromptSubject::Question { inquiry } => Some(inquiry.clone()),
                    _ => None,
                };
                self.open.push(OpenPrompt {
                    prompt: prompt.clone(),
                    call: *call,
                    inquiry,
                });
            }
            Event::PromptClosed { prompt, .. } => self.open.retain(|open| open.prompt != *prompt),
            Event::InquiryResponse { id, .. } => {
                self.open.retain(|open| open.inquiry.as_ref() != Some(id));
            }
            Event::ToolResult {
                call, held: false, ..
            } => {
                self.open.retain(|open| open.call != *call);
            }
            _ => {}
        }
        self.outcome = None;
    }

    fn is_over(&self) -> bool {
        self.outcome
            .is_some_and(|outcome| outcome != Outcome::Interrupted)
    }
}

/// The turns of a conversation in order of their start.
#[must_use]
pub fn turns(records: &[Record]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    let mut places: HashMap<String, usize> = HashMap::new();
    for record in records {
        if let Entry::Undone(undone) = &record.entry
            && let Some(place) = places.get(&undone.undone)
        {
            turns[*place].undone.extend(undone.files.iter().cloned());
        }
        let Some(id) = &record.turn else { continue };
        let place = *places.entry(id.clone()).or_insert(turns.len());
        if place == turns.len() {
            turns.push(Turn::new(id, record.time));
        }
        turns[place].take(&record.entry);
    }
    turns
}

/// What the conversation's requests begin with, as last changed; none before its first request.
#[must_use]
pub fn frozen(records: &[Record]) -> Option<Frozen> {
    let mut frozen: Option<Frozen> = None;
    for record in records {
        match (&record.entry, &mut frozen) {
            (Entry::Conversation(first), _) => frozen = Some(first.clone()),
            (Entry::Changed(changed), Some(frozen)) => {
                let changed = changed.clone();
                frozen.system = changed.system.unwrap_or_else(|| frozen.system.clone());
                frozen.tools = changed.tools.unwrap_or_else(|| frozen.tools.clone());
                frozen.model = changed.model.unwrap_or_else(|| frozen.model.clone());
                frozen.provider = changed.provider.unwrap_or_else(|| frozen.provider.clone());
            }
            _ => {}
        }
    }
    frozen
}

/// What models refused in this conversation, by model.
#[must_use]
pub fn learned(records: &[Record]) -> BTreeSet<(String, Word<Feature>)> {
    let events = records.iter().filter_map(|record| record.entry.event());
    events
        .filter_map(|event| match event {
            Event::Learned { model, refuses } => Some((model.clone(), refuses.clone())),
            _ => None,
        })
        .collect()
}

/// What closes an interrupted turn that nobody will resume: an outcome for every question, a result for every
/// call, and the turn's end. Nothing for a turn that is over.
#[must_use]
pub fn closing(turn: &Turn) -> Vec<Event> {
    if !turn.is_interrupted() {
        return Vec::new();
    }
    close(&turn.events)
}

/// The calls of a turn that have no result.
#[derive(Debug, Default)]
struct OpenCalls {
    calls: Vec<OpenCall>,
    /// Those of a response whose end has not come; without it they count as not there.
    response: Vec<OpenCall>,
}

#[derive(Debug)]
struct OpenCall {
    key: CallKey,
    tool: String,
    /// It runs, or ran when the process ended, and has neither result nor question.
    runs: bool,
}

impl OpenCalls {
    fn take(&mut self, event: &Event) {
        match event {
            Event::RequestSent { .. } => self.response.clear(),
            Event::ToolCall { call, name, .. } => {
                self.response.push(OpenCall {
                    key: *call,
                    tool: name.clone(),
                    runs: false,
                });
            }
            Event::ResponseEnd { .. } => self.calls.append(&mut self.response),
            Event::CallStarted { call, .. } => self.runs(*call, true),
            Event::InquiryRequest {
                call, live: false, ..
            } => self.runs(*call, false),
            Event::ToolResult {
                call, held: true, ..
            } => self.runs(*call, false),
            Event::ToolResult { call, .. } => self.calls.retain(|open| open.key != *call),
            _ => {}
        }
    }

    fn runs(&mut self, call: CallKey, runs: bool) {
        for open in self.calls.iter_mut().filter(|open| open.key == call) {
            open.runs = runs;
        }
    }

    /// A result for each of them, which then has one.
    fn results(&mut self) -> Vec<Event> {
        let result = |open: OpenCall| {
            let (reason, content) = if open.runs {
                let text = told::unknown_effects(&open.tool);
                (ResultReason::Interrupted, text)
            } else {
                (ResultReason::Cancelled, told::CANCELLED.to_owned())
            };
            Event::ToolResult {
                call: open.key,
                end: reason.into(),
                content,
                held: false,
                details: None,
            }
        };
        std::mem::take(&mut self.calls)
            .into_iter()
            .map(result)
            .collect()
    }
}

#[cfg(test)]
mod tests;
