//! One session with a server: requests, replies, and waits with a deadline.
//!
//! What has come and was not asked for yet is kept in order; a wait takes the first message that it is for and
//! leaves the others.

use std::{
    collections::VecDeque,
    time::{Duration, Instant},
};

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::{
    Failure, Step, framing,
    ledger::Ledger,
    process::{Process, Read},
    wire::{Completed, Dismiss, Prompt, Question, Settled, TurnUpdate, Update},
};

/// Messages that nobody asked for, at the most.
const MAX_KEPT: usize = 100_000;

/// What a client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// The protocol, prompts included.
    Aside,
    /// The Language Server Protocol alone.
    LspAlone,
}

/// A message of the server.
#[derive(Clone, Debug)]
pub enum Message {
    /// To a request of the driver's.
    Response(i64, Result<Value, RpcError>),
    /// Id, method, params.
    Request(Value, String, Value),
    /// Method, params.
    Notification(String, Value),
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// Its code.
    pub code: i64,
    /// What it says.
    pub message: String,
}

/// A turn that was started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Its conversation.
    pub conversation: String,
    /// It.
    pub turn: String,
}

/// A prompt as it was shown: the request's id, and what it asks.
#[derive(Clone, Debug)]
pub struct Shown {
    /// For the reply.
    pub request: Value,
    /// What is asked.
    pub prompt: Prompt,
}

/// A session.
#[derive(Debug)]
pub struct Client {
    process: Process,
    ledger: Ledger,
    kept: VecDeque<Message>,
    timeout: Duration,
    requests: i64,
}

/// An answer, as a person gives it.
pub fn answer(value: impl Into<Value>) -> Value {
    json!({"action": "answer", "answer": value.into()})
}

impl Client {
    /// With a server that was just started.
    pub fn new(process: Process, ledger: Ledger, timeout: Duration) -> Self {
        Self { process, ledger, kept: VecDeque::new(), timeout, requests: 0 }
    }

    /// `initialize` with these params, and `initialized`.
    ///
    /// # Errors
    /// Where the server does not answer with a result.
    pub fn handshake(&mut self, params: &Value) -> Step<Value> {
        let result = self.call("initialize", params.clone())?;
        self.notify("initialized", json!({}));
        Ok(result)
    }

    /// Sends a notification.
    pub fn notify(&self, method: &str, params: Value) {
        self.send(&with_params(json!({"jsonrpc": "2.0", "method": method}), params));
    }

