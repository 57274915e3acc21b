//! Questions that running tools ask: each waits here for its answer.

use std::{
    collections::{HashMap, HashSet},
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
use tokio::{
    runtime::Handle,
    sync::{
        mpsc::{self, error::TrySendError},
        oneshot,
    },
};

use super::tasks::Happening;

/// Live questions of a turn.
#[derive(Clone, Default)]
pub(in crate::engine) struct LiveQuestions(Arc<Mutex<WaitingQuestions>>);

#[derive(Default)]
struct WaitingQuestions {
    /// Whether a person could be asked.
    attended: bool,
    next: u32,
    /// The calls that run, which alone may ask.
    running: HashSet<CallKey>,
    open: HashMap<(CallKey, u32), oneshot::Sender<Result<Answer, String>>>,
}

/// A question that waits. When nobody waits for the answer any more, it is no longer open, and the turn is told.
struct OpenQuestion {
    questions: LiveQuestions,
    key: (CallKey, u32),
    happenings: mpsc::Sender<Happening>,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if lock(&self.questions.0).open.remove(&self.key).is_none() {
            return;
        }
        let (call, number) = self.key;
        let withdrawn = Happening::Turn(Input::LiveWithdrawn(call, number));
        // Where the queue is full, the message waits for room by itself.
        if let Err(TrySendError::Full(withdrawn)) = self.happenings.try_send(withdrawn)
            && let Ok(runtime) = Handle::try_current()
        {
            let happenings = self.happenings.clone();
            runtime.spawn(async move {
                // Nobody is told after the end of the turn.
                let _ = happenings.send(withdrawn).await;
            });
        }
    }
}

impl LiveQuestions {
    /// Puts a question to the turn. Waits for the answer, or for a sentence with the reason why there is none. The wait
    /// ends with the call.
    pub(in crate::engine) fn ask(
        &self,
        happenings: mpsc::Sender<Happening>,
        call: CallKey,
        question: Question,
    ) -> BoxFuture<'static, Result<Answer, String>> {
        let over = || ModelText::default().cancelled();
        let Some((number, answered)) = self.open(call) else {
            return Box::pin(std::future::ready(Err(over())));
        };
        let open = OpenQuestion {
            questions: self.clone(),
            key: (call, number),
            happenings: happenings.clone(),
        };
        Box::pin(async move {
            let _open = open;
            let input = Input::LiveQuestion(call, number, question);
            // Nobody answers after the end of the turn.
            let sent = happenings.send(Happening::Turn(input)).await;
            sent.map_err(|_| over())?;
            answered.await.map_err(|_| over())?
        })
    }

    fn open(&self, call: CallKey) -> Option<(u32, oneshot::Receiver<Result<Answer, String>>)> {
        let mut waiting = lock(&self.0);
        if !waiting.running.contains(&call) {
            return None;
        }
        let (answer, answered) = oneshot::channel();
        waiting.next += 1;
        let number = waiting.next;
        waiting.open.insert((call, number), answer);
        Some((number, answered))
    }

    /// Lets a call ask, which begins to run.
    pub(in crate::engine) fn begin(&self, call: CallKey) {
        lock(&self.0).running.insert(call);
    }

    /// Ends the questions of a call that ended, whoever still waits for an answer.
    pub(in crate::engine) fn end(&self, call: CallKey) {
        let mut waiting = lock(&self.0);
        waiting.running.remove(&call);
        waiting.open.retain(|(of, _), _| *of != call);
    }

    /// Ends all questions, with the turn.
    pub(in crate::engine) fn close(&self) {
        let mut waiting = lock(&self.0);
        waiting.running.clear();
        waiting.open.clear();
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

#[cfg(test)]
mod tests {
    use std::task::Poll;

    use aside_turn::question::AnswerType;
    use futures_util::{FutureExt, poll};

    use super::*;

    /// Whoever asks may outlive the call, and the turn: a server of the Model Context Protocol does.
    #[tokio::test]
    async fn what_waits_for_an_answer_ends_with_its_call_and_with_the_turn() {
        let (say, mut heard) = mpsc::channel(8);
        let live = LiveQuestions::default();
        let (one, other) = (CallKey(1), CallKey(2));
        let ask = |call| {
            let question = Question::new("place", "Where?", AnswerType::text());
            live.ask(say.clone(), call, question)
        };
        assert!(ask(one).await.is_err(), "no call runs");
        live.begin(one);
        live.begin(other);
        let (mut first, mut second, third) = (ask(one), ask(other), ask(one));
        assert_eq!(poll!(&mut first), Poll::Pending);
        assert_eq!(poll!(&mut second), Poll::Pending);
        drop(third);
        assert_eq!(lock(&live.0).open.len(), 2, "nobody waits for the third");
        live.end(one);
        assert!(first.await.is_err());
        assert_eq!(poll!(&mut second), Poll::Pending, "another call goes on");
        assert!(ask(one).now_or_never().unwrap().is_err());
        live.close();
        assert!(second.await.is_err());
        assert!(ask(other).now_or_never().unwrap().is_err());
        assert!(lock(&live.0).open.is_empty());
        assert!(heard.recv().now_or_never().is_some());
    }
}
