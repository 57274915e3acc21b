//! Open prompts: shown to the client, then answered or withdrawn.

use std::sync::{
    Arc,
    atomic::{AtomicU8, Ordering},
};

use aside_turn::{input::PromptAnswer, question::Misfit, record::PromptId};
use dashmap::DashMap;
use tokio_util::sync::CancellationToken;

use crate::{
    engine::{TurnHandle, conversations::Conversations},
    front::wire,
};

/// Open prompts by id.
#[derive(Default)]
pub struct Prompts {
    open: DashMap<String, PendingPrompt>,
}

/// A prompt that is shown to a client.
#[derive(Clone)]
pub struct PendingPrompt {
    /// The prompt, as clients are sent it.
    pub prompt: Arc<wire::Prompt>,
    /// The turn that waits for the answer.
    pub turn: TurnHandle,
    /// Cancelled when the prompt is settled.
    pub closed: CancellationToken,
    /// The part of the prompt that the client has shown.
    pub sight: Arc<Sight>,
}

/// The part of a prompt that a client has shown: nothing, some of it, or all.
#[derive(Debug, Default)]
pub struct Sight(AtomicU8);

/// Reason why an answer was not accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// The prompt is no longer open.
    NotOpen,
    /// The answer does not fit the prompt, which stays open.
    Misfit(Misfit),
}

impl Sight {
    /// Notes that the prompt was shown, completely or in part. A complete showing is never undone.
    pub fn shown(&self, whole: bool) {
        self.0.fetch_max(1 + u8::from(whole), Ordering::Relaxed);
    }

    /// Whether any part was shown.
    #[must_use]
    pub fn was_shown(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// Whether the whole prompt was shown.
    #[must_use]
    pub fn was_whole(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}

impl Prompts {
    /// Number of open prompts.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// All open prompts.
    #[must_use]
    pub fn all(&self) -> Vec<PendingPrompt> {
        self.open.iter().map(|open| open.clone()).collect()
    }

    /// The open prompt with this id.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<PendingPrompt> {
        self.open.get(id).map(|open| open.clone())
    }

    /// Opens a prompt of a turn. A prompt with the same id, whose answer did not fit, is closed.
    pub(super) fn open(&self, prompt: wire::Prompt, turn: &TurnHandle) -> PendingPrompt {
        let open = PendingPrompt {
            prompt: Arc::new(prompt),
            turn: turn.clone(),
            closed: CancellationToken::new(),
            sight: Arc::default(),
        };
        let id = open.prompt.prompt_id.clone();
        if let Some(before) = self.open.insert(id, open.clone()) {
            before.closed.cancel();
        }
        open
    }

    /// Settles a prompt, if it is open.
    pub fn settle(&self, id: &str) {
        if let Some((_, open)) = self.open.remove(id) {
            open.closed.cancel();
        }
    }

    /// Closes all prompts of a turn that has ended.
    pub(super) fn forget_turn(&self, turn: &str) {
        self.open.retain(|_, open| {
            let stays = open.turn.turn != turn;
            if !stays {
                open.closed.cancel();
            }
            stays
        });
    }

    /// Answers a prompt from elsewhere than where it is shown, and settles it.
    ///
    /// # Errors
    /// An [`AnswerError`]; the prompt is not settled then.
    pub async fn answer(
        &self,
        open: &PendingPrompt,
        answer: PromptAnswer,
    ) -> Result<(), AnswerError> {
        let prompt = open.id();
        match open.turn.fits(prompt.clone(), answer.clone()).await {
            None => Err(AnswerError::NotOpen),
            Some(Err(misfit)) => Err(AnswerError::Misfit(misfit)),
            Some(Ok(())) => {
                open.turn.answer(prompt, answer).await;
                self.settle(&open.prompt.prompt_id);
                Ok(())
            }
        }
    }
}

impl PendingPrompt {
    /// Handles the client's reply to the prompt. An answer after the end of the turn is recorded, and false is
    /// returned. A client that removes a settled prompt from its screen has not replied.
    pub async fn reply(&self, answer: PromptAnswer, conversations: &Conversations) -> bool {
        let says_nothing = matches!(answer, PromptAnswer::Cancel | PromptAnswer::Failed(_));
        if says_nothing && self.closed.is_cancelled() {
            return false;
        }
        let is_taken = self.turn.answer(self.id(), answer).await;
        if !is_taken && !says_nothing {
            conversations
                .record_late_answer(&self.turn, self.id())
                .await;
        }
        is_taken
    }

    fn id(&self) -> PromptId {
        PromptId(self.prompt.prompt_id.clone())
    }
}
