//! Messages of the server.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::wire::{Prompt, TurnUpdate, Update};

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
