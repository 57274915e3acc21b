//! `aside conversation undo`.

use std::path::Path;

use super::{Numbered, all, find_turn, unreadable};
use crate::{
    engine::clock::Clock,
    front::headless::{failure::Failure, streams::Streams, text::one_line},
    session::{
        conversation::Conversation,
        lines::Lines,
        log::Log,
        record::{Entry, Undone},
        replay,
        store::StoreError,
        undo::{self, Change, Plan, UndoError},
    },
    tool::Registry,
    turn::Event,
};

/// Takes back what a turn changed in files, the last turn where none is named, and puts it on record, for the
/// model too. Nothing is written where any of the files was changed since.
pub(super) fn run(
    conversation: &Conversation,
    turn: Option<&str>,
    root: &Path,
    streams: &mut Streams<'_>,
) -> Result<(), Failure> {
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
    let plan = plan(&lines, &which, root)?;
    undo::apply(&plan, root, &conversation.blobs()).map_err(|error| failed(&which, &error))?;
    if !plan.changes.is_empty() {
        record(&mut log, &which, &plan).map_err(|error| {
            Failure::internal(format!(
                "the files were put back, but the model cannot be told of it: {error}"
            ))
        })?;
    }
    streams.say(&account(&which, &plan))
}

/// The turn to take back.
struct Which {
    id: String,
    /// As the model and the user are told of it.
    name: String,
}

/// The lines that it takes to undo the turn, and the turn. The last one is found from the end of the log.
fn which(conversation: &Conversation, turn: Option<&str>) -> Result<(Lines, Which), Failure> {
    if let Some(wanted) = turn {
        let lines = all(conversation)?;
        let Numbered { number, turn } = find_turn(conversation, &lines, wanted)?;
        let name = format!("turn {number}");
        return Ok((lines, Which { id: turn.id, name }));
    }
    let lines = conversation
        .read_last_turn()
        .map_err(unreadable(conversation))?;
    match replay::turns(&lines.records).pop() {
        Some(turn) => Ok((
            lines,
            Which {
                id: turn.id,
                name: "the last turn".to_owned(),
            },
        )),
        None => Err(Failure::usage(format!(
            "there is nothing to undo: conversation {} has no turn yet",
            conversation.id()
        ))),
    }
}

fn plan(lines: &Lines, which: &Which, root: &Path) -> Result<Plan, Failure> {
    let registry = Registry::builtin();
    // Nobody knows what a tool did that is not there any more.
    let runs_commands = |tool: &str| {
        registry
            .get(tool)
            .is_none_or(|tool| tool.about().runs_commands)
    };
    undo::plan(&lines.records, &which.id, root, None, runs_commands)
        .map_err(|error| failed(which, &error))
}

fn failed(which: &Which, error: &UndoError) -> Failure {
    let name = &which.name;
    Failure::internal(match error {
        UndoError::Conflicts(files) => format!(
            "{name} was not undone, as these files were changed since: {}; \
             put them back yourself, or undo later turns first",
            listed(files.iter().map(String::as_str))
        ),
        other => format!("{name} was not undone: {other}"),
    })
}

/// Neither belongs to a turn: a turn that has ended stays so.
fn record(log: &mut Log, which: &Which, plan: &Plan) -> std::io::Result<()> {
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

/// What was done, for the user.
fn account(which: &Which, plan: &Plan) -> String {
    let name = &which.name;
    let mut text = if plan.changes.is_empty() {
        format!("There is nothing to undo: no file is other than before {name}.\n")
    } else {
        format!("Undone what {name} changed:\n")
    };
    for change in &plan.changes {
        let what = match change {
            Change { to: None, .. } => "removed",
            Change { now: None, .. } => "made again",
            _ => "put back",
        };
        text += &format!("  {}  {what}\n", one_line(&change.path));
    }
    if plan.untracked {
        text += &format!("Commands ran in {name}, too: what they changed is as they left it.\n");
    }
    text
}

fn listed<'a>(files: impl Iterator<Item = &'a str>) -> String {
    files.map(one_line).collect::<Vec<_>>().join(", ")
}
