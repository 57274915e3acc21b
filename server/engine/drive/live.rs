//! Questions that running tools ask: each waits here for its answer.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use aside_base::lock;
use aside_turn::{
    input::Input,
    model_text::ModelText,
    question::{Answer, Question},
    record::CallKey,
};
use futures_util::future::BoxFuture;
use tokio::sync::{mpsc, oneshot};

use super::tasks::Happening;

/// Live questions of a turn.
#[derive(Clone, Default)]
pub(in crate::engine) struct LiveQuestions(Arc<Mutex<WaitingQuestions>>);

#[derive(Default)]
struct WaitingQuestions {
    /// Whether a person could be asked.
    attended: bool,
    next: u32,
    open: HashMap<(CallKey, u32), oneshot::Sender<Result<Answer, String>>>,
}

impl LiveQuestions {
    /// Puts a question to the turn. Waits for the answer, or for a sentence with the reason why there is none.
    pub(in crate::engine) fn ask(
        &self,
        happenings: mpsc::Sender<Happening>,
        call: CallKey,
        question: Question,
    ) -> BoxFuture<'static, Result<Answer, String>> {
        let (answer, answered) = oneshot::channel();
        let number = {
            let mut waiting = lock(&self.0);
            waiting.next += 1;
            let number = waiting.next;
            waiting.open.insert((call, number), answer);
            number
        };
        Box::pin(async move {
            let input = Input::LiveQuestion(call, number, question);
            // Nobody answers after the end of the turn.
            let over = |_| ModelText::default().cancelled();
            let sent = happenings.send(Happening::Turn(input)).await;
            sent.map_err(|_| ModelText::default().cancelled())?;
            answered.await.map_err(over)?
        })
    }

    /// Sets whether a person could be asked.
    pub(in crate::engine) fn attend(&self, attended: bool) {
        lock(&self.0).attended = attended;
    }

    /// Whether a person could be asked.
    pub(in crate::engine) fn is_attended(&self) -> bool {
        lock(&self.0).attended
    }

    /// Delivers the answer to a question, or the reason why there is none.
    pub(in crate::engine) fn answer(
        &self,
        call: CallKey,
        number: u32,
        answer: Result<Answer, String>,
    ) {
        if let Some(waits) = lock(&self.0).open.remove(&(call, number)) {
            // The tool may be gone.
            let _ = waits.send(answer);
        }
    }
}
