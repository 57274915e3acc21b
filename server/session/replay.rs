//! Rebuilds turns, and the state of a conversation between them, from records.

use std::{collections::HashMap, time::Duration};

use aside_turn::{
    history::{Standing, TurnHistory},
    record::Event,
    resume::close,
};

use super::record::{Edit, Entry, Frozen, Record, TurnOptions};

pub mod conversation;
mod mended;
pub mod outline;
pub mod taken_back;

/// A turn, from the log.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The id of the turn.
    pub id: String,
    /// Start time, since the Unix epoch.
    pub started: Duration,
    /// Options of the turn.
    pub options: TurnOptions,
    /// The user's message.
    pub prompt: String,
    /// All events in order. The first one is the start, even if its line could not be read.
    pub events: Vec<Event>,
    /// Changes of files by its calls, in order.
    pub edits: Vec<Edit>,
    /// Paths of the changed files that were restored.
    pub undone: Vec<String>,
    /// Outcome and open prompts.
    pub standing: Standing,
}

impl Turn {
    /// Whether the turn can be resumed: it did not end, or ended as interrupted.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        !self.standing.is_over()
    }

    /// Whether its end is on record. A turn that was cut off before its message has none, and cannot be resumed either.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let mut events = self.events.iter();
        !self.is_interrupted() && events.any(|event| matches!(event, Event::TurnEnd { .. }))
    }

    /// State of its calls, questions and prompts.
    #[must_use]
    pub fn history(&self) -> TurnHistory {
        TurnHistory::of(&self.events)
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

    fn take(&mut self, entry: Entry) {
        match entry {
            Entry::TurnStart { options } => {
                self.options = options;
                self.standing.apply(&Event::TurnStart);
            }
            Entry::Edit(edit) => {
                // A file that was changed after it was restored counts as changed.
                self.undone.retain(|path| *path != edit.path);
                self.edits.push(edit);
            }
            Entry::Turn(event) => {
                if let (Event::UserMessage { text, .. }, true) = (&event, self.prompt.is_empty()) {
                    self.prompt.clone_from(text);
                }
                self.standing.apply(&event);
                self.events.push(event);
            }
            _ => {}
        }
    }
}

/// The turns of a conversation, in order of their start.
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
        turns[place].take(record.entry.clone());
    }
    turns
}

/// The events that close an interrupted turn: an outcome for every question, a result for every call, and the turn's
/// end. Empty for a turn that has ended.
#[must_use]
pub fn closing(turn: &Turn) -> Vec<Event> {
    if turn.has_ended() {
        return Vec::new();
    }
    close(turn.history())
}

#[cfg(test)]
mod tests;
