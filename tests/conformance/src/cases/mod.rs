//! The cases, by what they are about.

/// Writes `CASES`: the name of each case, what has to hold, and what plays it where that is not the function of its name.
macro_rules! cases {
    ($($name:ident: $sentence:literal $(=> $play:expr)?;)+) => {
        pub(super) const CASES: &[$crate::cases::Case] = &[$($crate::cases::Case {
            name: stringify!($name),
            sentence: $sentence,
            play: cases!(@play $name $($play)?),
        }),+];
    };
    (@play $name:ident) => { $name };
    (@play $name:ident $play:expr) => { $play };
}
pub mod agent;
mod answers;
mod consent;
mod every;
mod fallback;
mod flood;
mod handshake;
mod permission;
mod refusals;
mod turns;
mod typed;
mod unfit;
mod vanish;

use serde_json::{Value, json};

pub use self::typed::needs_asker;

use crate::{
    Failure, Step, check,
    client::{Client, Turn},
    same,
    stage::Stage,
    wire::{self, Outcome, ReadResult, ReadTurn, TurnCompleted},
};

/// One case: what is played, and what it needs.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// The name by which `--only` picks it.
    pub name: &'static str,
    /// What has to hold: one sentence.
    pub sentence: &'static str,
    /// Plays the case against a server.
    pub play: fn(&Stage) -> Step,
}

/// All cases, in the order of the report.
pub fn all() -> Vec<Case> {
    [
        handshake::CASES,
        answers::CASES,
        typed::CASES,
        unfit::CASES,
        refusals::CASES,
        turns::CASES,
        permission::CASES,
        consent::CASES,
        vanish::CASES,
        flood::CASES,
        fallback::CASES,
        every::CASES,
    ]
    .concat()
}

/// Cases as a table of README.md.
pub fn table(cases: &[Case]) -> String {
    let rows = cases
        .iter()
        .map(|case| format!("| `{}` | {} |\n", case.name, case.sentence));
    std::iter::once("| case | what has to hold |\n|---|---|\n".to_owned())
        .chain(rows)
        .collect()
}

/// Waits for the end of a turn, which has to be `completed`, and the model has to have said this last.
fn completes(client: &mut Client, turn: &Turn, says: &str) -> Step<TurnCompleted> {
    let completed = client.completed(turn)?;
    check(
        completed.outcome == Outcome::Completed && completed.answer.as_deref() == Some(says),
        format!(
            "the turn ended {:?} with the answer {:?}, where {says:?} was due",
            completed.outcome, completed.answer
        ),
    )?;
    Ok(completed)
}

/// Waits for the end of a turn, which has to have this outcome.
fn ends(client: &mut Client, turn: &Turn, outcome: Outcome) -> Step<TurnCompleted> {
    let completed = client.completed(turn)?;
    same("the outcome", &completed.outcome, &outcome)?;
    Ok(completed)
}

/// Cancels a turn.
fn cancel(client: &mut Client, turn: &Turn) -> Step {
    client
        .call("aside/turn/cancel", json!({"turnId": turn.turn}))
        .map(drop)
}

/// The turns of a conversation, as they are on record.
fn turns_of(client: &mut Client, conversation: &str) -> Step<Vec<ReadTurn>> {
    let result: ReadResult = client.get(
        "aside/conversation/read",
        json!({"conversationId": conversation}),
    )?;
    Ok(result.turns)
}

/// Whether a prompt was closed on record with this answer.
fn is_on_record(turns: &[ReadTurn], prompt: &str, answer: &Value) -> bool {
    turns
        .iter()
        .flat_map(|turn| &turn.updates)
        .filter_map(wire::settled)
        .any(|settled| settled.prompt_id == prompt && settled.answer.as_ref() == Some(answer))
}

/// No prompt may be among what has come until a request was answered.
fn nothing_is_shown(client: &mut Client, why: &str) -> Step {
    client.pending()?;
    match client.shown() {
        None => Ok(()),
        Some(shown) => Err(Failure(format!(
            "{} was shown {why}",
            shown.prompt.prompt_id
        ))),
    }
}
