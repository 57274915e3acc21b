//! State of a conversation between its turns, folded in one pass over its records.

use std::{
    collections::{BTreeSet, HashSet},
    time::Duration,
};

use aside_turn::{
    record::{DirectiveKind, Event, FaultKind, Refused},
    transcript::Transcript,
};

use super::{Entry, Frozen, Record, Turn, mended::MendedEvents, taken_back::UndoneSummaries};

/// Fold of a conversation's records. Only the last turn is kept with its events.
#[derive(Default)]
pub struct ConversationFold {
    events: MendedEvents,
    transcript: Transcript,
    frozen: Option<Frozen>,
    learned: BTreeSet<(String, Refused)>,
    reported: HashSet<(u64, FaultKind)>,
    turns: HashSet<String>,
    asked_at: Option<Duration>,
    last: Option<Turn>,
}

/// State of a conversation after its last record.
#[derive(Debug)]
pub struct FoldedConversation {
    /// The transcript for providers. Gaps of a damaged log are mended so that the next request is valid: each call of a
    /// continued turn has a result and a unique id, results precede the model's response to them, and the user speaks
    /// first. An unfinished last turn is left as it is, for a resume.
    pub transcript: Transcript,
    /// The current frozen prefix; `None` before the first request.
    pub frozen: Option<Frozen>,
    /// Features that models refused, by model.
    pub learned: BTreeSet<(String, Refused)>,
    /// Faults of the log that the model was told of, by line.
    pub reported: HashSet<(u64, FaultKind)>,
    /// Ids of all turns.
    pub turns: HashSet<String>,
    /// When a request to a model was under way last.
    pub asked_at: Option<Duration>,
    /// The turn that was started last.
    pub last: Option<Turn>,
}

impl ConversationFold {
    /// Applies the next record. Of a log that has summaries taken back, these are in `undone`.
    pub fn take(&mut self, record: Record, undone: &UndoneSummaries) {
        let Record {
            seq,
            turn,
            entry,
            time,
        } = record;
        if undone.begins_anew(seq) {
            // Opaque data of responses since then is bound to the summary.
            self.transcript.change();
        }
        if entry.event().is_some_and(Event::is_of_request) {
            self.asked_at = Some(time);
        }
        let is_undone = undone.has(seq);
        let mended = entry.event().map(|event| {
            self.note(event);
            self.events.take(turn.as_deref(), event)
        });
        let mended = mended.unwrap_or_default();
        for event in &mended {
            match event {
                Event::Compacted { .. } if is_undone => self.transcript.push_undone(event),
                event => self.transcript.push(event),
            }
        }
        match &entry {
            Entry::Conversation(first) => self.frozen = Some(first.clone()),
            Entry::Changed(changed) => {
                self.transcript.change();
                if let Some(frozen) = &mut self.frozen {
                    frozen.change(changed);
                }
            }
            Entry::Edit(edit) => {
                let ledger = self.transcript.ledger_mut();
                ledger.changed(&edit.path, edit.after.as_deref());
            }
            Entry::Undone(undone) => {
                let ledger = self.transcript.ledger_mut();
                undone.files.iter().for_each(|path| ledger.undone(path));
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
            // Events before a start belong to the turn before, and the line of a start has more than its event.
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

    /// The state after the last record.
    #[must_use]
    pub fn end(mut self) -> FoldedConversation {
        if self.events.has_renamed() {
            // Opaque data that names the old id is not sent back.
            self.transcript.change();
        }
        FoldedConversation {
            transcript: self.transcript,
            frozen: self.frozen,
            learned: self.learned,
            reported: self.reported,
            turns: self.turns,
            asked_at: self.asked_at,
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
        let records: Vec<Record> = records.into_iter().collect();
        let mut undone = UndoneSummaries::default();
        records.iter().for_each(|record| undone.take(record));
        let mut fold = Self::default();
        for record in records {
            fold.take(record, &undone);
        }
        fold
    }
}
