//! `aside conversation undo`: undoes the file changes of a turn.

use std::path::Path;

use aside_base::visible::one_line;
use aside_session::{
    conversation::Conversation,
    lines::LogLines,
    replay,
    store::StoreError,
    undo::{FileRestore, UndoPlan},
};

use super::reading::{Numbered, all, find_turn, unreadable};
use crate::{
    engine::{
        clock::Clock,
        undo::{TurnUndo, UndoFailure, UndoTarget},
    },
    front::headless::{failure::CommandFailure, streams::Streams},
};

/// Undoes the file changes of a turn, by default of the last one, and records that for the model too. Writes nothing if
/// the same lines of any of the files were changed since.
pub(super) fn run(
    conversation: &Conversation,
    turn: Option<&str>,
    root: &Path,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    // The open log keeps turns from changing files meanwhile.
    let mut log = conversation
        .log(Clock::start().now())
        .map_err(StoreError::from)?;
    if let Some(repaired) = log.repaired() {
        streams.note(repaired);
    }
    let (lines, which) = which(conversation, turn)?;
    for fault in &lines.faults {
        streams.note(&format!(
            "{fault}; if that line is a file change, it is not undone."
        ));
    }
    let undoing = TurnUndo {
        which: &which,
        conversation,
        root,
        editor: None,
    };
    let failed = |error: UndoFailure| CommandFailure::internal(error.message(&which));
    let plan = undoing.plan(&lines, None);
    let plan = plan.map_err(|error| failed(error.into()))?;
    undoing.carry_out(&plan, &mut log).map_err(failed)?;
    streams.say(&account(&which, &plan))
}

/// The lines needed to undo the turn, and the turn. The last turn is read from the end of the log.
fn which(
    conversation: &Conversation,
    turn: Option<&str>,
) -> Result<(LogLines, UndoTarget), CommandFailure> {
    if let Some(wanted) = turn {
        let lines = all(conversation)?;
        let Numbered { number, turn } = find_turn(conversation, &lines, wanted)?;
        let name = format!("turn {number}");
        return Ok((lines, UndoTarget { id: turn.id, name }));
    }
    let lines = conversation
        .read_last_turn()
        .map_err(unreadable(conversation))?;
    match replay::turns(&lines.records).pop() {
        Some(turn) => Ok((
            lines,
            UndoTarget {
                id: turn.id,
                name: "the last turn".to_owned(),
            },
        )),
        None => Err(CommandFailure::usage(format!(
            "nothing to undo: conversation {} has no turn yet",
            conversation.id()
        ))),
    }
}

/// Report for the user.
fn account(which: &UndoTarget, plan: &UndoPlan) -> String {
    let name = &which.name;
    let mut text = if plan.changes.is_empty() {
        format!("Nothing to undo: {name} changed no file that still differs.\n")
    } else {
        format!("Undid the changes of {name}:\n")
    };
    for change in &plan.changes {
        let what = match change {
            FileRestore { to: None, .. } => "removed",
            FileRestore { now: None, .. } => "recreated",
            _ => "restored",
        };
        text += &format!("  {}  {what}\n", one_line(&change.path));
    }
    if plan.untracked {
        text += &format!("Changes by commands of {name} are not undone.\n");
    }
    text
}
