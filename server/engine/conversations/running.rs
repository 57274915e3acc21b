//! The turns that run, and what is kept of the conversations in which the last ones ran.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

use crate::engine::drive::{handle::TurnHandle, state::ConversationState};

/// The most turns whose conversation is known.
const KNOWN: usize = 4096;
/// The most conversations that are kept in memory after their turn.
const KEPT: usize = 8;

/// The turns that run, and the conversations that ran last.
#[derive(Default)]
pub struct RunningTurns {
    inner: Mutex<Inner>,
    /// Notified when a turn runs or is over.
    change: Notify,
}

#[derive(Default)]
struct Inner {
    /// By conversation; no handle yet for one whose turn is about to begin.
    running: HashMap<String, Option<TurnHandle>>,
    kept: VecDeque<(String, ConversationState)>,
    /// Turns that this process began, and their conversations, oldest first.
    known: VecDeque<(String, String)>,
}

/// A conversation that is taken, for a turn or for taking one back: no turn begins in it meanwhile. It is free again
/// when this is dropped.
pub struct Lease {
    turns: Arc<RunningTurns>,
    conversation: String,
    /// What is kept of the conversation, as long as that is true.
    state: Option<ConversationState>,
}

impl RunningTurns {
    /// Takes a conversation; `None` where it is taken.
    pub(super) fn reserve(self: &Arc<Self>, conversation: &str) -> Option<Lease> {
        let mut inner = self.lock();
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

    /// How many conversations have a turn that runs. One that is about to begin does not count.
    #[must_use]
    pub fn count(&self) -> usize {
        self.lock().running.values().flatten().count()
    }

    /// Whether any conversation is taken.
    #[must_use]
    pub fn any(&self) -> bool {
        !self.lock().running.is_empty()
    }

    /// Whether the conversation is taken.
    #[must_use]
    pub fn is_running(&self, conversation: &str) -> bool {
        self.lock().running.contains_key(conversation)
    }

    /// The running turn of this id.
    #[must_use]
    pub fn get(&self, turn: &str) -> Option<TurnHandle> {
        let inner = self.lock();
        let mut running = inner.running.values().flatten();
        running.find(|handle| handle.turn == turn).cloned()
    }

    /// All turns that run.
    #[must_use]
    pub fn all(&self) -> Vec<TurnHandle> {
        self.lock().running.values().flatten().cloned().collect()
    }

    /// The conversation in which this process last ran the turn; `None` where it never did.
    #[must_use]
    pub fn conversation_of(&self, turn: &str) -> Option<String> {
        let inner = self.lock();
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

    /// The client went: every turn is interrupted, also one that is about to begin. Returns when none runs.
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

    /// What is kept of the conversation is not true any more.
    pub(super) fn forget(&self, conversation: &str) {
        self.lock().kept.retain(|(id, _)| id != conversation);
    }

    fn free(&self, conversation: &str, state: Option<ConversationState>) {
        let mut inner = self.lock();
        inner.running.remove(conversation);
        if let Some(state) = state {
            inner.kept.push_back((conversation.to_owned(), state));
        }
        while inner.kept.len() > KEPT {
            inner.kept.pop_front();
        }
        drop(inner);
        self.change.notify_waiters();
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // What is done while it is held cannot panic halfway.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Lease {
    /// The conversation's id.
    #[must_use]
    pub fn conversation(&self) -> &str {
        &self.conversation
    }

    /// The conversation is other than what is kept of it.
    pub fn forget(&mut self) {
        self.state = None;
    }

    /// Hands out what is kept, which is gone then.
    pub(in crate::engine) fn take_state(&mut self) -> Option<ConversationState> {
        self.state.take()
    }

    /// Keeps this for the next turn, from when the conversation is free.
    pub(in crate::engine) fn keep(&mut self, state: Option<ConversationState>) {
        self.state = state;
    }

    /// The turn runs.
    pub(in crate::engine) fn runs(&self, handle: &TurnHandle) {
        let mut inner = self.turns.lock();
        let running = Some(handle.clone());
        inner.running.insert(self.conversation.clone(), running);
        let known = (handle.turn.clone(), self.conversation.clone());
        inner.known.push_back(known);
        if inner.known.len() > KNOWN {
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
