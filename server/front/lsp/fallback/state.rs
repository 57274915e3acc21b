//! What is open in a fallback client.

use std::{
    collections::HashSet,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::{super::hub::lock, gate::Gate};

/// What is open in a fallback client.
#[derive(Default)]
pub(in super::super) struct Fallback {
    /// Prompts wait here for their turn.
    pub(super) gate: Gate,
    /// Notified when the client saved a document.
    pub(super) saved: Notify,
    /// Notices of the workspace and its settings that were shown.
    noticed: Mutex<HashSet<String>>,
    /// Ends the wait for the message that is being written.
    writing: Mutex<CancellationToken>,
    /// A document was opened.
    has_documents: AtomicBool,
}

impl Fallback {
    /// The client saved a document.
    pub(in super::super) fn saved(&self) {
        self.saved.notify_waiters();
    }

    /// Whether this notice of the workspace and its settings was not shown before. From now on it was.
    pub(in super::super) fn is_news(&self, notice: &str) -> bool {
        lock(&self.noticed).insert(notice.to_owned())
    }

    /// Whether no document was opened before. From now on one was.
    pub(super) fn is_first_document(&self) -> bool {
        !self.has_documents.swap(true, Ordering::Relaxed)
    }

    /// A page for a message is opened: the wait for the one before ends. Cancelled when the next page is opened.
    pub(super) fn begin_writing(&self) -> CancellationToken {
        let unwanted = CancellationToken::new();
        std::mem::replace(&mut *lock(&self.writing), unwanted.clone()).cancel();
        unwanted
    }
}
