//! The conversations of the workspaces that a process works in, and the turns that run in them.

pub mod running;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use aside_turn::record::{Event, PromptId};

use self::running::{Lease, RunningTurns};
use super::{clock::Clock, drive::handle::TurnHandle};
use crate::session::{
    conversation::{Conversation, ConversationSummary, ForkExtent},
    record::Entry,
    store::{Store, StoreError},
};

/// The conversations of a process. What reads or writes files blocks.
pub struct Conversations {
    state_dir: PathBuf,
    stores: Mutex<HashMap<PathBuf, Store>>,
    running: Arc<RunningTurns>,
}

/// Why something cannot be done with a conversation.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// It is taken.
    #[error(transparent)]
    Taken(#[from] Taken),
    /// It is not there, open elsewhere, or cannot be read or written.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A turn runs in the conversation, or is being undone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a turn runs in conversation {0}, or is being undone; wait for its end, or cancel it")]
pub struct Taken(pub String);

impl Conversations {
    pub(super) fn new(state_dir: PathBuf) -> Self {
        Self {
            state_dir,
            stores: Mutex::default(),
            running: Arc::default(),
        }
    }

    /// The turns that run.
    #[must_use]
    pub fn running(&self) -> &RunningTurns {
        &self.running
    }

    /// The conversations of a workspace.
    ///
    /// # Errors
    /// Where its folder in the state directory cannot be made or read.
    pub fn store(&self, root: &Path) -> Result<Store, StoreError> {
        let mut stores = self.stores();
        if let Some(store) = stores.get(root) {
            return Ok(store.clone());
        }
        let store = Store::open(&self.state_dir, root)?;
        stores.insert(root.to_owned(), store.clone());
        Ok(store)
    }

    /// These workspaces, and those that turns were started in since; each once, in this order.
    #[must_use]
    pub fn places(&self, roots: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut places = roots;
        places.extend(self.stores().keys().cloned());
        let mut known = HashSet::new();
        places.retain(|place| known.insert(place.clone()));
        places
    }

    /// The conversation of this id, whole, in whichever of [`Conversations::places`], and its workspace.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] where there is none, and where a store cannot be opened.
    pub fn find(
        &self,
        roots: Vec<PathBuf>,
        id: &str,
    ) -> Result<(Conversation, PathBuf), StoreError> {
        for root in self.places(roots) {
            let found = self.store(&root)?.find(id);
            if let Some(found) = found.ok().filter(|found| found.id() == id) {
                return Ok((found, root));
            }
        }
        Err(StoreError::Unknown(id.to_owned()))
    }

    /// The conversations of all [`Conversations::places`], newest first.
    ///
    /// # Errors
    /// Where a store cannot be opened or read.
    pub fn list(&self, roots: Vec<PathBuf>) -> Result<Vec<ConversationSummary>, StoreError> {
        let mut all = Vec::new();
        for root in self.places(roots) {
            all.extend(self.store(&root)?.list()?);
        }
        all.sort_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
        Ok(all)
    }

    /// The conversation of a turn: of those that have it, as a fork does, the one in which this process ran it,
    /// else the newest.
    ///
    /// # Errors
    /// Where a store cannot be opened or read.
    pub fn of_turn(
        &self,
        roots: Vec<PathBuf>,
        turn: &str,
    ) -> Result<Option<(Conversation, PathBuf)>, StoreError> {
        let ran_here = self.running.conversation_of(turn);
        if let Some(found) = ran_here.and_then(|id| self.find(roots.clone(), &id).ok()) {
            return Ok(Some(found));
        }
        let mut found = Vec::new();
        for root in self.places(roots) {
            let store = self.store(&root)?;
            for listed in store.list()? {
                let conversation = store.find(&listed.id)?;
                let unreadable = |source| StoreError::Io {
                    id: listed.id.clone(),
                    source,
                };
                if conversation.has_turn(turn).map_err(unreadable)? {
                    found.push((listed.updated, conversation, root));
                    break;
                }
            }
        }
        let newest = found.into_iter().max_by_key(|(updated, ..)| *updated);
        Ok(newest.map(|(_, conversation, root)| (conversation, root)))
    }

    /// Takes a conversation: no turn begins in it as long as the lease is held.
    ///
    /// # Errors
    /// It is taken already.
    pub fn reserve(&self, conversation: &str) -> Result<Lease, Taken> {
        let lease = self.running.reserve(conversation);
        lease.ok_or_else(|| Taken(conversation.to_owned()))
    }

    /// Gives a conversation of this workspace a title.
    ///
    /// # Errors
    /// A [`ConversationError`].
    pub fn rename(
        &self,
        root: &Path,
        conversation: &Conversation,
        title: &str,
    ) -> Result<(), ConversationError> {
        self.is_free(conversation.id())?;
        self.store(root)?
            .rename(conversation, title, Clock::start().now())?;
        self.running.forget(conversation.id());
        Ok(())
    }

    /// Deletes a conversation of this workspace.
    ///
    /// # Errors
    /// A [`ConversationError`].
    pub fn delete(
        &self,
        root: &Path,
        conversation: &Conversation,
    ) -> Result<(), ConversationError> {
        self.is_free(conversation.id())?;
        self.store(root)?
            .delete(conversation, Clock::start().now())?;
        self.running.forget(conversation.id());
        Ok(())
    }

    /// Makes a conversation of this workspace that begins as another does; see [`Store::fork`].
    ///
    /// # Errors
    /// As [`Store::fork`].
    pub fn fork(
        &self,
        root: &Path,
        conversation: &Conversation,
        until: ForkExtent<'_>,
    ) -> Result<Conversation, StoreError> {
        self.store(root)?
            .fork(conversation, until, Clock::start().now())
    }

    /// Puts on record that a prompt was answered after its turn, if nobody has the conversation open. It changes
    /// nothing.
    pub async fn record_late_answer(&self, turn: &TurnHandle, prompt: PromptId) {
        // The turn's own last lines come first.
        self.running.idle(&turn.conversation).await;
        let Ok((conversation, _)) = self.find(Vec::new(), &turn.conversation) else {
            return;
        };
        // Nothing is waited for while the log is open, so that no turn finds it so.
        let now = Clock::start().now();
        let entry = Entry::from(Event::LateAnswer { prompt });
        let appended = conversation
            .log(now)
            .map(|mut log| log.append(now, Some(turn.turn.as_str()), &entry));
        match appended {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "a late answer is not on record"),
            Err(error) => tracing::info!(%error, "a late answer is not on record"),
        }
    }

    fn is_free(&self, conversation: &str) -> Result<(), Taken> {
        if self.running.is_running(conversation) {
            return Err(Taken(conversation.to_owned()));
        }
        Ok(())
    }

    fn stores(&self) -> MutexGuard<'_, HashMap<PathBuf, Store>> {
        // What is done while it is held cannot panic halfway.
        self.stores.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
