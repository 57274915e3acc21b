//! `aside conversation undo`.

use std::path::Path;

use aside_base::visible::one_line;

use super::reading::{Numbered, all, find_turn, unreadable};
use crate::{
    engine::{
        clock::Clock,
        undo::{TurnUndo, UndoFailure, UndoTarget},
    },
    front::headless::{failure::CommandFailure, streams::Streams},
    session::{
        conversation::Conversation,
        lines::LogLines,
        replay,
        store::StoreError,
        undo::{FileRestore, UndoPlan},
    },
};

/// Takes back what a turn changed in files, the last turn where none is named, and puts it on record, for the
/// model too. Nothing is written where any of the files was changed since.
pub(super) fn run(
    conversation: &Conversation,
    turn: Option<&str>,
    root: &Path,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    // While it is open here, no turn changes files.
    let mut log = conversation
        .log(Clock::start().now())
        .map_err(StoreError::from)?;
    if let Some(repaired) = log.repaired() {
        streams.note(repaired);
    }
    let (lines, which) = which(conversation, turn)?;
    for fault in &lines.faults {
        streams.note(&format!(
            "{fault}; if it was a change of a file, that is not taken back."
        ));
    }
    let undoing = TurnUndo {
        which: &which,
        conversation,
        root,
        editor: None,
    };
    let failed = |error: UndoFailure| CommandFailure::internal(error.sentence(&which));
    let plan = undoing.plan(&lines, None);
    let plan = plan.map_err(|error| failed(error.into()))?;
    undoing.carry_out(&plan, &mut log).map_err(failed)?;
    streams.say(&account(&which, &plan))
}

/// The lines that it takes to undo the turn, and the turn. The last one is found from the end of the log.
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
            "there is nothing to undo: conversation {} has no turn yet",
            conversation.id()
        ))),
    }
}

/// What was done, for the user.
fn account(which: &UndoTarget, plan: &UndoPlan) -> String {
    let name = &which.name;
    let mut text = if plan.changes.is_empty() {
        format!("There is nothing to undo: no file is other than before {name}.\n")
    } else {
        format!("Undone what {name} changed:\n")
    };
    for change in &plan.changes {
        let what = match change {
            FileRestore { to: None, .. } => "removed",
            FileRestore { now: None, .. } => "made again",
            _ => "put back",
        };
        text += &format!("  {}  {what}\n", one_line(&change.path));
    }
    if plan.untracked {
        text += &format!("Commands ran in {name}, too: what they changed is as they left it.\n");
    }
    text
}
