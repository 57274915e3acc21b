//! What is open in a fallback client, and what its functions use.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{
    super::{handles::Handles, lock::lock},
    gate::Gate,
    titles::Titles,
};

/// What is open in a fallback client, and the parts of the connection that are used to show it.
pub(in crate::front::lsp) struct Fallback {
    pub(super) handles: Handles,
    /// Prompts wait here for their turn.
    pub(super) gate: Gate,
    /// Of conversations in which a turn runs.
    pub(in crate::front::lsp) titles: Titles,
    /// Notified when the client saved a document.
    pub(in crate::front::lsp) saved: Notify,
    /// Notices of the workspace and its settings that were shown.
    noticed: Mutex<HashSet<String>>,
    /// Ends the wait for the message that is being written.
    writing: Mutex<CancellationToken>,
    /// A document was opened.
    has_documents: AtomicBool,
}

impl Fallback {
    /// A client in which nothing is open.
    pub(in crate::front::lsp) fn new(handles: Handles) -> Self {
        Self {
            handles,
            gate: Gate::default(),
            titles: Titles::default(),
            saved: Notify::default(),
            noticed: Mutex::default(),
            writing: Mutex::default(),
            has_documents: AtomicBool::default(),
        }
    }

    /// The client saved a document.
    pub(in crate::front::lsp) fn document_saved(&self) {
        self.saved.notify_waiters();
    }

    /// Whether this notice of the workspace and its settings was not shown before. From now on it was.
    pub(in crate::front::lsp) fn is_news(&self, notice: &str) -> bool {
        lock(&self.noticed).insert(notice.to_owned())
    }

    /// Whether no document was opened before. From now on one was.
    pub(super) fn is_first_document(&self) -> bool {
        !self.has_documents.swap(true, Ordering::Relaxed)
    }

    /// A page for a message is opened: the wait for the one before ends. Cancelled when the next page is opened.
    pub(in crate::front::lsp) fn begin_writing(&self) -> CancellationToken {
        let unwanted = CancellationToken::new();
        std::mem::replace(&mut *lock(&self.writing), unwanted.clone()).cancel();
        unwanted
    }
}
