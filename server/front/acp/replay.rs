//! Replay of finished turns.

use std::sync::Arc;

use agent_client_protocol_schema::v1::{ContentChunk, MessageId, SessionUpdate};
use aside_session::{
    conversation::Conversation,
    replay::{Turn, turns},
};
use aside_turn::record::Level;

use super::{connection::AcpConnection, session::Session, updates::ShownTurn, view::interrupted};
use crate::front::{
    error::{Result, internal},
    relay::interrupted::left_open,
    wire::{Update, changes::KeptTexts, replay::updates},
};

/// Maximum number of bytes queued for the client before more of the history is sent.
const ENOUGH: usize = 1024 * 1024;

/// Shows all turns of a conversation, and the open prompts of the last one.
///
/// # Errors
/// Fails if the conversation cannot be read.
pub(super) async fn show(
    at: &Arc<AcpConnection>,
    session: &Arc<Session>,
    conversation: Conversation,
) -> Result<()> {
    let open = conversation.clone();
    let read = at.disk.of_conversation(&session.id.0, move || {
        let lines = open.read_all().map_err(internal)?;
        let turns = turns(&lines.records);
        let waits = match turns.last() {
            Some(last) if last.is_interrupted() => Some(left_open(&open)?),
            _ => None,
        };
        Ok((Arc::new(turns), waits))
    });
    let (turns, waits) = read.await?;
    let running = at.engine.conversations().running();
    let waits = waits.filter(|_| !running.is_running(&session.id.0));
    session.costs(0.0);
    let kept = Arc::new(KeptTexts {
        root: session.root.real.clone(),
        blobs: conversation.blobs(),
        whole: true,
    });
    for place in 0..turns.len() {
        at.client.room(ENOUGH).await;
        let (all, kept, registry) = (turns.clone(), kept.clone(), at.registry.clone());
        let hidden = move |name: &str| registry.get(name).is_some_and(|it| it.spec().hidden);
        let updates = at.disk.run(move || Ok(updates(&all[place], &kept, hidden)));
        let mut shown = show_turn(at, session, &turns[place], updates.await?);
        session.costs(shown.cost());
        if let (Some(waits), true) = (&waits, place + 1 == turns.len()) {
            let line = shown.line(Level::Warning, &interrupted(waits));
            at.client.update(&session.id, line);
        }
    }
    Ok(())
}

/// Shows one turn.
fn show_turn(
    at: &AcpConnection,
    session: &Session,
    turn: &Turn,
    updates: Vec<Update>,
) -> ShownTurn {
    let before = session.cost();
    let registry = at.registry.clone();
    let mut shown = ShownTurn::new(&turn.id, &session.root, at.can, registry, before);
    let user = |text: &str, id: String| {
        let chunk = ContentChunk::new(text.into()).message_id(MessageId::new(id));
        let update = SessionUpdate::UserMessageChunk(chunk);
        at.client.update(&session.id, update);
    };
    user(&turn.prompt, turn.id.clone());
    for (place, update) in updates.into_iter().enumerate() {
        if let Update::Steered { text } = &update {
            user(text, format!("{}.steer.{place}", turn.id));
        }
        for update in shown.update(update) {
            at.client.update(&session.id, update);
        }
    }
    shown
}
