//! Messages of the server.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::wire::{self, Prompt, Settled, Update};

/// A message of the server.
#[derive(Clone, Debug)]
pub enum Message {
    /// To a request of the driver's.
    Response(i64, Result<Value, RpcError>),
    /// Id, method, params.
    Request(Value, String, Value),
    /// A notification: its method and its params.
    Notification(String, Value),
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq)]
pub struct RpcError {
    /// The code of the error.
    pub code: i64,
    /// What it says.
    pub message: String,
}

/// A prompt as it was shown: the request's id, and what it asks.
#[derive(Clone, Debug)]
pub struct Shown {
    /// For the reply.
    pub request: Value,
    /// What is asked.
    pub prompt: Prompt,
}

/// The params of a notification of this method.
pub fn notification<T: DeserializeOwned + Serialize>(message: &Message, method: &str) -> Option<T> {
    match message {
        Message::Notification(name, params) if name == method => wire::read(params).ok(),
        _ => None,
    }
}

/// The turn and the update, if the message is one.
pub fn update(message: &Message) -> Option<(String, Update)> {
    match message {
        Message::Notification(method, params) if method == "aside/turn/update" => {
            let params = wire::read_turn_update(params).ok()?;
            Some((params.turn_id, params.update))
        }
        _ => None,
    }
}

/// The end of a prompt, if the message tells of one.
pub fn closing(message: &Message) -> Option<Settled> {
    wire::settled(&update(message)?.1)
}

/// The prompt, if the message shows one.
pub fn shown(message: &Message) -> Option<Shown> {
    match message {
        Message::Request(id, method, params) if method == "aside/prompt" => {
            let prompt = wire::read_prompt(params).ok()?;
            Some(Shown {
                request: id.clone(),
                prompt,
            })
        }
        _ => None,
    }
}

/// Whether a response is a result or an error.
pub(super) fn response(message: &mut Value) -> Result<Value, RpcError> {
    match message.get("error") {
        None => Ok(message
            .get_mut("result")
            .map(Value::take)
            .unwrap_or_default()),
        Some(error) => Err(RpcError {
            code: error["code"].as_i64().unwrap_or_default(),
            message: error["message"].as_str().unwrap_or_default().to_owned(),
        }),
    }
}
