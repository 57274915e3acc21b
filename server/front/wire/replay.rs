//! A turn from its log: what went along with its message, and the updates that a client was told while the turn ran, with
//! pieces of text joined, without what a tool printed on the way and without retries.

use std::path::Path;

use aside_session::replay::Turn;
use aside_turn::{
    attachment::{Attachment, Content},
    effect::updates::{UpdateContext, updates as derived},
    history::TurnHistory,
    record::{Event, TurnError},
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

/// The names of what went along with a turn's message: paths from the folder that it worked in, and pasted texts with
/// their lines.
#[must_use]
pub fn attached(turn: &Turn, root: &Path) -> Vec<String> {
    let message = turn.events.iter().find_map(|event| match event {
        Event::UserMessage { attachments, .. } => Some(attachments),
        _ => None,
    });
    let names = message.into_iter().flatten();
    names.map(|attachment| name(attachment, root)).collect()
}

/// The failure with which a turn ended.
#[must_use]
pub fn failure(turn: &Turn) -> Option<TurnError> {
    turn.events.iter().rev().find_map(|event| match event {
        Event::TurnEnd { error, .. } => error.clone(),
        _ => None,
    })
}

fn name(attachment: &Attachment, root: &Path) -> String {
    let name = &attachment.name;
    match (name.strip_prefix("untitled:"), &attachment.content) {
        (Some(name), Content::Text(text)) => match text.lines().count() {
            1 => format!("{name}, 1 line"),
            lines => format!("{name}, {lines} lines"),
        },
        _ => match Path::new(name).strip_prefix(root) {
            Ok(path) => path.display().to_string(),
            Err(_) => name.clone(),
        },
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attachment_has_the_name_by_which_people_know_it() {
        for (recorded, text, expected) in [
            ("/app/src/main.rs", "", "src/main.rs"),
            ("/app/a.rs:2-3", "two\nthree\n", "a.rs:2-3"),
            ("/other/a.rs", "", "/other/a.rs"),
            ("untitled:diff", "+ one\n- two\n", "diff, 2 lines"),
            ("untitled:quickfix", "a.rs:1: wrong", "quickfix, 1 line"),
            ("stdin", "", "stdin"),
        ] {
            let attachment = Attachment::text(recorded, text);
            assert_eq!(name(&attachment, Path::new("/app")), expected);
        }
    }
}
