//! `aside conversation`: lists, shows and changes conversations.

mod list;
mod reading;
#[cfg(test)]
mod tests;
mod undo;

use std::fs;

use aside_session::{
    conversation::{Conversation, ForkExtent},
    export::{self, PageReader},
    lines::LogLines,
    replay,
    store::Store,
};

use self::reading::{all, find_turn, last_turn, unreadable};
use super::{args, failure::CommandFailure, place::CommandContext, streams::Streams};
use crate::engine::clock::Clock;

/// Runs the command.
///
/// # Errors
/// Fails if the id is unknown or ambiguous, if the conversation is open elsewhere or cannot be read or written, or if
/// files to undo were changed since.
pub fn run(
    command: &args::ConversationCommand,
    place: &CommandContext,
    streams: &mut Streams<'_>,
) -> Result<(), CommandFailure> {
    let store = place.store()?;
    let now = Clock::start().now();
    match command {
        args::ConversationCommand::List => list::run(&store, streams),
        args::ConversationCommand::Show { id, last } => {
            let conversation = find(&store, id.as_deref())?;
            // The last turn is read backwards, so the cost does not grow with the conversation.
            let lines = if *last {
                last_turn(&conversation)
            } else {
                all(&conversation)
            };
            let page = page(&conversation, &lines?, streams.reader())?;
            streams.say_page(&page)
        }
        args::ConversationCommand::Export { id, output } => {
            let conversation = find(&store, id.as_deref())?;
            let page = page(&conversation, &all(&conversation)?, PageReader::Viewer)?;
            let Some(file) = output else {
                return streams.say(&page);
            };
            fs::write(place.root.join(file), page).map_err(|error| {
                CommandFailure::internal(format!(
                    "cannot write {}: {error}; choose another file",
                    file.display()
                ))
            })
        }
        args::ConversationCommand::Ledger { id } => {
            let conversation = find(&store, id.as_deref())?;
            let ledger = conversation.ledger(&store.approvals());
            let ledger = ledger.map_err(unreadable(&conversation))?;
            if ledger.is_empty() {
                let id = conversation.id();
                return streams.say(&format!("Nothing was said in conversation {id} yet.\n"));
            }
            // Names and answers stay as they are: no Markdown.
            streams.say(&ledger)
        }
        args::ConversationCommand::Rename { id, title } => {
            if title.trim().is_empty() {
                return Err(CommandFailure::usage(
                    "the title is empty; give another one",
                ));
            }
            Ok(store.rename(&store.find(id)?, title, now)?)
        }
        args::ConversationCommand::Fork { id, turn } => {
            let source = store.find(id)?;
            let turn = match turn {
                Some(turn) => Some(find_turn(&source, &all(&source)?, turn)?.turn.id),
                None => None,
            };
            let until = turn.as_deref().map_or(ForkExtent::Now, ForkExtent::Turn);
            let fork = store.fork(&source, until, now)?;
            streams.say(&format!("{}\n", fork.id()))
        }
        args::ConversationCommand::Undo { id, turn } => {
            let conversation = find(&store, id.as_deref())?;
            undo::run(&conversation, turn.as_deref(), &place.root, streams)
        }
        args::ConversationCommand::Delete { id } => {
            let conversation = store.find(id)?;
            store.delete(&conversation, now)?;
            streams.say(&format!("Deleted {}.\n", conversation.id()))
        }
    }
}

/// The conversation with this id, or the newest one.
fn find(store: &Store, id: Option<&str>) -> Result<Conversation, CommandFailure> {
    match id {
        Some(id) => Ok(store.find(id)?),
        None => store.latest(Clock::start().now())?.ok_or_else(|| {
            CommandFailure::usage(
                "there is no conversation in this workspace yet; `aside run` starts one",
            )
        }),
    }
}

/// Renders a conversation as Markdown. Damaged lines of its log are reported at the end.
fn page(
    conversation: &Conversation,
    lines: &LogLines,
    reader: PageReader,
) -> Result<String, CommandFailure> {
    let listed = conversation.listed().map_err(unreadable(conversation))?;
    let turns = replay::turns(&lines.records);
    let first = (listed.turns as usize).saturating_sub(turns.len()) + 1;
    let mut page = export::markdown(&listed.title, first, &turns, reader).text;
    for fault in &lines.faults {
        page += &format!("\n*Notice: {fault}; it was left out.*\n");
    }
    Ok(page)
}
