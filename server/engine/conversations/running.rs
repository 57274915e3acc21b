//! Running turns, and the kept states of recent conversations.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Duration,
};

use aside_base::lock;
use tokio::sync::Notify;

use crate::engine::drive::{handle::TurnHandle, state::ConversationState};

/// Maximum number of turns whose conversation is remembered.
const MAX_KNOWN: usize = 4096;
/// Maximum number of conversations whose state is kept in memory.
const MAX_KEPT: usize = 8;

/// Time in which a turn that gives way has to end.
const GIVES_WAY: Duration = Duration::from_secs(10);

/// Running turns, and the states of recent conversations.
#[derive(Default)]
pub struct RunningTurns {
    inner: Mutex<Inner>,
    /// Notified when a conversation is free, for threads that wait.
    freed: Condvar,
    /// Notified when a turn starts or ends.
    change: Notify,
}

#[derive(Default)]
struct Inner {
    /// The conversations that are reserved, by id.
    running: HashMap<String, Reserved>,
    kept: VecDeque<(String, ConversationState)>,
    /// Turns that this process started, with their conversations, oldest first.
    known: VecDeque<(String, String)>,
}

/// What reserves a conversation.
#[derive(Default)]
struct Reserved {
    /// The turn; `None` if it is about to start.
    turn: Option<TurnHandle>,
    /// Whether nobody asked for it, so that it ends where something else is to happen in the conversation.
    is_unasked: bool,
    /// Whether something waits for that.
    is_in_the_way: bool,
}

/// A reserved conversation: no other turn starts in it. Dropping the lease frees it.
pub struct Lease {
    turns: Arc<RunningTurns>,
    conversation: String,
    /// State kept from the last turn, as long as it is valid.
    state: Option<ConversationState>,
}

impl RunningTurns {
    /// Reserves a conversation; `None` if it is reserved already. What gives way is waited for.
    pub(super) fn reserve(self: &Arc<Self>, conversation: &str) -> Option<Lease> {
        self.make_room(conversation);
        self.take(conversation, Reserved::default())
    }

    /// Reserves a conversation for a turn for which nobody asked, and which gives way; `None` if it is reserved already.
    pub(super) fn reserve_meanwhile(self: &Arc<Self>, conversation: &str) -> Option<Lease> {
        let unasked = Reserved {
            is_unasked: true,
            ..Reserved::default()
        };
        self.take(conversation, unasked)
    }

    fn take(self: &Arc<Self>, conversation: &str, reserved: Reserved) -> Option<Lease> {
        let mut inner = lock(&self.inner);
        if inner.running.contains_key(conversation) {
            return None;
        }
        inner.running.insert(conversation.to_owned(), reserved);
        let at = inner.kept.iter().position(|(id, _)| id == conversation);
        let kept = at.and_then(|at| inner.kept.remove(at));
        Some(Lease {
            turns: self.clone(),
            conversation: conversation.to_owned(),
            state: kept.map(|(_, state)| state),
        })
    }

    /// Ends the turn of the conversation if that gives way. Blocks until it is over.
    pub(super) fn make_room(&self, conversation: &str) {
        let mut inner = lock(&self.inner);
        if let Some(reserved) = inner.running.get_mut(conversation)
            && reserved.gives_way()
            && !std::mem::replace(&mut reserved.is_in_the_way, true)
            && let Some(turn) = &reserved.turn
        {
            turn.give_way();
        }
        let gives_way = |inner: &mut Inner| {
            let reserved = inner.running.get(conversation);
            reserved.is_some_and(Reserved::gives_way)
        };
        let waited = self.freed.wait_timeout_while(inner, GIVES_WAY, gives_way);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Number of running turns, without those that are about to start.
    #[must_use]
    pub fn count(&self) -> usize {
        lock(&self.inner).turns().count()
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
        inner.turns().find(|handle| handle.turn == turn).cloned()
    }

    /// All running turns.
    #[must_use]
    pub fn all(&self) -> Vec<TurnHandle> {
        lock(&self.inner).turns().cloned().collect()
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
        self.freed.notify_all();
        self.change.notify_waiters();
    }
}

impl Reserved {
    fn gives_way(&self) -> bool {
        self.is_unasked && !self.turn.as_ref().is_some_and(TurnHandle::is_steered)
    }
}

impl Inner {
    fn turns(&self) -> impl Iterator<Item = &TurnHandle> {
        self.running
            .values()
            .filter_map(|reserved| reserved.turn.as_ref())
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
        if let Some(reserved) = inner.running.get_mut(&self.conversation) {
            reserved.turn = Some(handle.clone());
            if reserved.is_in_the_way {
                handle.give_way();
            }
        }
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
