//! Prompts that wait for an answer: put to the client, answered by it or in another way, dismissed.

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

/// The prompts that are open, by id.
#[derive(Default)]
pub struct Prompts {
    open: DashMap<String, PendingPrompt>,
}

/// A prompt that was put to a client.
#[derive(Clone)]
pub struct PendingPrompt {
    /// What is asked.
    pub prompt: Arc<wire::Prompt>,
    /// The turn that asks.
    pub turn: TurnHandle,
    /// Cancelled when the prompt is settled.
    pub closed: CancellationToken,
    /// What the client has shown of it.
    pub sight: Arc<Sight>,
}

/// What a client has shown of a prompt: nothing, a part, or the whole.
#[derive(Debug, Default)]
pub struct Sight(AtomicU8);

/// Why an answer was not taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerError {
    /// The prompt is not open any more.
    NotOpen,
    /// The answer does not fit the prompt, which stays open.
    Misfit(Misfit),
}

impl Sight {
    /// It was shown, whole or in part. What was once shown whole stays so.
    pub fn shown(&self, whole: bool) {
        self.0.fetch_max(1 + u8::from(whole), Ordering::Relaxed);
    }

    /// Something of it was shown.
    #[must_use]
    pub fn was_shown(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 0
    }

    /// All of it was shown.
    #[must_use]
    pub fn was_whole(&self) -> bool {
        self.0.load(Ordering::Relaxed) > 1
    }
}

impl Prompts {
    /// How many are open.
    #[must_use]
    pub fn count(&self) -> usize {
        self.open.len()
    }

    /// Those that are open.
    #[must_use]
    pub fn all(&self) -> Vec<PendingPrompt> {
        self.open.iter().map(|open| open.clone()).collect()
    }

    /// The prompt of this id, if it is open.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<PendingPrompt> {
        self.open.get(id).map(|open| open.clone())
    }

    /// A prompt of a turn is open. One of the same id, whose answer did not fit, is closed.
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

    /// The prompt is settled, if it was not already.
    pub fn settle(&self, id: &str) {
        if let Some((_, open)) = self.open.remove(id) {
            open.closed.cancel();
        }
    }

    /// A turn is over: none of its prompts is open.
    pub(super) fn forget_turn(&self, turn: &str) {
        self.open.retain(|_, open| {
            let stays = open.turn.turn != turn;
            if !stays {
                open.closed.cancel();
            }
            stays
        });
    }

    /// Answers a prompt in another way than where it was shown, and settles it.
    ///
    /// # Errors
    /// An [`AnswerError`]; nothing is settled then.
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
    /// What came of showing the prompt. An answer that comes after the turn is put on record, and false is returned.
    /// A client that takes a settled prompt off its screen says nothing.
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
