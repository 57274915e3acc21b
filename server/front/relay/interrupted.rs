//! The prompts of interrupted turns, which wait for a resume.

use std::path::PathBuf;

use crate::{
    engine::conversations::Conversations,
    front::wire::{Prompt, TurnRef, resumable::prompts},
    session::{
        conversation::{Conversation, ConversationActivity},
        replay,
        store::StoreError,
    },
    tool::registry::Registry,
};

/// The open prompts of all interrupted turns of these workspaces, newest conversation first. Reads files.
///
/// # Errors
/// Where conversations cannot be listed or read.
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

/// The open prompts of a conversation's last turn, which was interrupted. Reads files.
///
/// # Errors
/// Where the conversation cannot be read.
pub fn left_open(conversation: &Conversation) -> Result<Vec<Prompt>, StoreError> {
    let registry = Registry::builtin();
    let label = |tool: &str, question: &str| {
        let labels = registry.get(tool)?.about().prompt_labels;
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
