//! One session with a server: requests, replies, and waits with a deadline.
//!
//! What has come and was not asked for yet is kept in order; a wait takes the first message that it is for and
//! leaves the others.

mod agent;
mod message;
mod talk;

pub use agent::Asked;
pub use message::{Message, RpcError, Shown, closing, notification, shown, update};
pub use talk::{Turn, answer};

use std::{
    collections::VecDeque,
    io,
    process::{ChildStdin, ChildStdout},
    sync::mpsc::{Receiver, RecvTimeoutError, sync_channel},
    time::{Duration, Instant},
};

use aside_test_client::{
    Server,
    framing::{self, Frames},
    pipes::{QueuedInput, read_into},
};
use serde_json::{Value, json};

use crate::{Failure, Step, ledger::Ledger};

/// Messages that nobody asked for, at the most.
const MAX_KEPT: usize = 100_000;
/// Messages that were read before anybody waits for them, at the most.
const MAX_READ: usize = 1024;
/// What a client declares that it may be asked.
const ASKS: [&str; 4] = [
    "aside/prompt",
    "window/showMessageRequest",
    "session/request_permission",
    "elicitation/create",
];
/// Letters of the server's standard error that are told.
const COMPLAINT: usize = 300;

/// What a client knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Knows {
    /// The protocol, prompts included.
    Aside,
    /// The Language Server Protocol alone.
    LspAlone,
    /// The same, in an editor that is known to show messages beside the text.
    LspBeside,
}

/// A client in one session with a server.
#[derive(Debug)]
pub struct Client {
    server: Server,
    /// None once it was closed.
    input: Option<QueuedInput>,
    output: Receiver<io::Result<framing::Message>>,
    frames: Frames,
    ledger: Ledger,
    kept: VecDeque<Message>,
    timeout: Duration,
    requests: i64,
}

impl Client {
    /// With a server that was just started, and the pipes to it and from it.
    pub fn new(
        (server, input, output): (Server, ChildStdin, ChildStdout),
        frames: Frames,
        ledger: Ledger,
        timeout: Duration,
    ) -> Self {
        let (say, messages) = sync_channel(MAX_READ);
        read_into(frames, output, move |message| say.send(message).is_ok());
        Self {
            server,
            input: Some(QueuedInput::new(input)),
            output: messages,
            frames,
            ledger,
            kept: VecDeque::new(),
            timeout,
            requests: 0,
        }
    }

