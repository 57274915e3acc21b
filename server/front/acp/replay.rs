//! Turns that are over, shown as they were.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{ContentChunk, MessageId, SessionUpdate};

use super::{
    connection::Connection,
    session::Session,
    updates::{FileChange, ShownTurn},
    view::interrupted,
};
use crate::{
    front::{
        error::{Result, internal},
        relay::interrupted::left_open,
        wire::{Update, replay::updates},
    },
    session::{
        conversation::Conversation,
        replay::{Turn, turns},
    },
    tool::workspace::file_uri,
    turn::record::Level,
};

/// Bytes that may wait for the client before more of the history follows.
const ENOUGH: usize = 1024 * 1024;

/// Shows all turns of a conversation, and what waits in the last one.
///
/// # Errors
/// Where the conversation cannot be read.
pub(super) async fn show(
    at: &Arc<Connection>,
    session: &Arc<Session>,
    conversation: Conversation,
) -> Result<()> {
    let open = conversation.clone();
    let read = at.disk.of_conversation(&session.id.0, move || {
        let lines = conversation.read_all().map_err(internal)?;
        let turns = turns(&lines.records);
        let is_open = turns.last().is_some_and(Turn::is_interrupted);
        let waits = if is_open {
            left_open(&open)?
        } else {
            Vec::new()
        };
        Ok((turns, is_open.then_some(waits)))
    });
    let (turns, waits) = read.await?;
    let is_running = at
        .engine
        .conversations()
        .running()
        .is_running(&session.id.0);
    let last = turns.len().saturating_sub(1);
    for (place, turn) in turns.iter().enumerate() {
        at.client.room(ENOUGH).await;
        let mut shown = show_turn(at, session, turn);
        session.costs(shown.cost());
        if let (Some(waits), true, false) = (&waits, place == last, is_running) {
            let line = shown.line(Level::Warning, &interrupted(waits));
            at.client.update(&session.id, line);
        }
    }
    Ok(())
}

/// Shows one turn.
fn show_turn(at: &Connection, session: &Session, turn: &Turn) -> ShownTurn {
    let before = session.cost();
    let registry = at.registry.clone();
    let mut shown = ShownTurn::new(&turn.id, &session.root, at.can, registry, before);
    let user = |text: &str, id: String| {
        let chunk = ContentChunk::new(text.into()).message_id(MessageId::new(id));
        at.client
            .update(&session.id, SessionUpdate::UserMessageChunk(chunk));
    };
    user(&turn.prompt, turn.id.clone());
    let hidden = |name: &str| at.registry.get(name).is_some_and(|it| it.about().hidden);
    let uri = |path: &str| file_uri(&session.root.join(path));
    for (place, update) in updates(turn, uri, hidden).into_iter().enumerate() {
        if let Update::Steered { text } = &update {
            user(text, format!("{}.steer.{place}", turn.id));
        }
        let change: Option<FileChange> = None;
        for update in shown.update(update, change) {
            at.client.update(&session.id, update);
        }
    }
    shown
}
