//! Summaries of a conversation that the user took back. They are known only at the end of a log, and the fold of its
//! conversation leaves them out from the beginning.

use std::collections::BTreeSet;

use aside_turn::record::Event;

use super::Record;

/// The summaries of a log that were taken back.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct UndoneSummaries {
    /// Summaries that stand, in order.
    standing: Vec<StandingSummary>,
    responses: u64,
    undone: BTreeSet<u64>,
    /// Entries that took a summary back on which the model had answered.
    anew: BTreeSet<u64>,
}

/// A summary that stands.
#[derive(Clone, Debug, PartialEq)]
struct StandingSummary {
    /// Number of its entry.
    seq: u64,
    /// Its number among the summaries.
    number: u32,
    /// Responses before it.
    responses: u64,
}

impl UndoneSummaries {
    /// Takes the next record of the log in.
    pub fn take(&mut self, record: &Record) {
        match record.entry.event() {
            Some(Event::Compacted { number, .. }) => self.standing.push(StandingSummary {
                seq: record.seq,
                number: *number,
                responses: self.responses,
            }),
            Some(Event::ResponseEnd { .. }) => self.responses += 1,
            Some(Event::CompactionUndone { number, .. }) => {
                let mut standing = self.standing.iter();
                let Some(at) = standing.position(|it| it.number == *number) else {
                    return;
                };
                let summary = self.standing.remove(at);
                self.undone.insert(summary.seq);
                if self.responses > summary.responses {
                    self.anew.insert(record.seq);
                }
            }
            _ => {}
        }
    }

    /// Whether none was taken back.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.undone.is_empty()
    }

    /// Whether the entry of this number is a summary that was taken back.
    pub(super) fn has(&self, seq: u64) -> bool {
        self.undone.contains(&seq)
    }

    /// Whether the entry of this number took a summary back on which the model had answered.
    pub(super) fn begins_anew(&self, seq: u64) -> bool {
        self.anew.contains(&seq)
    }
}
