//! Prompts of interrupted turns, which wait for the turn to be resumed.

use std::path::PathBuf;

use aside_session::{
    conversation::{Conversation, ConversationActivity},
    replay,
    store::StoreError,
};
use aside_tool::registry::Registry;

use crate::{
    engine::conversations::Conversations,
    front::wire::{Prompt, TurnRef, resumable::prompts},
};

/// Open prompts of all interrupted turns in these workspaces, newest conversation first. Reads files.
///
/// # Errors
/// Fails if conversations cannot be listed or read.
pub fn resumable(
    conversations: &Conversations,
    roots: Vec<PathBuf>,
) -> Result<Vec<Prompt>, StoreError> {
    let mut found = Vec::new();
    for root in conversations.places(roots) {
        let store = conversations.store(&root)?;
        let waiting = store
            .list()?
            .into_iter()
            .filter(|listed| {
                listed.status == ConversationActivity::Interrupted && listed.prompts > 0
            })
            .filter(|listed| !conversations.running().is_running(&listed.id));
        for listed in waiting {
            found.extend(left_open(&store.find(&listed.id)?)?);
        }
    }
    Ok(found)
}

/// Open prompts of a conversation's interrupted last turn. Reads files.
///
/// # Errors
/// Fails if the conversation cannot be read.
pub fn left_open(conversation: &Conversation) -> Result<Vec<Prompt>, StoreError> {
    let registry = Registry::builtin();
    let label = |tool: &str, question: &str| {
        let labels = registry.get(tool)?.spec().prompt_labels;
        let own = labels.iter().find(|(id, _)| *id == question)?;
        Some(own.1.to_owned())
    };
    let lines = conversation.read_last_turn();
    let lines = lines.map_err(|source| StoreError::Io {
        id: conversation.id().to_owned(),
        source,
    })?;
    let Some(turn) = replay::turns(&lines.records).pop() else {
        return Ok(Vec::new());
    };
    let of = TurnRef {
        conversation_id: conversation.id().to_owned(),
        turn_id: turn.id.clone(),
    };
    Ok(prompts(&turn, &of, label))
}