    /// Sends a request and gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.requests += 1;
        self.send(&with_params(json!({"jsonrpc": "2.0", "id": self.requests, "method": method}), params));
        self.requests
    }

    /// Writes bytes that are no message.
    pub fn send_bytes(&self, bytes: &[u8]) {
        self.process.write(bytes.to_vec());
    }

    /// Waits for the response to a request.
    ///
    /// # Errors
    /// Where none comes.
    pub fn response(&mut self, id: i64, what: &str) -> Step<Result<Value, RpcError>> {
        self.wait(&format!("a response to {what}"), |message| match message {
            Message::Response(to, result) if *to == id => Some(result.clone()),
            _ => None,
        })
    }

    /// A request that has to succeed.
    ///
    /// # Errors
    /// Where it is answered with an error, or not.
    pub fn call(&mut self, method: &str, params: Value) -> Step<Value> {
        let id = self.request(method, params);
        self.response(id, method)?
            .map_err(|error| Failure(format!("`{method}` was answered with {}: {}", error.code, error.message)))
    }

    /// A request that has to fail with this code.
    ///
    /// # Errors
    /// Where it does not.
    pub fn refused(&mut self, method: &str, params: Value, code: i64) -> Step<RpcError> {
        let id = self.request(method, params);
        match self.response(id, method)? {
            Err(error) if error.code == code => Ok(error),
            Err(error) => Err(Failure(format!(
                "`{method}` was refused with {} and not with {code}: {}",
                error.code, error.message
            ))),
            Ok(result) => Err(Failure(format!("`{method}` was answered with {result} and not refused with {code}"))),
        }
    }

    /// Starts a turn in a new conversation.
    ///
    /// # Errors
    /// Where the server does not.
    pub fn ask(&mut self, prompt: &str) -> Step<Turn> {
        self.turn(json!({"prompt": prompt}))
    }

    /// Starts a turn with these params.
    ///
    /// # Errors
    /// Where the server does not.
    pub fn turn(&mut self, params: Value) -> Step<Turn> {
        let result = self.call("aside/turn/start", params)?;
        let id = |key: &str| {
            let id = result[key].as_str().map(str::to_owned);
            id.ok_or_else(|| Failure(format!("the result of `aside/turn/start` has no {key}")))
        };
        Ok(Turn { conversation: id("conversationId")?, turn: id("turnId")? })
    }

    /// Resumes the interrupted turn of a conversation.
    ///
    /// # Errors
    /// Where the server does not.
    pub fn resume(&mut self, turn: &Turn) -> Step {
        self.ledger.resumed(&turn.turn);
        let result = self.call("aside/turn/resume", json!({"conversationId": turn.conversation}))?;
        crate::check(
            result["turnId"] == *turn.turn,
            format!("`aside/turn/resume` gave {} and not the turn {}", result["turnId"], turn.turn),
        )
    }

    /// Waits for the next prompt.
    ///
    /// # Errors
    /// Where none comes.
    pub fn prompt(&mut self) -> Step<Shown> {
        self.wait("`aside/prompt`", shown)
    }

    /// Replies to a prompt.
    pub fn reply(&mut self, shown: &Shown, result: Value) {
        self.ledger.replied(&shown.prompt.prompt_id);
        self.respond(&shown.request, result);
    }

    /// Replies to any request of the server's.
    pub fn respond(&self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request, "result": result}));
    }

    /// Replies to a prompt with a JSON-RPC error.
    pub fn reply_error(&mut self, shown: &Shown, message: &str) {
        self.ledger.replied(&shown.prompt.prompt_id);
        self.respond_error(&shown.request, message);
    }

    /// Replies to any request of the server's with a JSON-RPC error.
    pub fn respond_error(&self, request: &Value, message: &str) {
        self.send(&json!({"jsonrpc": "2.0", "id": request, "error": {"code": -32603, "message": message}}));
    }

    /// Answers a prompt by `aside/prompt/answer`, in place of the reply.
    ///
    /// # Errors
    /// Where that is refused.
    pub fn answer_elsewhere(&mut self, prompt: &str, result: Value) -> Step {
        self.call("aside/prompt/answer", json!({"promptId": prompt, "answer": result})).map(drop)
    }

    /// Waits until the server says what became of a prompt.
    ///
    /// # Errors
    /// Where it does not.
    pub fn settled(&mut self, prompt: &str) -> Step<Settled> {
        self.wait(&format!("the closing of {prompt}"), |message| match update(message)?.1 {
            Update::Question(Question::Closed(settled)) if settled.prompt_id == prompt => Some(settled),
            _ => None,
        })
    }

    /// Waits for the dismissal of a prompt.
    ///
    /// # Errors
    /// Where none comes.
    pub fn dismissed(&mut self, prompt: &str) -> Step<Dismiss> {
        self.wait(&format!("the dismissal of {prompt}"), |message| {
            let dismiss: Dismiss = notification(message, "aside/prompt/dismiss")?;
            (dismiss.prompt_id == prompt).then_some(dismiss)
        })
    }

    /// Waits for an update of this turn that is `wanted`.
    ///
    /// # Errors
    /// Where none comes.
    pub fn update(&mut self, turn: &Turn, what: &str, wanted: impl Fn(&Update) -> bool) -> Step<Update> {
        self.wait(what, |message| {
            let (of, update) = update(message)?;
            (of == turn.turn && wanted(&update)).then_some(update)
        })
    }

    /// Waits for the end of a turn.
    ///
    /// # Errors
    /// Where it does not end.
    pub fn completed(&mut self, turn: &Turn) -> Step<Completed> {
        self.wait("`aside/turn/completed`", |message| {
            let completed: Completed = notification(message, "aside/turn/completed")?;
            (completed.turn_id == turn.turn).then_some(completed)
        })
    }

    /// Waits for the next prompt, or for the end of this turn: then none.
    ///
    /// # Errors
    /// Where neither comes.
    pub fn prompt_or_end(&mut self, turn: &Turn) -> Step<Option<Shown>> {
        self.wait("a prompt or the end of the turn", |message| {
            let completed: Option<Completed> = notification(message, "aside/turn/completed");
            match completed {
                Some(completed) => (completed.turn_id == turn.turn).then_some(None),
                None => shown(message).map(Some),
            }
        })
    }

    /// The open prompts, by `aside/prompt/pending`. What the server did before it answered has come then.
    ///
    /// # Errors
    /// Where the server does not say.
    pub fn pending(&mut self) -> Step<Vec<Prompt>> {
        let mut result = self.call("aside/prompt/pending", json!({}))?;
        serde_json::from_value(result["prompts"].take())
            .map_err(|error| Failure(format!("the result of `aside/prompt/pending` is not well-formed: {error}")))
    }

    /// Waits for a message that `take` takes.
    ///
    /// # Errors
    /// Where none came until the deadline, or the server ended.
    pub fn wait<T>(&mut self, what: &str, take: impl Fn(&Message) -> Option<T>) -> Step<T> {
        if let Some(taken) = self.take(&take) {
            return Ok(taken);
        }
        let deadline = Instant::now() + self.timeout;
        loop {
            match self.next(deadline) {
                Err(_) => return Err(Failure(format!("{what} did not come within {:?}", self.timeout))),
                Ok(None) => return Err(Failure(format!("{what} did not come: the server ended"))),
                Ok(Some(())) => {}
            }
            if self.kept.len() > MAX_KEPT {
                return Err("the server sent too many messages that nobody asked for".into());
            }
            let Some(last) = self.kept.back() else { continue };
            if let Some(taken) = take(last) {
                self.kept.pop_back();
                return Ok(taken);
            }
        }
    }

    /// Takes the first message that has come already and that `take` takes.
    pub fn take<T>(&mut self, take: &impl Fn(&Message) -> Option<T>) -> Option<T> {
        let (place, taken) = self.kept.iter().enumerate().find_map(|(place, message)| Some((place, take(message)?)))?;
        self.kept.remove(place);
        Some(taken)
    }

    /// The next prompt among what has come already.
    pub fn shown(&mut self) -> Option<Shown> {
        self.take(&shown)
    }

    /// `shutdown`, `exit`, and the server's end.
    ///
    /// # Errors
    /// Where the server does not follow.
    pub fn leave(&mut self) -> Step {
        let id = self.request("shutdown", Value::Null);
        let result = self.response(id, "shutdown")?;
        crate::check(result == Ok(Value::Null), format!("`shutdown` was answered with {result:?} and not with null"))?;
        self.notify("exit", Value::Null);
        self.ended()
    }

    /// Closes the server's standard input and waits for its end; what was left to read can be taken still.
    ///
    /// # Errors
    /// Where it does not end.
    pub fn vanish(&mut self) -> Step {
        self.process.close();
        self.ended()
    }

    /// Waits for the server's end; what was left to read can be taken still.
    ///
    /// # Errors
    /// Where it does not end.
    pub fn ended(&mut self) -> Step {
        let deadline = Instant::now() + self.timeout;
        while self
            .next(deadline)
            .map_err(|_| Failure(format!("the server did not end within {:?}", self.timeout)))?
            .is_some()
        {}
        self.process.exited(deadline)
    }

    fn send(&self, message: &Value) {
        self.process.write(framing::frame(message));
    }

    /// Keeps the next message; none at the end of the output.
    fn next(&mut self, deadline: Instant) -> Result<Option<()>, Failure> {
        let mut message = match self.process.read(deadline) {
            Err(_) => return Err("nothing came".into()),
            Ok(None) => return Ok(None),
            Ok(Some(Read::Broken(what))) => {
                self.ledger.broken(&what);
                return Ok(None);
            }
            Ok(Some(Read::Message(message))) => message,
        };
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let method = message.get("method").and_then(Value::as_str).map(str::to_owned);
        let params = message.get_mut("params").map(Value::take).unwrap_or_default();
        if let Some(method) = &method {
            self.ledger.received(method, id.is_some(), &params);
        }
        let message = match (id, method) {
            (Some(id), Some(method)) => {
                if !["aside/prompt", "window/showMessageRequest"].contains(&method.as_str()) {
                    self.send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not declared"}}));
                }
                Message::Request(id, method, params)
            }
            (None, Some(method)) => Message::Notification(method, params),
            (id, None) => {
                let id = id.and_then(|id| id.as_i64()).unwrap_or_default();
                Message::Response(id, response(&mut message))
            }
        };
        self.kept.push_back(message);
        Ok(Some(()))
    }
}

/// The params of a notification of this method.
pub fn notification<T: DeserializeOwned>(message: &Message, method: &str) -> Option<T> {
    match message {
        Message::Notification(name, params) if name == method => T::deserialize(params).ok(),
        _ => None,
    }
}

/// The turn and the update, if the message is one.
pub fn update(message: &Message) -> Option<(String, Update)> {
    let params: TurnUpdate = notification(message, "aside/turn/update")?;
    Some((params.turn_id, Update::read(&params.update).ok().flatten()?))
}

/// The prompt, if the message shows one.
pub fn shown(message: &Message) -> Option<Shown> {
    match message {
        Message::Request(id, method, params) if method == "aside/prompt" => {
            let prompt = serde_json::from_value(params.clone()).ok()?;
            Some(Shown { request: id.clone(), prompt })
        }
        _ => None,
    }
}

/// Methods without params have no such member.
fn with_params(mut message: Value, params: Value) -> Value {
    if !params.is_null() {
        message["params"] = params;
    }
    message
}

fn response(message: &mut Value) -> Result<Value, RpcError> {
    match message.get("error") {
        None => Ok(message.get_mut("result").map(Value::take).unwrap_or_default()),
        Some(error) => Err(RpcError {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        }),
    }
}
