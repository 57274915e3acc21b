//! What a conversation is between its turns: one pass over its records.

use std::collections::{BTreeSet, HashSet};

use aside_turn::{
    record::{DirectiveKind, Event, FaultKind, Word},
    response::Feature,
    transcript::Transcript,
};

use super::{Entry, Frozen, Record, Turn, mended::MendedEvents};

/// What the records of a conversation come to. Of its turns only the last is kept with its events.
#[derive(Default)]
pub struct ConversationFold {
    events: MendedEvents,
    transcript: Transcript,
    frozen: Option<Frozen>,
    learned: BTreeSet<(String, Word<Feature>)>,
    reported: HashSet<(u64, FaultKind)>,
    turns: HashSet<String>,
    last: Option<Turn>,
}

/// A conversation as far as its records go.
#[derive(Debug)]
pub struct FoldedConversation {
    /// All that providers were sent. Where lines are missing, what is left is put together so that a next request
    /// is valid: each call of a turn that went on has a result and an id of its own, results come before what the
    /// model said to them, and the user speaks first. An unfinished last turn is left as it is, for a resume.
    pub transcript: Transcript,
    /// What the conversation's requests begin with, as last changed; none before its first request.
    pub frozen: Option<Frozen>,
    /// What models refused, by model.
    pub learned: BTreeSet<(String, Word<Feature>)>,
    /// The faults of the log that the model was told of, by line.
    pub reported: HashSet<(u64, FaultKind)>,
    /// The ids of all its turns.
    pub turns: HashSet<String>,
    /// The turn that was started last.
    pub last: Option<Turn>,
}

impl ConversationFold {
    /// Takes in the next record of the conversation.
    pub fn take(&mut self, record: Record) {
        let Record {
            turn, entry, time, ..
        } = record;
        let mended = entry.event().map(|event| {
            self.note(event);
            self.events.take(turn.as_deref(), event)
        });
        let mended = mended.unwrap_or_default();
        mended.iter().for_each(|event| self.transcript.push(event));
        match &entry {
            Entry::Conversation(first) => self.frozen = Some(first.clone()),
            Entry::Changed(changed) => {
                self.transcript.change();
                if let Some(frozen) = &mut self.frozen {
                    frozen.change(changed);
                }
            }
            Entry::Undone(undone) => {
                if let Some(last) = self.last.as_mut().filter(|last| last.id == undone.undone) {
                    last.undone.extend(undone.files.iter().cloned());
                }
            }
            _ => {}
        }
        let Some(id) = turn else { return };
        if self.turns.insert(id.clone()) {
            self.last = Some(Turn::new(&id, time));
        }
        if let Some(last) = self.last.as_mut().filter(|last| last.id == id) {
            // What stands before a start belongs to the turn before, and a start's line says more than its event.
            let is_own = |event: &Event| !matches!(event, Event::TurnStart);
            match entry {
                Entry::Turn(_) => {
                    let from = mended.iter().rposition(|event| !is_own(event));
                    let own = mended.into_iter().skip(from.map_or(0, |at| at + 1));
                    own.for_each(|event| last.take(event.into()));
                }
                entry => last.take(entry),
            }
        }
    }

    /// The conversation, after its last record.
    #[must_use]
    pub fn end(mut self) -> FoldedConversation {
        if self.events.has_renamed() {
            // Providers get nothing back that names the other id.
            self.transcript.change();
        }
        FoldedConversation {
            transcript: self.transcript,
            frozen: self.frozen,
            learned: self.learned,
            reported: self.reported,
            turns: self.turns,
            last: self.last,
        }
    }

    fn note(&mut self, event: &Event) {
        match event {
            Event::Learned { model, refuses } => {
                self.learned.insert((model.clone(), refuses.clone()));
            }
            Event::Directive {
                kind: DirectiveKind::Lost { line, fault },
                ..
            } => self
                .reported
                .extend(fault.known().map(|fault| (*line, fault))),
            _ => {}
        }
    }
}

impl FromIterator<Record> for ConversationFold {
    fn from_iter<Records: IntoIterator<Item = Record>>(records: Records) -> Self {
        let mut fold = Self::default();
        for record in records {
            fold.take(record);
        }
        fold
    }
}
