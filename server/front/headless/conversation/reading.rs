//! Reads the parts of a conversation that a command needs.

use std::io;

use aside_session::{
    conversation::Conversation,
    lines::LogLines,
    replay::{self, Turn},
};

use crate::front::headless::failure::CommandFailure;

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

/// A turn with its number, counted from 1.
pub(super) struct Numbered {
    pub(super) number: usize,
    pub(super) turn: Turn,
}

/// Finds a turn by its id or number.
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
            "conversation {id} has no turn {wanted}; `aside conversation show {id}` lists its turns",
            id = conversation.id()
        ))),
    }
}
