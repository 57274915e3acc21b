//! Turns that are about to begin: their files are still being read, but they can be cancelled already.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
};

use aside_base::lock;
use tokio_util::sync::CancellationToken;

/// The turns that are about to begin. Clones share one list.
#[derive(Clone, Default)]
pub(super) struct PendingTurns(Arc<Mutex<PendingList>>);

#[derive(Default)]
struct PendingList {
    next: u64,
    turns: Vec<ExpectedTurn>,
}

/// A turn that is about to begin.
struct ExpectedTurn {
    number: u64,
    id: ExpectedId,
    conversation: Option<String>,
    /// Whether the turn is cancelled, whatever its id.
    is_cancelled: bool,
    /// Ids by which it may have been cancelled.
    cancelled: HashSet<String>,
    /// Cancelled with the turn, so that it waits for no server.
    waits: CancellationToken,
}

/// Knowledge about the id of a turn that is about to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ExpectedId {
    /// The client chose it.
    Given(String),
    /// The id is on record, because the turn is resumed.
    OnRecord,
    /// The id is chosen when the turn begins.
    Unknown,
}

/// Registration of a turn that is about to begin, until this is dropped.
pub(super) struct PendingTurn {
    all: PendingTurns,
    number: u64,
}

impl PendingTurns {
    /// Registers a turn in this conversation, or a new one. `waits` is cancelled if the turn is.
    pub(super) fn add(
        &self,
        id: ExpectedId,
        conversation: Option<String>,
        waits: CancellationToken,
    ) -> PendingTurn {
        let mut list = lock(&self.0);
        list.next += 1;
        let number = list.next;
        list.turns.push(ExpectedTurn {
            number,
            id,
            conversation,
            is_cancelled: false,
            cancelled: HashSet::new(),
            waits,
        });
        PendingTurn {
            all: self.clone(),
            number,
        }
    }

    /// Cancels the turn with this id as soon as it begins. Returns false if no pending turn can have this id.
    pub(super) fn cancel(&self, turn: &str) -> bool {
        let mut list = lock(&self.0);
        let mut may_be = false;
        for expected in list.turns.iter_mut().filter(|it| it.may_be(turn)) {
            expected.cancelled.insert(turn.to_owned());
            expected.waits.cancel();
            may_be = true;
        }
        may_be
    }

    /// Cancels all pending turns, or those of a conversation, as soon as they begin.
    pub(super) fn cancel_all(&self, conversation: Option<&str>) {
        for expected in &mut lock(&self.0).turns {
            if conversation.is_none() || expected.conversation.as_deref() == conversation {
                expected.is_cancelled = true;
                expected.waits.cancel();
            }
        }
    }

    /// The lane of a pending turn that may have this id.
    pub(super) fn lane(&self, turn: &str) -> Option<String> {
        let list = lock(&self.0);
        let found = list.turns.iter().find(|it| it.may_be(turn))?;
        Some(found.conversation.clone().unwrap_or_default())
    }
}

impl PendingTurn {
    /// Whether the turn with this id was cancelled before it began.
    pub(super) fn is_cancelled(&self, turn: &str) -> bool {
        let list = lock(&self.all.0);
        let mut own = list.turns.iter().filter(|it| it.number == self.number);
        own.any(|it| it.is_cancelled || it.cancelled.contains(turn))
    }
}

impl Drop for PendingTurn {
    fn drop(&mut self) {
        lock(&self.all.0)
            .turns
            .retain(|it| it.number != self.number);
    }
}

impl ExpectedTurn {
    fn may_be(&self, turn: &str) -> bool {
        match &self.id {
            ExpectedId::Given(id) => id == turn,
            ExpectedId::OnRecord => true,
            ExpectedId::Unknown => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_can_be_cancelled_before_it_begins() {
        let turns = PendingTurns::default();
        let tokens: [CancellationToken; 3] = Default::default();
        let add = |at: usize, id, conversation: Option<&str>| {
            turns.add(id, conversation.map(Into::into), tokens[at].clone())
        };
        let given = add(0, ExpectedId::Given("mine".into()), None);
        let unknown = add(1, ExpectedId::Unknown, Some("c1"));
        assert!(!turns.cancel("other") && turns.lane("other").is_none());
        assert!(turns.cancel("mine"));
        assert_eq!(turns.lane("mine").as_deref(), Some(""));
        assert!(given.is_cancelled("mine") && !unknown.is_cancelled("mine"));
        assert!(tokens[0].is_cancelled() && !tokens[1].is_cancelled());
        let resumed = add(2, ExpectedId::OnRecord, Some("c2"));
        assert!(turns.cancel("other"));
        assert_eq!(turns.lane("other").as_deref(), Some("c2"));
        assert!(resumed.is_cancelled("other") && !resumed.is_cancelled("another"));
        turns.cancel_all(Some("c1"));
        assert!(unknown.is_cancelled("any") && !resumed.is_cancelled("any"));
        turns.cancel_all(None);
        assert!(resumed.is_cancelled("any"));
        drop((given, unknown, resumed));
        assert!(!turns.cancel("mine"));
    }
}
