//! The prompts of interrupted turns, which wait for a resume.

use super::hub::Hub;
use crate::{
    front::{
        error::{Result, internal},
        wire::{Prompt, TurnRef, resumable::prompts},
    },
    session::{
        conversation::{Conversation, Status},
        replay,
    },
    tool::Registry,
};

impl Hub {
    /// The open prompts of all interrupted turns, newest conversation first. Reads files.
    pub(super) fn resumable(&self) -> Result<Vec<Prompt>> {
        let mut found = Vec::new();
        for root in self.places() {
            let store = self.store(&root)?;
            let list = store.list()?;
            let waiting = list
                .into_iter()
                .filter(|listed| listed.status == Status::Interrupted && listed.prompts > 0)
                .filter(|listed| !self.turns.is_running(&listed.id));
            for listed in waiting {
                let conversation = store.find(&listed.id)?;
                found.extend(left_open(&conversation)?);
            }
        }
        Ok(found)
    }
}

/// The open prompts of a conversation's last turn, which was interrupted. Reads files.
pub(super) fn left_open(conversation: &Conversation) -> Result<Vec<Prompt>> {
    let registry = Registry::builtin();
    let label = |tool: &str, question: &str| {
        let labels = registry.get(tool)?.about().prompt_labels;
        let own = labels.iter().find(|(id, _)| *id == question)?;
        Some(own.1.to_owned())
    };
    let lines = conversation.read_last_turn().map_err(internal)?;
    let Some(turn) = replay::turns(&lines.records).pop() else {
        return Ok(Vec::new());
    };
    let of = TurnRef {
        conversation_id: conversation.id().to_owned(),
        turn_id: turn.id.clone(),
    };
    Ok(prompts(&turn, &of, label))
}
