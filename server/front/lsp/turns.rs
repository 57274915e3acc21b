//! Running turns, and what each tells the client.

use std::{
    collections::{HashMap, VecDeque},
    sync::Mutex,
};

use tokio::{
    sync::{Notify, mpsc},
    task::JoinHandle,
};

use super::{
    fallback,
    hub::{SharedHub, lock},
    pieces::Pending,
    prompts,
};
use crate::{
    engine::{ConversationState, TurnHandle, TurnMessage},
    front::wire::{
        self, Prompt, QuestionUpdate, TurnCompleted, TurnRef, TurnUpdate,
        methods::{ConversationChanged, TurnEnded, TurnUpdated},
        requests::ConversationRef,
    },
    turn::effect::End,
};

/// Bytes that may wait for the client before updates are held back and joined.
const ENOUGH: usize = 64 * 1024;
/// Turns whose conversation is known, at the most.
const KNOWN: usize = 4096;
/// Conversations that are kept in memory after their turn, at the most.
const KEPT: usize = 8;

/// The turns that run, and the conversations that ran last.
#[derive(Default)]
pub(super) struct Turns {
    inner: Mutex<Inner>,
    /// Told when a turn runs or is over.
    change: Notify,
}

#[derive(Default)]
struct Inner {
    /// By conversation; nothing yet for one whose turn is about to begin.
    running: HashMap<String, Option<TurnHandle>>,
    /// Titles of conversations in which a turn runs.
    titles: HashMap<String, String>,
    kept: VecDeque<(String, ConversationState)>,
    /// Turns that this process began, and their conversations, oldest first.
    known: VecDeque<(String, String)>,
}

impl Turns {
    /// A turn runs.
    pub(super) fn any(&self) -> bool {
        !lock(&self.inner).running.is_empty()
    }

    /// Takes the conversation for a turn, with what is kept of it; `None` where one runs.
    pub(super) fn reserve(&self, conversation: &str) -> Option<Option<ConversationState>> {
        let mut inner = lock(&self.inner);
        if inner.running.contains_key(conversation) {
            return None;
        }
        inner.running.insert(conversation.to_owned(), None);
        let at = inner.kept.iter().position(|(id, _)| id == conversation);
        Some(
            at.and_then(|at| inner.kept.remove(at))
                .map(|(_, kept)| kept),
        )
    }

    /// The turn runs.
    pub(super) fn runs(&self, handle: &TurnHandle) {
        let running = Some(handle.clone());
        let mut inner = lock(&self.inner);
        inner.running.insert(handle.conversation.clone(), running);
        let known = (handle.turn.clone(), handle.conversation.clone());
        inner.known.push_back(known);
        if inner.known.len() > KNOWN {
            inner.known.pop_front();
        }
        drop(inner);
        self.change.notify_waiters();
    }

    /// The conversation in which this process last ran the turn; none where it never did.
    pub(super) fn conversation_of(&self, turn: &str) -> Option<String> {
        let inner = lock(&self.inner);
        let mut known = inner.known.iter().rev();
        known
            .find(|(id, _)| id == turn)
            .map(|(_, conversation)| conversation.clone())
    }

    /// The turn is over, or never began.
    pub(super) fn free(&self, conversation: &str, kept: Option<ConversationState>) {
        let mut inner = lock(&self.inner);
        inner.running.remove(conversation);
        inner.titles.remove(conversation);
        if let Some(kept) = kept {
            inner.kept.push_back((conversation.to_owned(), kept));
        }
        while inner.kept.len() > KEPT {
            inner.kept.pop_front();
        }
        drop(inner);
        self.change.notify_waiters();
    }

    /// The conversation, in which a turn runs, has this title.
    pub(super) fn named(&self, conversation: &str, title: String) {
        let mut inner = lock(&self.inner);
        if inner.running.contains_key(conversation) {
            inner.titles.insert(conversation.to_owned(), title);
        }
    }

    /// The title of a conversation, where turns run in others too, so that it has to be said which one asks.
    pub(super) fn title_among_several(&self, conversation: &str) -> Option<String> {
        let inner = lock(&self.inner);
        let title = inner.titles.get(conversation);
        let running = inner.running.values().flatten().count();
        title.filter(|_| running > 1).cloned()
    }

    /// Whether a turn runs in the conversation.
    pub(super) fn is_running(&self, conversation: &str) -> bool {
        lock(&self.inner).running.contains_key(conversation)
    }

    /// The running turn of this id.
    pub(super) fn get(&self, turn: &str) -> Option<TurnHandle> {
        let inner = lock(&self.inner);
        let mut running = inner.running.values().flatten();
        running.find(|handle| handle.turn == turn).cloned()
    }

    /// What is kept of the conversation is not true any more.
    pub(super) fn forget(&self, conversation: &str) {
        lock(&self.inner).kept.retain(|(id, _)| id != conversation);
    }

