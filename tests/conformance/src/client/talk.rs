//! Turns and prompts, as a client handles them.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Value, json};

use super::{Client, Shown, closing, notification, shown, update};
use crate::{
    Failure, Step,
    wire::{self, DismissParams, PendingResult, Prompt, Settled, TurnCompleted, Update},
};

/// A turn that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// The conversation that the turn belongs to.
    pub conversation: String,
    /// The id of the turn.
    pub turn: String,
}

/// An answer, as a person gives it.
pub fn answer(value: impl Into<Value>) -> Value {
    json!({"action": "answer", "answer": value.into()})
}

impl Client {
    /// A request whose result has to be well-formed.
    pub fn get<T: DeserializeOwned + Serialize>(&mut self, method: &str, params: Value) -> Step<T> {
        let result = self.call(method, params)?;
        wire::read(&result).map_err(|why| {
            Failure(format!(
                "the result of `{method}` is not well-formed: {why}"
            ))
        })
    }

    /// Starts a turn in a new conversation.
    pub fn ask(&mut self, prompt: &str) -> Step<Turn> {
        self.turn(json!({"message": prompt}))
    }

    /// Starts a turn with these params.
    pub fn turn(&mut self, params: Value) -> Step<Turn> {
        let result = self.call("aside/turn/start", params)?;
        let id = |key: &str| {
            let id = result[key].as_str().map(str::to_owned);
            id.ok_or_else(|| Failure(format!("the result of `aside/turn/start` has no {key}")))
        };
        Ok(Turn {
            conversation: id("conversationId")?,
            turn: id("turnId")?,
        })
    }

    /// Resumes the interrupted turn of a conversation.
    pub fn resume(&mut self, turn: &Turn) -> Step {
        self.ledger.resumed(&turn.turn);
        let result = self.call(
            "aside/turn/resume",
            json!({"conversationId": turn.conversation}),
        )?;
        crate::check(
            result["turnId"] == *turn.turn,
            format!(
                "`aside/turn/resume` gave {} and not the turn {}",
                result["turnId"], turn.turn
            ),
        )
    }

    /// Waits for the next prompt.
    pub fn prompt(&mut self) -> Step<Shown> {
        self.wait("`aside/prompt`", shown)
    }

    /// Replies to a prompt.
    pub fn reply(&mut self, shown: &Shown, result: Value) {
        self.ledger.replied(&shown.prompt.prompt_id);
        self.respond(&shown.request, result);
    }

    /// Replies to a prompt with a JSON-RPC error.
    pub fn reply_error(&mut self, shown: &Shown, message: &str) {
        self.ledger.replied(&shown.prompt.prompt_id);
        self.respond_error(&shown.request, message);
    }

    /// Answers a prompt by `aside/prompt/answer`, in place of the reply.
    pub fn answer_elsewhere(&mut self, prompt: &str, result: Value) -> Step {
        self.call(
            "aside/prompt/answer",
            json!({"promptId": prompt, "answer": result}),
        )
        .map(drop)
    }

    /// Waits until the server says what became of a prompt.
    pub fn settled(&mut self, prompt: &str) -> Step<Settled> {
        self.wait(&format!("the closing of {prompt}"), |message| {
            closing(message).filter(|settled| settled.prompt_id == prompt)
        })
    }

    /// Waits for the dismissal of a prompt.
    pub fn dismissed(&mut self, prompt: &str) -> Step<DismissParams> {
        self.wait(&format!("the dismissal of {prompt}"), |message| {
            let dismiss: DismissParams = notification(message, "aside/prompt/dismiss")?;
            (dismiss.prompt_id == prompt).then_some(dismiss)
        })
    }

    /// Waits for an update of this turn that is `wanted`.
    pub fn update(
        &mut self,
        turn: &Turn,
        what: &str,
        wanted: impl Fn(&Update) -> bool,
    ) -> Step<Update> {
        self.wait(what, |message| {
            let (of, update) = update(message)?;
            (of == turn.turn && wanted(&update)).then_some(update)
        })
    }

    /// Waits for the end of a turn.
    pub fn completed(&mut self, turn: &Turn) -> Step<TurnCompleted> {
        self.wait("`aside/turn/completed`", |message| {
            let completed: TurnCompleted = notification(message, "aside/turn/completed")?;
            (completed.turn_id == turn.turn).then_some(completed)
        })
    }

    /// Waits for the next prompt, or for the end of this turn: then none.
    pub fn prompt_or_end(&mut self, turn: &Turn) -> Step<Option<Shown>> {
        self.wait("a prompt or the end of the turn", |message| {
            let completed: Option<TurnCompleted> = notification(message, "aside/turn/completed");
            match completed {
                Some(completed) => (completed.turn_id == turn.turn).then_some(None),
                None => shown(message).map(Some),
            }
        })
    }

    /// The open prompts, by `aside/prompt/pending`. What the server did before it answered has come then.
    pub fn pending(&mut self) -> Step<Vec<Prompt>> {
        let result: PendingResult = self.get("aside/prompt/pending", json!({}))?;
        Ok(result.prompts)
    }

    /// The next prompt among what has come already.
    pub fn shown(&mut self) -> Option<Shown> {
        self.take(&shown)
    }
}
