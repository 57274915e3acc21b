//! Running turns, and the kept states of recent conversations.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use aside_base::lock;
use tokio::sync::Notify;

use crate::engine::drive::{handle::TurnHandle, state::ConversationState};

/// Maximum number of turns whose conversation is remembered.
const MAX_KNOWN: usize = 4096;
/// Maximum number of conversations whose state is kept in memory.
const MAX_KEPT: usize = 8;

/// Running turns, and the states of recent conversations.
#[derive(Default)]
pub struct RunningTurns {
    inner: Mutex<Inner>,
    /// Notified when a turn starts or ends.
    change: Notify,
}

#[derive(Default)]
struct Inner {
    /// Handles by conversation; `None` for a turn that is about to start.
    running: HashMap<String, Option<TurnHandle>>,
    kept: VecDeque<(String, ConversationState)>,
    /// Turns that this process started, with their conversations, oldest first.
    known: VecDeque<(String, String)>,
}

/// A reserved conversation: no other turn starts in it. Dropping the lease frees it.
pub struct Lease {
    turns: Arc<RunningTurns>,
    conversation: String,
    /// State kept from the last turn, as long as it is valid.
    state: Option<ConversationState>,
}

impl RunningTurns {
    /// Reserves a conversation; `None` if it is reserved already.
    pub(super) fn reserve(self: &Arc<Self>, conversation: &str) -> Option<Lease> {
        let mut inner = lock(&self.inner);
        if inner.running.contains_key(conversation) {
            return None;
        }
        inner.running.insert(conversation.to_owned(), None);
        let at = inner.kept.iter().position(|(id, _)| id == conversation);
        let kept = at.and_then(|at| inner.kept.remove(at));
        Some(Lease {
            turns: self.clone(),
            conversation: conversation.to_owned(),
            state: kept.map(|(_, state)| state),
        })
    }

    /// Number of running turns, without those that are about to start.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.inner).running.values().flatten().count()
    }

    /// Whether any conversation is reserved.
    #[must_use]
    pub fn any(&self) -> bool {
        !lock(&self.inner).running.is_empty()
    }

    /// Whether the conversation is reserved.
    #[must_use]
    pub fn is_running(&self, conversation: &str) -> bool {
        lock(&self.inner).running.contains_key(conversation)
    }

    /// The running turn with this id.
    #[must_use]
    pub fn get(&self, turn: &str) -> Option<TurnHandle> {
        let inner = lock(&self.inner);
        let mut running = inner.running.values().flatten();
        running.find(|handle| handle.turn == turn).cloned()
    }

    /// All running turns.
    #[must_use]
    pub fn all(&self) -> Vec<TurnHandle> {
        lock(&self.inner)
            .running
            .values()
            .flatten()
            .cloned()
            .collect()
    }

    /// The conversation in which this process last ran the turn; `None` if it never did.
    #[must_use]
    pub fn conversation_of(&self, turn: &str) -> Option<String> {
        let inner = lock(&self.inner);
        let mut known = inner.known.iter().rev();
        known
            .find(|(id, _)| id == turn)
            .map(|(_, conversation)| conversation.clone())
    }

    /// Waits until the conversation is free.
    pub async fn idle(&self, conversation: &str) {
        loop {
            let change = self.change.notified();
            if !self.is_running(conversation) {
                return;
            }
            change.await;
        }
    }

    /// Interrupts every turn, including those about to start, because the client left. Returns when none is left.
    pub async fn leave(&self) {
        loop {
            let change = self.change.notified();
            for turn in self.all() {
                turn.leave().await;
            }
            if !self.any() {
                return;
            }
            change.await;
        }
    }

    /// Discards the kept state of the conversation, which is no longer valid.
    pub(super) fn forget(&self, conversation: &str) {
        lock(&self.inner).kept.retain(|(id, _)| id != conversation);
    }

    fn free(&self, conversation: &str, state: Option<ConversationState>) {
        let mut inner = lock(&self.inner);
        inner.running.remove(conversation);
        if let Some(state) = state {
            inner.kept.push_back((conversation.to_owned(), state));
        }
        while inner.kept.len() > MAX_KEPT {
            inner.kept.pop_front();
        }
        drop(inner);
        self.change.notify_waiters();
    }
}

impl Lease {
    /// Id of the conversation.
    #[must_use]
    pub fn conversation(&self) -> &str {
        &self.conversation
    }

    /// Discards the kept state, because the conversation was changed.
    pub fn forget(&mut self) {
        self.state = None;
    }

    /// Takes the kept state out of the lease.
    pub(in crate::engine) fn take_state(&mut self) -> Option<ConversationState> {
        self.state.take()
    }

    /// Sets the state to keep for the next turn once the conversation is free.
    pub(in crate::engine) fn keep(&mut self, state: Option<ConversationState>) {
        self.state = state;
    }

    /// Notes that the turn runs.
    pub(in crate::engine) fn runs(&self, handle: &TurnHandle) {
        let mut inner = lock(&self.turns.inner);
        let running = Some(handle.clone());
        inner.running.insert(self.conversation.clone(), running);
        let known = (handle.turn.clone(), self.conversation.clone());
        inner.known.push_back(known);
        if inner.known.len() > MAX_KNOWN {
            inner.known.pop_front();
        }
        drop(inner);
        self.turns.change.notify_waiters();
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        self.turns.free(&self.conversation, self.state.take());
    }
}
