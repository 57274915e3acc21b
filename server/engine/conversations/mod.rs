//! The conversations of a process's workspaces, and the turns that run in them.

pub mod running;

use std::{
    collections::{HashMap, HashSet},
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use aside_base::lock;
use aside_turn::record::{Event, PromptId};

use self::running::{Lease, RunningTurns};
use super::{clock::Clock, drive::handle::TurnHandle};
use aside_session::{
    conversation::{Conversation, ConversationSummary, ForkExtent},
    record::Entry,
    store::{Store, StoreError},
};

/// The conversations of a process. Functions that use files block.
pub struct Conversations {
    state_dir: PathBuf,
    stores: Mutex<HashMap<PathBuf, Store>>,
    running: Arc<RunningTurns>,
}

/// Reason why a conversation cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConversationError {
    /// A turn runs in the conversation, or is being undone.
    #[error(transparent)]
    Taken(#[from] Taken),
    /// The conversation does not exist, is open elsewhere, or cannot be read or written.
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

    /// Running turns.
    #[must_use]
    pub fn running(&self) -> &RunningTurns {
        &self.running
    }

    /// The store of a workspace's conversations.
    ///
    /// # Errors
    /// Fails if the workspace's folder in the state directory cannot be created or read.
    pub fn store(&self, root: &Path) -> Result<Store, StoreError> {
        let mut stores = lock(&self.stores);
        // A folder that was deleted meanwhile is made again.
        if let Some(store) = stores.get(root).filter(|store| store.is_there()) {
            return Ok(store.clone());
        }
        let store = Store::open(&self.state_dir, root)?;
        stores.insert(root.to_owned(), store.clone());
        Ok(store)
    }

    /// The given workspaces and those in which turns were started since, each once, in this order.
    #[must_use]
    pub fn places(&self, roots: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut places = roots;
        places.extend(lock(&self.stores).keys().cloned());
        let mut known = HashSet::new();
        places.retain(|place| known.insert(place.clone()));
        places
    }

    /// Finds the conversation with exactly this id in [`Conversations::places`]. Returns it with its workspace.
    ///
    /// # Errors
    /// [`StoreError::Unknown`] if there is none; others if a store cannot be opened.
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

    /// Summaries of the conversations in all [`Conversations::places`], newest first.
    ///
    /// # Errors
    /// Fails if a store cannot be opened or read.
    pub fn list(&self, roots: Vec<PathBuf>) -> Result<Vec<ConversationSummary>, StoreError> {
        let mut all = Vec::new();
        for root in self.places(roots) {
            all.extend(self.store(&root)?.list()?);
        }
        all.sort_by(|one, other| (other.updated, &other.id).cmp(&(one.updated, &one.id)));
        Ok(all)
    }

    /// Finds the conversation of a turn. Forks have the same turns; the conversation in which this process ran the turn
    /// is preferred, then the newest.
    ///
    /// # Errors
    /// Fails if a store cannot be opened or read.
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

    /// Reserves a conversation: no other turn starts in it while the lease is held. A turn that gives way ends first.
    ///
    /// # Errors
    /// Fails if the conversation is reserved already.
    pub fn reserve(&self, conversation: &str) -> Result<Lease, Taken> {
        let lease = self.running.reserve(conversation);
        lease.ok_or_else(|| Taken(conversation.to_owned()))
    }

    /// Reserves a conversation for a turn that gives way to whatever else is to happen in it.
    ///
    /// # Errors
    /// Fails if the conversation is reserved already.
    pub(super) fn reserve_meanwhile(&self, conversation: &str) -> Result<Lease, Taken> {
        let lease = self.running.reserve_meanwhile(conversation);
        lease.ok_or_else(|| Taken(conversation.to_owned()))
    }

    /// Changes the title of a conversation.
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

    /// Deletes a conversation.
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

    /// Forks a conversation; see [`Store::fork`].
    ///
    /// # Errors
    /// Like [`Store::fork`].
    pub fn fork(
        &self,
        root: &Path,
        conversation: &Conversation,
        until: ForkExtent<'_>,
    ) -> Result<Conversation, StoreError> {
        self.store(root)?
            .fork(conversation, until, Clock::start().now())
    }

    /// Records that a prompt was answered after its turn, unless the conversation is open elsewhere. The answer has no
    /// other effect.
    pub async fn record_late_answer(&self, turn: &TurnHandle, prompt: PromptId) {
        // The turn's own last records come first.
        self.running.idle(&turn.conversation).await;
        let Ok((conversation, _)) = self.find(Vec::new(), &turn.conversation) else {
            return;
        };
        // There is no await while the log is open, so that no turn meets an open log.
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
        self.running.make_room(conversation);
        if self.running.is_running(conversation) {
            return Err(Taken(conversation.to_owned()));
        }
        Ok(())
    }
}
