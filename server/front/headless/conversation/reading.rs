//! What of a conversation a command needs: its lines, and the turn that is meant.

use std::io;

use crate::{
    front::headless::failure::CommandFailure,
    session::{
        conversation::Conversation,
        lines::LogLines,
        replay::{self, Turn},
    },
};

pub(super) fn all(conversation: &Conversation) -> Result<LogLines, CommandFailure> {
    conversation.read_all().map_err(unreadable(conversation))
}

pub(super) fn last_turn(conversation: &Conversation) -> Result<LogLines, CommandFailure> {
    conversation
        .read_last_turn()
        .map_err(unreadable(conversation))
}

pub(super) fn unreadable(
    conversation: &Conversation,
) -> impl Fn(io::Error) -> CommandFailure + use<> {
    let id = conversation.id().to_owned();
    move |error| {
        CommandFailure::internal(format!(
            "cannot read conversation {id}: {error}; check its folder and its disk"
        ))
    }
}

/// A turn and its number, counted from 1.
pub(super) struct Numbered {
    pub(super) number: usize,
    pub(super) turn: Turn,
}

/// The turn with this id, or this number.
pub(super) fn find_turn(
    conversation: &Conversation,
    lines: &LogLines,
    wanted: &str,
) -> Result<Numbered, CommandFailure> {
    let mut turns = replay::turns(&lines.records);
    let by_number = || {
        let number: usize = wanted.parse().ok()?;
        number.checked_sub(1)
    };
    let place = turns.iter().position(|turn| turn.id == wanted);
    match place
        .or_else(by_number)
        .filter(|place| *place < turns.len())
    {
        Some(place) => Ok(Numbered {
            number: place + 1,
            turn: turns.swap_remove(place),
        }),
        None => Err(CommandFailure::usage(format!(
            "conversation {id} has no turn {wanted}; `aside conversation show {id}` shows those it has",
            id = conversation.id()
        ))),
    }
}