    /// `initialize` with these params, and `initialized`.
    pub fn handshake(&mut self, params: &Value) -> Step<Value> {
        let result = self.call("initialize", params.clone())?;
        self.notify("initialized", json!({}));
        Ok(result)
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&with_params(
            json!({"jsonrpc": "2.0", "method": method}),
            params,
        ));
    }

    /// Sends a request and gives its id.
    pub fn request(&mut self, method: &str, params: Value) -> i64 {
        self.requests += 1;
        self.send(&with_params(
            json!({"jsonrpc": "2.0", "id": self.requests, "method": method}),
            params,
        ));
        self.requests
    }

    /// Writes bytes that are no message.
    pub fn send_bytes(&self, bytes: &[u8]) {
        self.write(bytes.to_vec());
    }

    /// Waits for the response to a request.
    pub fn response(&mut self, id: i64, what: &str) -> Step<Result<Value, RpcError>> {
        self.wait(&format!("a response to {what}"), |message| match message {
            Message::Response(to, result) if *to == id => Some(result.clone()),
            _ => None,
        })
    }

    /// A request that has to succeed.
    pub fn call(&mut self, method: &str, params: Value) -> Step<Value> {
        let id = self.request(method, params);
        self.response(id, method)?.map_err(|error| {
            Failure(format!(
                "`{method}` was answered with {}: {}",
                error.code, error.message
            ))
        })
    }

    /// A request that has to fail with this code.
    pub fn refused(&mut self, method: &str, params: Value, code: i64) -> Step<RpcError> {
        let id = self.request(method, params);
        match self.response(id, method)? {
            Err(error) if error.code == code => Ok(error),
            Err(error) => Err(Failure(format!(
                "`{method}` was refused with {} and not with {code}: {}",
                error.code, error.message
            ))),
            Ok(result) => Err(Failure(format!(
                "`{method}` was answered with {result} and not refused with {code}"
            ))),
        }
    }

    /// Replies to any request of the server's.
    pub fn respond(&mut self, request: &Value, result: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": request, "result": result}));
    }

    /// Replies to any request of the server's with a JSON-RPC error.
    pub fn respond_error(&mut self, request: &Value, message: &str) {
        self.send(&json!({"jsonrpc": "2.0", "id": request, "error": {"code": -32603, "message": message}}));
    }

    /// Waits for a message that `take` takes.
    pub fn wait<T>(&mut self, what: &str, take: impl Fn(&Message) -> Option<T>) -> Step<T> {
        if let Some(taken) = self.take(&take) {
            return Ok(taken);
        }
        let deadline = Instant::now() + self.timeout;
        loop {
            match self.next(deadline) {
                Err(_) => {
                    return Err(Failure(format!(
                        "{what} did not come within {:?}",
                        self.timeout
                    )));
                }
                Ok(None) => {
                    let complaint = self.complaint();
                    return Err(Failure(format!(
                        "{what} did not come: the server ended; it said {complaint:?}"
                    )));
                }
                Ok(Some(())) => {}
            }
            if self.kept.len() > MAX_KEPT {
                return Err("the server sent too many messages that nobody asked for".into());
            }
            let Some(last) = self.kept.back() else {
                continue;
            };
            if let Some(taken) = take(last) {
                self.kept.pop_back();
                return Ok(taken);
            }
        }
    }

    /// Takes the first message that has come already and that `take` takes.
    pub fn take<T>(&mut self, take: &impl Fn(&Message) -> Option<T>) -> Option<T> {
        let (place, taken) = self
            .kept
            .iter()
            .enumerate()
            .find_map(|(place, message)| Some((place, take(message)?)))?;
        self.kept.remove(place);
        Some(taken)
    }

    /// `shutdown`, `exit`, and the server's end.
    pub fn leave(&mut self) -> Step {
        let id = self.request("shutdown", Value::Null);
        let result = self.response(id, "shutdown")?;
        crate::check(
            result == Ok(Value::Null),
            format!("`shutdown` was answered with {result:?} and not with null"),
        )?;
        self.notify("exit", Value::Null);
        self.ended()
    }

    /// Closes the server's standard input and waits for its end; what was left to read can be taken still.
    pub fn vanish(&mut self) -> Step {
        self.input = None;
        self.ended()
    }

    /// Waits for the server's end; what was left to read can be taken still.
    pub fn ended(&mut self) -> Step {
        let deadline = Instant::now() + self.timeout;
        while self
            .next(deadline)
            .map_err(|_| Failure(format!("the server did not end within {:?}", self.timeout)))?
            .is_some()
        {}
        self.server
            .exited(deadline)
            .map(drop)
            .map_err(|error| Failure(error.to_string()))
    }

    fn send(&mut self, message: &Value) {
        self.ledger.sent(message);
        self.write(self.frames.frame(message));
    }

    fn write(&self, bytes: Vec<u8>) {
        if let Some(input) = &self.input {
            input.write(bytes);
        }
    }

    /// The end of what the server wrote to its standard error, in one line.
    fn complaint(&self) -> String {
        let words = self.server.complaint();
        let line: Vec<&str> = words.split_whitespace().collect();
        let line = line.join(" ");
        let skipped = line.chars().count().saturating_sub(COMPLAINT);
        line.chars().skip(skipped).collect()
    }

    /// Keeps the next message; none at the end of the output.
    fn next(&mut self, deadline: Instant) -> Result<Option<()>, Failure> {
        let left = deadline.saturating_duration_since(Instant::now());
        let read = match self.output.recv_timeout(left) {
            Err(RecvTimeoutError::Timeout) => return Err("nothing came".into()),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Ok(read) => read.and_then(|message| message.parse()),
        };
        let mut message = match read {
            Ok(message) => message,
            Err(error) => {
                self.ledger.broken(&error.to_string());
                // Nothing follows what is no message.
                self.output = sync_channel(0).1;
                return Ok(None);
            }
        };
        self.ledger.came(&message);
        let id = message.get("id").filter(|id| !id.is_null()).cloned();
        let method = message
            .get("method")
            .and_then(Value::as_str)
            .map(str::to_owned);
        let params = message
            .get_mut("params")
            .map(Value::take)
            .unwrap_or_default();
        if let Some(method) = &method
            && !self.ledger.received(method, id.is_some(), &params)
        {
            return Ok(Some(()));
        }
        let message = match (id, method) {
            (Some(id), Some(method)) => {
                if !ASKS.contains(&method.as_str()) {
                    self.send(&json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "not declared"}}));
                }
                Message::Request(id, method, params)
            }
            (None, Some(method)) => Message::Notification(method, params),
            (id, None) => {
                let id = id.and_then(|id| id.as_i64()).unwrap_or_default();
                Message::Response(id, message::response(&mut message))
            }
        };
        self.kept.push_back(message);
        Ok(Some(()))
    }
}

/// Methods without params have no such member.
fn with_params(mut message: Value, params: Value) -> Value {
    if !params.is_null() {
        message["params"] = params;
    }
    message
}
