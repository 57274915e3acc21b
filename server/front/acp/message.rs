//! Incoming and outgoing JSON-RPC messages.

use agent_client_protocol_schema::{
    rpc::{JsonRpcMessage, Notification},
    v1::{Error, ErrorCode, RequestId, Response},
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};

use crate::front::{
    error::{RequestError, Result},
    transport::framing::{MAX_DEPTH, is_deeper},
};

/// A message from the client.
#[derive(Debug)]
pub(super) enum Message {
    /// A request: an answer is sent.
    Request {
        id: RequestId,
        method: String,
        params: Value,
    },
    /// A notification: no answer is sent.
    Notification { method: String, params: Value },
    /// The answer to a request of ours.
    Reply {
        id: RequestId,
        result: Result<Value, String>,
    },
}

/// An answer to a request of the client.
pub(super) type Answer = JsonRpcMessage<Response<Value>>;

#[derive(Deserialize)]
struct RawMessage {
    jsonrpc: String,
    #[serde(default, deserialize_with = "present")]
    id: Option<RequestId>,
    method: Option<String>,
    #[serde(default)]
    params: Value,
    #[serde(default, deserialize_with = "present")]
    result: Option<Value>,
    error: Option<RawError>,
}

#[derive(Deserialize)]
struct RawError {
    #[serde(default)]
    message: String,
}

/// Keeps a present `null` apart from a missing member.
fn present<'de, D: Deserializer<'de>, T: Deserialize<'de>>(from: D) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

impl Message {
    /// Parses a line.
    ///
    /// # Errors
    /// The answer to an invalid line. Nothing of the line is repeated.
    pub(super) fn read(line: &[u8]) -> Result<Self, Answer> {
        let broken = |code, why: &str| answer(RequestId::Null, Err(error(code, why)));
        let Ok(text) = str::from_utf8(line) else {
            return Err(broken(ErrorCode::ParseError, "the message is not UTF-8"));
        };
        if is_deeper(text, MAX_DEPTH) {
            let why = format!("the message is nested deeper than {MAX_DEPTH} levels");
            return Err(broken(ErrorCode::ParseError, &why));
        }
        let no_message = "the message is not a JSON-RPC 2.0 message";
        if text.trim_start().starts_with('[') && serde_json::from_str::<Value>(text).is_ok() {
            let why = "messages do not come in batches: send one object a line";
            return Err(broken(ErrorCode::InvalidRequest, why));
        }
        let raw: RawMessage = serde_json::from_str(text).map_err(|why| {
            if !why.is_data() {
                let why = format!("the message is not JSON, at column {}", why.column());
                return broken(ErrorCode::ParseError, &why);
            }
            let id = id_of(text);
            answer(id, Err(error(ErrorCode::InvalidRequest, no_message)))
        })?;
        raw.sorted()
            .map_err(|id| answer(id, Err(error(ErrorCode::InvalidRequest, no_message))))
    }
}

impl RawMessage {
    fn sorted(self) -> Result<Message, RequestId> {
        let id = self.id;
        if self.jsonrpc != "2.0" {
            return Err(id.unwrap_or(RequestId::Null));
        }
        let params = self.params;
        match (self.method, id, self.result, self.error) {
            (Some(method), Some(id), None, None) => Ok(Message::Request { id, method, params }),
            (Some(method), None, None, None) => Ok(Message::Notification { method, params }),
            (None, Some(id), Some(result), None) => Ok(Message::Reply {
                id,
                result: Ok(result),
            }),
            (None, Some(id), None, Some(error)) => Ok(Message::Reply {
                id,
                result: Err(error.message),
            }),
            (_, id, ..) => Err(id.unwrap_or(RequestId::Null)),
        }
    }
}

/// The id of an invalid line that may be meant as a request.
fn id_of(text: &str) -> RequestId {
    let message: Value = serde_json::from_str(text).unwrap_or_default();
    let id = message.get("id").cloned().unwrap_or_default();
    serde_json::from_value(id).unwrap_or(RequestId::Null)
}

/// The answer to a request.
pub(super) fn answer(id: RequestId, result: Result<Value, Error>) -> Answer {
    JsonRpcMessage::wrap(Response::new(id, result))
}

/// An error with only a text. Some clients show only `details`, others only the message.
fn error(code: ErrorCode, text: &str) -> Error {
    Error::new(code.into(), text)
}

/// The answer to a line whose request is unknown.
pub(super) fn refusal(code: i32, text: &str) -> String {
    let error = json!({ "code": code, "message": text });
    json!({ "jsonrpc": "2.0", "id": null, "error": error }).to_string()
}

/// A notification to the client.
pub(super) fn notification<P: Serialize>(method: &str, params: P) -> impl Serialize {
    JsonRpcMessage::wrap(Notification {
        method: method.into(),
        params: Some(params),
    })
}

/// Converts the failure of a request to the protocol's error.
pub(super) fn failure(failed: &RequestError) -> Error {
    match failed {
        RequestError::InvalidParams(why) => error(ErrorCode::InvalidParams, why),
        RequestError::Withdrawn => error(ErrorCode::RequestCancelled, "Request cancelled"),
        RequestError::UnknownConversation(id) => {
            let text = format!("there is no session {id:?}; session/list has those there are");
            error(ErrorCode::ResourceNotFound, &text).data(json!({ "sessionId": id }))
        }
        other => plain_failure(&other.to_string()),
    }
}

/// An error with a message. `data` has no other member, because a client would show the whole error then.
pub(super) fn plain_failure(text: &str) -> Error {
    error(ErrorCode::InternalError, text).data(json!({ "details": text }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered_and_nothing_of_it_repeated() {
        let check = |line: &str, code: i32, id: Value| {
            let refused =
                serde_json::to_value(Message::read(line.as_bytes()).unwrap_err()).unwrap();
            assert_eq!(
                (&refused["error"]["code"], &refused["id"]),
                (&json!(code), &id),
                "{line}"
            );
            assert!(!refused.to_string().contains("hunter2"), "{refused}");
        };
        check("hunter2", -32700, json!(null));
        check(
            r#"{"jsonrpc":"2.0","id":1,"method":"hunter2"#,
            -32700,
            json!(null),
        );
        check(
            r#"[{"jsonrpc":"2.0","id":1,"method":"hunter2"}]"#,
            -32600,
            json!(null),
        );
        check(
            r#"{"jsonrpc":"1.0","id":1,"method":"hunter2"}"#,
            -32600,
            json!(1),
        );
        check(
            r#"{"jsonrpc":"2.0","id":"a","method":["hunter2"]}"#,
            -32600,
            json!("a"),
        );
        check(
            r#"{"jsonrpc":"2.0","id":1.5,"method":"hunter2"}"#,
            -32600,
            json!(null),
        );
        check(r#"{"jsonrpc":"2.0","id":3}"#, -32600, json!(3));
        check(&format!("{}hunter2", "[".repeat(200)), -32700, json!(null));
    }

    #[test]
    fn each_kind_of_message_is_known_by_its_members() {
        let read = |line: &str| format!("{:?}", Message::read(line.as_bytes()).unwrap());
        assert!(read(r#"{"jsonrpc":"2.0","id":null,"method":"a"}"#).starts_with("Request"));
        assert!(read(r#"{"jsonrpc":"2.0","method":"a","params":{}}"#).starts_with("Notification"));
        assert!(read(r#"{"jsonrpc":"2.0","id":1,"result":null}"#).contains("Ok(Null)"));
        let failed = read(r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}"#);
        assert!(failed.contains(r#"Err("no")"#), "{failed}");
    }
}
