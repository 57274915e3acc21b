//! Titles of conversations, which say whose a prompt is where turns run in several.

use std::{collections::HashMap, sync::Mutex};

use aside_base::lock;

/// Titles of conversations in which a turn runs, by their ids.
#[derive(Default)]
pub(in crate::front::lsp) struct Titles(Mutex<HashMap<String, String>>);

impl Titles {
    /// The conversation has this title.
    pub(in crate::front::lsp) fn named(&self, conversation: &str, title: String) {
        lock(&self.0).insert(conversation.to_owned(), title);
    }

    /// No turn runs in the conversation.
    pub(in crate::front::lsp) fn forget(&self, conversation: &str) {
        lock(&self.0).remove(conversation);
    }

    /// The title of a conversation, if more than one turn runs.
    pub(super) fn among(&self, conversation: &str, running: usize) -> Option<String> {
        let titles = lock(&self.0);
        titles.get(conversation).filter(|_| running > 1).cloned()
    }
}
