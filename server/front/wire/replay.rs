//! Updates of a turn from its log: those that a client was told while the turn ran, with pieces of text joined, without
//! what a tool printed on the way and without retries.

use aside_session::replay::Turn;
use aside_turn::{
    effect::updates::{UpdateContext, updates as derived},
    history::TurnHistory,
};

use super::{Update, changes::KeptTexts};

/// Returns the updates of a turn. `hidden` says of a tool whether its calls are not shown. Blocks on the disk.
#[must_use]
pub fn updates(turn: &Turn, kept: &KeptTexts, hidden: impl Fn(&str) -> bool) -> Vec<Update> {
    let of = RecordedTurn { hidden };
    let mut edits = turn.edits.clone();
    let mut history = TurnHistory::default();
    let mut updates = Vec::new();
    for event in &turn.events {
        history.apply(event);
        if let Some(key) = event.success()
            && let Some(call) = history.call(key)
        {
            let changes = edits.extract_if(.., |edit| edit.call == key.0);
            let changes: Vec<_> = changes.map(|edit| kept.change(&edit)).collect();
            let call_id = call.id().to_owned();
            updates.extend((!changes.is_empty()).then_some(Update::Edit { call_id, changes }));
        }
        updates.extend(derived(event, &history, &of));
    }
    updates
}

/// A turn that is read from its log.
struct RecordedTurn<Hidden> {
    hidden: Hidden,
}

impl<Hidden: Fn(&str) -> bool> UpdateContext for RecordedTurn<Hidden> {
    fn hides(&self, tool: &str) -> bool {
        (self.hidden)(tool)
    }

    fn context_window(&self) -> Option<u64> {
        None
    }
}
