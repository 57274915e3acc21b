//! Takes back what a turn changed in files, and puts it on record, for the model too.

use std::{io, path::Path};

use super::clock::Clock;
use crate::{
    session::{
        conversation::Conversation,
        lines::Lines,
        log::Log,
        record::{Entry, Undone},
        undo::{self, Plan, UndoError},
    },
    tool::{Registry, visible::one_line},
    turn::Event,
};

/// Characters of a path in a sentence.
const PATH: usize = 1000;

/// A turn to take back.
#[derive(Clone, Debug)]
pub struct Which {
    /// Its id.
    pub id: String,
    /// As the model and the user are told of it: `turn 3`, `the last turn`.
    pub name: String,
}

/// Why a turn was not taken back, or not wholly.
#[derive(Debug, thiserror::Error)]
pub enum Failed {
    /// Nothing was changed.
    #[error(transparent)]
    Undo(#[from] UndoError),
    /// Only the record is missing.
    #[error("the files were put back, but the model cannot be told of it: {0}")]
    Record(io::Error),
}

/// What is to be done; changes nothing. `only` names the files, all where it is none.
///
/// # Errors
/// [`UndoError`].
pub fn plan(
    lines: &Lines,
    which: &Which,
    root: &Path,
    only: Option<&[String]>,
) -> Result<Plan, UndoError> {
    let registry = Registry::builtin();
    // Nobody knows what a tool did that is not there any more.
    let runs_commands = |tool: &str| {
        registry
            .get(tool)
            .is_none_or(|tool| tool.about().runs_commands)
    };
    undo::plan(&lines.records, &which.id, root, only, runs_commands)
}

/// Does it: all files or none, and then the record. The log is that of the conversation.
///
/// # Errors
/// [`Failed`].
pub fn carry_out(
    plan: &Plan,
    which: &Which,
    conversation: &Conversation,
    root: &Path,
    log: &mut Log,
) -> Result<(), Failed> {
    undo::apply(plan, root, &conversation.blobs())?;
    if plan.changes.is_empty() {
        return Ok(());
    }
    record(log, which, plan).map_err(Failed::Record)
}

/// Paths in a sentence.
pub fn listed<'a>(files: impl Iterator<Item = &'a str>) -> String {
    let shown: Vec<String> = files.map(|path| one_line(path, PATH)).collect();
    shown.join(", ")
}

/// Neither belongs to a turn: a turn that has ended stays so.
fn record(log: &mut Log, which: &Which, plan: &Plan) -> io::Result<()> {
    let files: Vec<String> = plan
        .changes
        .iter()
        .map(|change| change.path.clone())
        .collect();
    let text = format!(
        "The user took back the changes that {} made to: {}. These files are as they were before it.",
        which.name,
        listed(files.iter().map(String::as_str))
    );
    let undone = Entry::Undone(Undone {
        undone: which.id.clone(),
        files,
    });
    for entry in [undone, Event::Directive { text }.into()] {
        log.append(Clock::start().now(), None, &entry)?;
    }
    log.sync()()
}
