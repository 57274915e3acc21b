//! Updates of a turn from its log: those that a client was told while the turn ran, with pieces of text joined, without
//! what a tool printed on the way, without retries and without diffs.

use std::collections::BTreeMap;

use aside_session::{record::Edit, replay::Turn};
use aside_turn::{
    effect::updates::{UpdateContext, updates as derived},
    history::TurnHistory,
    record::{CallKey, Event},
};

use super::Update;

/// Returns the updates of a turn. `uri` makes one of a path from the workspace's root; `hidden` says of a tool whether its
/// calls are not shown.
#[must_use]
pub fn updates(
    turn: &Turn,
    uri: impl Fn(&str) -> String,
    hidden: impl Fn(&str) -> bool,
) -> Vec<Update> {
    let of = RecordedTurn { hidden };
    let mut edits = edits(&turn.edits, &uri);
    let mut history = TurnHistory::default();
    let mut updates = Vec::new();
    let edit = |history: &TurnHistory, call, uris| {
        let call_id = history.call(call)?.id().to_owned();
        Some(Update::Edit { call_id, uris })
    };
    for event in &turn.events {
        history.apply(event);
        if let Event::ToolResult {
            call, held: false, ..
        } = event
            && let Some(uris) = edits.remove(call)
        {
            updates.extend(edit(&history, *call, uris));
        }
        updates.extend(derived(event, &history, &of).into_iter().map(Update::from));
    }
    for (call, uris) in edits {
        updates.extend(edit(&history, call, uris));
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

/// The files that each call changed, as URIs. They are on record beside the turn's own events.
fn edits(edits: &[Edit], uri: &dyn Fn(&str) -> String) -> BTreeMap<CallKey, Vec<String>> {
    let mut by_call: BTreeMap<CallKey, Vec<String>> = BTreeMap::new();
    for edit in edits {
        let uris = by_call.entry(CallKey(edit.call)).or_default();
        uris.push(uri(&edit.path));
    }
    by_call
}
