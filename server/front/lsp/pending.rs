//! The prompts of interrupted turns, which wait for a resume.

use tower_lsp::jsonrpc::Result;

use super::{
    error::{internal, of_store},
    hub::Hub,
};
use crate::{
    front::wire::{Prompt, TurnRef, resumable::prompts},
    session::{conversation::Status, replay},
    tool::Registry,
};

impl Hub {
    /// The open prompts of all interrupted turns, newest conversation first. Reads files.
    pub(super) fn resumable(&self) -> Result<Vec<Prompt>> {
        let registry = Registry::builtin();
        let label = |tool: &str, question: &str| {
            let labels = registry.get(tool)?.about().prompt_labels;
            let own = labels.iter().find(|(id, _)| *id == question)?;
            Some(own.1.to_owned())
        };
        let mut found = Vec::new();
        for root in self.places() {
            let store = self.store(&root)?;
            let list = store.list().map_err(|failed| of_store(&failed))?;
            let waiting = list
                .into_iter()
                .filter(|listed| listed.status == Status::Interrupted && listed.prompts > 0)
                .filter(|listed| !self.turns.is_running(&listed.id));
            for listed in waiting {
                let conversation = store.find(&listed.id).map_err(|failed| of_store(&failed))?;
                let lines = conversation.read_last_turn().map_err(internal)?;
                let Some(turn) = replay::turns(&lines.records).pop() else {
                    continue;
                };
                let of = TurnRef {
                    conversation_id: listed.id,
                    turn_id: turn.id.clone(),
                };
                found.extend(prompts(&turn, &of, label));
            }
        }
        Ok(found)
    }
}