    /// The client went: every turn is interrupted, also one that is about to begin. Returns when none runs.
    pub(super) async fn leave(&self) {
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

    /// Waits until no turn runs in the conversation.
    pub(super) async fn idle(&self, conversation: &str) {
        loop {
            let change = self.change.notified();
            if !self.is_running(conversation) {
                return;
            }
            change.await;
        }
    }

    /// All that run.
    pub(super) fn all(&self) -> Vec<TurnHandle> {
        lock(&self.inner)
            .running
            .values()
            .flatten()
            .cloned()
            .collect()
    }
}

/// A turn on its way to the client.
struct Watched {
    hub: SharedHub,
    turn: TurnRef,
    handle: TurnHandle,
    seq: u64,
    pending: Pending,
    /// For a fallback client.
    fallback: Option<fallback::transcript::Teller>,
}

/// Tells the client what a turn says, to its end. What the engine says is taken at once, so that it never waits for
/// a slow client; what the client has not taken is joined.
pub(super) async fn watch(
    hub: SharedHub,
    handle: TurnHandle,
    mut messages: mpsc::Receiver<TurnMessage>,
    task: JoinHandle<Option<ConversationState>>,
) {
    let turn = TurnRef {
        conversation_id: handle.conversation.clone(),
        turn_id: handle.turn.clone(),
    };
    let mut watched = Watched {
        fallback: fallback::transcript::Teller::start(&hub, &turn).await,
        turn,
        hub,
        handle,
        seq: 0,
        pending: Pending::default(),
    };
    let end = loop {
        tokio::select! {
            biased;
            message = messages.recv() => match message {
                Some(TurnMessage::End(end)) => break Some(*end),
                Some(message) => watched.take(message).await,
                None => break None,
            },
            () = watched.hub.lsp().room(ENOUGH), if !watched.pending.is_empty() => watched.tell_next().await,
        }
    };
    while !watched.pending.is_empty() {
        watched.hub.lsp().room(ENOUGH).await;
        watched.tell_next().await;
    }
    // The task is over as soon as it has said so.
    let kept = task.await.unwrap_or_default();
    watched.end(end, kept).await;
}

impl Watched {
    async fn take(&mut self, message: TurnMessage) {
        match message {
            TurnMessage::Update(update) => {
                let update = wire::Update::from(update);
                if let wire::Update::Question(QuestionUpdate::Closed { prompt_id, .. }) = &update {
                    self.hub.prompts.settle(prompt_id);
                }
                if let Some(fallback) = &mut self.fallback {
                    return fallback.update(&update).await;
                }
                self.pending.push(update);
            }
            TurnMessage::ToolOutput { call_id, text } => {
                self.pending
                    .push(wire::Update::ToolOutput { call_id, text });
            }
            TurnMessage::Edited { call_id, uris } => {
                self.pending.push(wire::Update::Edit { call_id, uris });
            }
            TurnMessage::Title(title) => {
                let conversation = &self.turn.conversation_id;
                self.hub.turns.named(conversation, title.clone());
                self.pending.push(wire::Update::Title { title });
                self.changed().await;
            }
            TurnMessage::Prompt(prompt) => {
                let prompt = Prompt::new(&self.turn, *prompt);
                prompts::ask(&self.hub, prompt, &self.handle);
                self.changed().await;
                self.hub.tell_status(None).await;
            }
            TurnMessage::Dismiss(prompt, why) => {
                self.hub.dismiss(&prompt.0, &why).await;
                self.hub.tell_status(None).await;
            }
            // Taken before.
            TurnMessage::End(_) => {}
        }
    }

    async fn tell_next(&mut self) {
        let Some(update) = self.pending.pop() else {
            return;
        };
        self.seq += 1;
        let params = TurnUpdate {
            conversation_id: self.turn.conversation_id.clone(),
            turn_id: self.turn.turn_id.clone(),
            seq: self.seq,
            update,
        };
        self.hub.lsp().notify::<TurnUpdated>(params).await;
    }

    async fn changed(&self) {
        let conversation_id = self.turn.conversation_id.clone();
        self.hub
            .lsp()
            .notify::<ConversationChanged>(ConversationRef { conversation_id })
            .await;
    }

    /// The last message of a turn, after which the next one may begin.
    async fn end(mut self, end: Option<End>, kept: Option<ConversationState>) {
        self.hub.prompts.forget_turn(&self.turn.turn_id);
        self.hub.turns.free(&self.turn.conversation_id, kept);
        let completed = end.map(|end| TurnCompleted::new(&self.turn, end));
        if let Some(fallback) = self.fallback.take() {
            fallback.end(completed.as_ref()).await;
        }
        if let Some(completed) = completed {
            self.hub.lsp().notify::<TurnEnded>(completed).await;
        }
        self.changed().await;
        self.hub.tell_status(None).await;
    }
}
