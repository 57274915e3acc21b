//! State of a fallback client, for the functions of this room.

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use aside_base::lock;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tower_lsp::lsp_types::Url;

use super::{super::handles::Handles, gate::Gate, titles::Titles};
use crate::front::{relay::prompts::PendingPrompt, uri::file_of};

/// State of a fallback client, and the parts of the connection that are used to show it.
pub(in crate::front::lsp) struct Fallback {
    pub(in crate::front::lsp) handles: Handles,
    /// Prompts wait here for their turn.
    pub(super) gate: Gate,
    /// Of conversations in which a turn runs.
    pub(in crate::front::lsp) titles: Titles,
    /// Changes when the client reports a save, or the person asks to read the pages.
    saves: watch::Sender<()>,
    /// Notices of the workspace and its settings that were shown.
    noticed: Mutex<HashSet<String>>,
    /// The prompts that were put on a page to be answered there, by the path of the page.
    reviews: Mutex<HashMap<PathBuf, String>>,
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
            saves: watch::Sender::new(()),
            noticed: Mutex::default(),
            reviews: Mutex::default(),
            writing: Mutex::default(),
            has_documents: AtomicBool::default(),
        }
    }

    /// Has the open pages read: the client reports a save, or the person asks for it. Returns whether a page is open.
    pub(in crate::front::lsp) fn read_pages(&self) -> bool {
        self.saves.send(()).is_ok()
    }

    /// Reports of saves from now on.
    pub(in crate::front::lsp) fn saves(&self) -> watch::Receiver<()> {
        self.saves.subscribe()
    }

    /// Whether this notice of the workspace and its settings was not shown before. From now on it was.
    pub(in crate::front::lsp) fn is_news(&self, notice: &str) -> bool {
        lock(&self.noticed).insert(notice.to_owned())
    }

    /// The prompt is on this page, whole. Pages of prompts that are settled are forgotten.
    pub(super) fn is_reviewed_on(&self, page: PathBuf, prompt_id: &str) {
        let mut reviews = lock(&self.reviews);
        reviews.retain(|_, prompt| self.handles.prompts.get(prompt).is_some());
        reviews.insert(page, prompt_id.to_owned());
    }

    /// The person opened a document. A prompt that is on it was seen whole.
    pub(in crate::front::lsp) fn opened(&self, document: &Url) {
        let page = file_of(document);
        if let Some(open) = page.and_then(|page| self.reviewed_on(&page)) {
            open.sight.shown(true);
        }
    }

    /// The open prompt that is on this page.
    pub(in crate::front::lsp) fn reviewed_on(&self, page: &Path) -> Option<PendingPrompt> {
        let prompt = lock(&self.reviews).get(page).cloned()?;
        self.handles.prompts.get(&prompt)
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
