//! Replay of finished turns.

use std::{collections::HashMap, fs, path::Path, sync::Arc};

use agent_client_protocol_schema::v1::{ContentChunk, MessageId, SessionUpdate};
use aside_base::digest::sha256;
use aside_session::{
    conversation::Conversation,
    replay::{Turn, turns},
};
use aside_tool::workspace::file_uri;
use aside_turn::record::{CallKey, Level};

use super::{
    connection::AcpConnection,
    session::Session,
    updates::{FileChange, ShownTurn},
    view::interrupted,
};
use crate::front::{
    error::{Result, internal},
    relay::interrupted::left_open,
    wire::{Update, replay::updates},
};

/// Maximum size in bytes of a text whose change is shown.
const LARGE: u64 = 2 * 1024 * 1024;
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
    for place in 0..turns.len() {
        at.client.room(ENOUGH).await;
        let (all, of, root) = (turns.clone(), conversation.clone(), session.root.clone());
        let changes = at.disk.run(move || Ok(changes(&of, &root, &all, place)));
        let mut shown = show_turn(at, session, &turns[place], changes.await?);
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
    mut changes: HashMap<String, FileChange>,
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
    let hidden = |name: &str| at.registry.get(name).is_some_and(|it| it.spec().hidden);
    let uri = |path: &str| file_uri(&session.root.join(path));
    for (place, update) in updates(turn, uri, hidden).into_iter().enumerate() {
        let change = match &update {
            Update::Steered { text } => {
                user(text, format!("{}.steer.{place}", turn.id));
                None
            }
            Update::ToolResult { call_id, .. } => changes.remove(call_id),
            _ => None,
        };
        for update in shown.update(update, change) {
            at.client.update(&session.id, update);
        }
    }
    shown
}

/// The changes of a turn's calls, whole, by the providers' ids of these: the text before is kept, and that after is what the
/// next change of the file began with, else the file, where nobody changed it since. Blocks on files.
fn changes(
    conversation: &Conversation,
    root: &Path,
    turns: &[Turn],
    place: usize,
) -> HashMap<String, FileChange> {
    let blobs = conversation.blobs();
    let kept = |name: &str| {
        let size = blobs.size(name).ok().filter(|size| *size <= LARGE)?;
        String::from_utf8(blobs.read_whole(name, size).ok()?).ok()
    };
    let turn = &turns[place];
    let history = turn.history();
    let mut changes = HashMap::new();
    for (at, edit) in turn.edits.iter().enumerate() {
        let later = turns[place + 1..].iter().flat_map(|turn| &turn.edits);
        let mut later = turn.edits[at + 1..].iter().chain(later);
        let new = match (later.find(|later| later.path == edit.path), &edit.after) {
            (Some(next), Some(_)) => next.before.as_deref().and_then(kept),
            (None, Some(after)) => {
                let path = root.join(&edit.path);
                let is_small =
                    fs::metadata(&path).is_ok_and(|it| it.is_file() && it.len() <= LARGE);
                let text = is_small.then(|| fs::read_to_string(&path).ok()).flatten();
                text.filter(|text| sha256(text.as_bytes()) == *after)
            }
            (_, None) => None,
        };
        let old = edit.before.as_deref().map(kept);
        if let (Some(new), Some(call), true) =
            (new, history.call(CallKey(edit.call)), old != Some(None))
        {
            let path = root.join(&edit.path);
            let old = old.flatten();
            changes.insert(call.id().to_owned(), FileChange { path, old, new });
        }
    }
    changes
}
