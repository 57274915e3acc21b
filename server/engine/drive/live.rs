//! Questions that tools ask while they run: each waits here for its answer.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use aside_turn::{
    input::Input,
    model_text::ModelText,
    question::{Answer, Question},
    record::CallKey,
};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::tasks::Happening;

/// The live questions of a turn.
#[derive(Clone, Default)]
pub(in crate::engine) struct LiveQuestions(Arc<Mutex<WaitingQuestions>>);

#[derive(Default)]
struct WaitingQuestions {
    /// A person is there who could be asked.
    attended: bool,
    next: u32,
    open: HashMap<(CallKey, u32), oneshot::Sender<Result<Answer, String>>>,
}

impl LiveQuestions {
    /// Puts a question to the turn, and waits for what comes of it: an answer, or why there is none.
    pub(in crate::engine) fn ask(
        &self,
        happenings: mpsc::Sender<Happening>,
        call: CallKey,
        question: Question,
    ) -> BoxFuture<'static, Result<Answer, String>> {
        let (answer, answered) = oneshot::channel();
        let number = {
            let mut waiting = self.lock();
            waiting.next += 1;
            let number = waiting.next;
            waiting.open.insert((call, number), answer);
            number
        };
        Box::pin(async move {
            let input = Input::LiveQuestion(call, number, question);
            // Where the turn is over, nobody answers.
            let over = |_| ModelText::default().cancelled();
            let sent = happenings.send(Happening::Turn(input)).await;
            sent.map_err(|_| ModelText::default().cancelled())?;
            answered.await.map_err(over)?
        })
    }

    /// Takes in whether a person is there who could be asked.
    pub(in crate::engine) fn attend(&self, attended: bool) {
        self.lock().attended = attended;
    }

    /// Whether a person is there who could be asked.
    pub(in crate::engine) fn is_attended(&self) -> bool {
        self.lock().attended
    }

    /// What came of a question.
    pub(in crate::engine) fn answer(
        &self,
        call: CallKey,
        number: u32,
        answer: Result<Answer, String>,
    ) {
        if let Some(waits) = self.lock().open.remove(&(call, number)) {
            // The tool may be gone.
            let _ = waits.send(answer);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, WaitingQuestions> {
        // Each change is whole.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
