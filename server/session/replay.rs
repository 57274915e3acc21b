//! From records back to turns, and to what a conversation is between them.

use std::{collections::HashMap, time::Duration};

use aside_turn::{
    history::{Standing, TurnHistory},
    record::Event,
    resume::close,
};

use super::record::{Edit, Entry, Frozen, Record, TurnOptions};

pub mod conversation;
mod mended;

/// One turn, as the log has it.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The id of the turn.
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

impl Turn {
    /// Whether it can be resumed: it did not end, or ended as interrupted.
    #[must_use]
    pub fn is_interrupted(&self) -> bool {
        !self.standing.is_over()
    }

    /// What became of its calls, questions and prompts.
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
                // A file that is changed after it was put back is changed.
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
        turns[place].take(record.entry.clone());
    }
    turns
}

/// What closes an interrupted turn that nobody will resume: an outcome for every question, a result for every
/// call, and the turn's end. Nothing for a turn that is over.
#[must_use]
pub fn closing(turn: &Turn) -> Vec<Event> {
    if !turn.is_interrupted() {
        return Vec::new();
    }
    close(turn.history())
}

#[cfg(test)]
mod tests;
