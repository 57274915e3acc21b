//! How full a conversation is for its model, and whether summaries still help, folded from its events.

use crate::{
    compaction::{FAILURES, saves_enough},
    record::Event,
};

/// Tokens of a conversation, and the summaries that failed in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fullness {
    /// Tokens as of the last response; 0 if that is not known.
    tokens: u64,
    /// Tokens before the last summary, until a response shows how many are left.
    before: Option<u64>,
    /// The model that could not summarise it, and how often in a row.
    failed: Option<(String, u8)>,
}

impl Fullness {
    /// Applies an event of the conversation.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::CompactionFailed { model, .. } => {
                let failures = self.failures(model).saturating_add(1);
                self.failed = Some((model.clone(), failures));
            }
            Event::Compacted { before, .. } => self.before = Some(*before),
            Event::ResponseEnd { usage, .. } => {
                if let Some(after) = usage.context()
                    && let Some(before) = self.before.take()
                    && saves_enough(after, before)
                {
                    self.failed = None;
                }
            }
            _ => {}
        }
        self.tokens = event.context().unwrap_or(self.tokens);
    }

    /// Tokens of the conversation as of its last response; 0 if that is not known.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Tokens before the last summary, until a response shows how many are left.
    pub(crate) fn before(&self) -> Option<u64> {
        self.before
    }

    /// Whether so many summaries of this model failed in a row, or saved too little, that no more are made unasked.
    #[must_use]
    pub fn is_given_up(&self, model: &str) -> bool {
        self.failures(model) >= FAILURES
    }

    fn failures(&self, model: &str) -> u8 {
        match &self.failed {
            Some((of, failures)) if of == model => *failures,
            _ => 0,
        }
    }
}
