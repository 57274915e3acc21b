//! LSP's framing: splits input by `Content-Length` into JSON-RPC messages, with bounds that are checked before memory is
//! allocated.
//!
//! tower-lsp ends its loop, or stalls, on a body that it cannot parse. So each body is parsed here first with the same
//! types, and only valid ones pass.
//!
//! Invariant: nothing here does I/O or waits.

#[cfg(test)]
mod tests;

use std::mem;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::{Value, json};
use tower_lsp::jsonrpc::{Id, Request, Response};

use crate::front::transport::{
    end::ConnectionEnd,
    framing::{Cut, Framing, MAX_BODY, MAX_DEPTH, is_deeper, reserve_within, take},
};

/// Maximum size of a header in bytes, including the empty line at its end.
const MAX_HEADER: usize = 8 * 1024;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;
/// Maximum size in bytes of a message that is skipped; a longer one ends the connection.
const MAX_PASSED_OVER: usize = 1024 * 1024 * 1024;
/// Maximum number of characters of an invalid `Content-Length` in a message.
const SHOWN: usize = 40;

/// Fault of a header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderError {
    /// The header is longer than [`MAX_HEADER`].
    #[error(
        "the header of a client's message is longer than {MAX_HEADER} bytes; restart the server"
    )]
    HeaderTooLong,
    /// A line without a name and a colon.
    #[error(
        "the header of a client's message has a line that is not `Name: value`; restart the server"
    )]
    NotAHeader,
    /// The header names no `Content-Length`.
    #[error("the header of a client's message has no Content-Length; restart the server")]
    LengthMissing,
    /// A second `Content-Length`.
    #[error("the header of a client's message has two Content-Lengths; restart the server")]
    LengthTwice,
    /// A `Content-Length` with something besides digits.
    #[error("the Content-Length of a client's message is {0:?}, not a number; restart the server")]
    LengthNotANumber(String),
    /// The body would be longer than [`MAX_PASSED_OVER`].
    #[error(
        "the Content-Length of a client's message is {0}, over {MAX_PASSED_OVER}; restart the server"
    )]
    LengthTooLarge(String),
}

/// The message being received: a header of at most [`MAX_HEADER`] bytes, or a body of at most [`MAX_BODY`].
#[derive(Debug, Default)]
pub(in super::super) struct ContentLength {
    state: CutState,
    /// Whether `shutdown` was received.
    after_shutdown: bool,
}

#[derive(Debug)]
enum CutState {
    Header(Header),
    Body {
        bytes: Vec<u8>,
        length: usize,
    },
    /// Skips the rest of a body that is too long.
    TooLong {
        left: usize,
    },
    Ended,
}

#[derive(Debug, Default)]
struct Header {
    /// The line being received.
    line: Vec<u8>,
    /// Number of bytes of all lines.
    seen: usize,
    length: Option<usize>,
}

/// A message, distinguished as in tower-lsp: a response is tried first.
#[derive(Deserialize)]
#[serde(untagged)]
enum Parsed {
    #[expect(dead_code, reason = "that it can be parsed is all that counts")]
    Response(Response),
    Request(Request),
}

impl Framing for ContentLength {
    fn cut(&mut self, input: &mut &[u8]) -> Option<Cut> {
        loop {
            match &mut self.state {
                CutState::Header(header) => match header.take(input)? {
                    Ok(length) if length > MAX_BODY => {
                        self.state = CutState::TooLong { left: length };
                        let why = format!(
                            "the message has {length} bytes, more than the {MAX_BODY} that one may have"
                        );
                        return Some(refusal(INVALID_REQUEST, &why, None));
                    }
                    Ok(length) => {
                        let bytes = Vec::new();
                        self.state = CutState::Body { bytes, length };
                    }
                    Err(broken) => {
                        self.state = CutState::Ended;
                        return Some(Cut::Broken(broken.to_string()));
                    }
                },
                CutState::Body { bytes, length } => {
                    let part = take(input, *length - bytes.len());
                    reserve_within(bytes, part.len(), *length);
                    bytes.extend_from_slice(part);
                    if bytes.len() < *length {
                        return None;
                    }
                    let body = mem::take(bytes);
                    self.state = CutState::default();
                    return Some(self.judge(body));
                }
                CutState::TooLong { left } => {
                    *left -= take(input, *left).len();
                    if *left > 0 {
                        return None;
                    }
                    self.state = CutState::default();
                }
                CutState::Ended => {
                    *input = &[];
                    return None;
                }
            }
        }
    }

    fn wrap(body: &str) -> String {
        header(body.len()) + body
    }

    fn end_of_input(&self) -> ConnectionEnd {
        if !self.is_between() && !self.after_shutdown {
            let why = "standard input ended within a message of the client's; restart the server";
            return ConnectionEnd::Framing(why.to_owned());
        }
        ConnectionEnd::Input {
            after_shutdown: self.after_shutdown,
        }
    }
}

impl ContentLength {
    /// Checks that tower-lsp can parse a body, and classifies it.
    fn judge(&mut self, body: Vec<u8>) -> Cut {
        let Ok(text) = str::from_utf8(&body) else {
            return refusal(PARSE_ERROR, "the message is not UTF-8", None);
        };
        if is_deeper(text, MAX_DEPTH) {
            let why = format!("the message is nested deeper than {MAX_DEPTH} levels");
            return refusal(PARSE_ERROR, &why, None);
        }
        match serde_json::from_str(text) {
            Ok(Parsed::Response(_)) => {}
            Ok(Parsed::Request(request)) => {
                return self.request(&request).unwrap_or(Cut::Message(body.into()));
            }
            Err(error) if error.is_data() => {
                let why = "the message is not a JSON-RPC 2.0 message";
                return refusal(INVALID_REQUEST, why, id_of(text));
            }
            Err(error) => {
                let why = format!("the message is not JSON: {error}");
                return refusal(PARSE_ERROR, &why, None);
            }
        }
        Cut::Message(body.into())
    }

    /// A replacement for a request or notification that tower-lsp would not handle as LSP requires.
    fn request(&mut self, request: &Request) -> Option<Cut> {
        let params = request.params().filter(|params| !params.is_null());
        let list = || request.params().is_some_and(Value::is_array);
        match (request.method(), request.id()) {
            // tower-lsp treats a missing method as an empty one.
            ("", id) => {
                let why = "the message is not a JSON-RPC 2.0 message: it has no method";
                Some(refusal(INVALID_REQUEST, why, id.cloned()))
            }
            (method, Some(id)) if method.starts_with("aside/") && list() => {
                let why = format!("the params of {method} are an object, not a list");
                Some(refusal(INVALID_PARAMS, &why, Some(id.clone())))
            }
            ("exit", None) => {
                let after_shutdown = self.after_shutdown;
                let body = Request::build("exit").finish().to_string();
                Some(Cut::Last(
                    body.into(),
                    ConnectionEnd::Exit { after_shutdown },
                ))
            }
            ("shutdown", Some(id)) => {
                self.after_shutdown = true;
                let plain = Request::build("shutdown").id(id.clone()).finish();
                Some(Cut::Message(plain.to_string().into()))
            }
            // tower-lsp reads the items of this one in another way than LSP has them, and refuses those.
            (method, Some(id))
                if method.starts_with("$/") || method.starts_with("typeHierarchy/") =>
            {
                let why = format!("there is no request {method}");
                Some(refusal(METHOD_NOT_FOUND, &why, Some(id.clone())))
            }
            (method, Some(id)) if method.starts_with("aside/") && params.is_none() => {
                let whole = Request::build(method.to_owned()).params(json!({}));
                Some(Cut::Message(
                    whole.id(id.clone()).finish().to_string().into(),
                ))
            }
            _ => None,
        }
    }

    /// Whether no message is incomplete, so that the input may end here.
    fn is_between(&self) -> bool {
        match &self.state {
            CutState::Header(header) => header.seen == 0,
            CutState::Body { .. } | CutState::TooLong { .. } => false,
            CutState::Ended => true,
        }
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        match &self.state {
            CutState::Header(header) => header.line.capacity(),
            CutState::Body { bytes, .. } => bytes.capacity(),
            CutState::TooLong { .. } | CutState::Ended => 0,
        }
    }
}

impl Default for CutState {
    fn default() -> Self {
        CutState::Header(Header::default())
    }
}

impl Header {
    /// The length of the body, once the header is complete.
    fn take(&mut self, input: &mut &[u8]) -> Option<Result<usize, HeaderError>> {
        while !input.is_empty() {
            let room = MAX_HEADER - self.seen;
            if room == 0 {
                return Some(Err(HeaderError::HeaderTooLong));
            }
            let end = input.iter().take(room).position(|byte| *byte == b'\n');
            let part = take(input, end.map_or(room, |at| at + 1));
            reserve_within(&mut self.line, part.len(), MAX_HEADER);
            self.line.extend_from_slice(part);
            self.seen += part.len();
            if end.is_some() {
                let line = mem::take(&mut self.line);
                match self.line(line.trim_ascii_end()) {
                    Ok(true) => return Some(self.length.ok_or(HeaderError::LengthMissing)),
                    Ok(false) => {}
                    Err(broken) => return Some(Err(broken)),
                }
            }
        }
        None
    }

    /// Takes a line. Returns whether it ends the header.
    fn line(&mut self, line: &[u8]) -> Result<bool, HeaderError> {
        if line.is_empty() {
            return Ok(true);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.ok_or(HeaderError::NotAHeader)?);
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        if name.is_empty() || !name.iter().all(plain) {
            return Err(HeaderError::NotAHeader);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = length(value.get(1..).unwrap_or_default().trim_ascii())?;
            if self.length.replace(length).is_some() {
                return Err(HeaderError::LengthTwice);
            }
        }
        Ok(false)
    }
}

/// Parses a `Content-Length`; `str::parse` alone would accept a sign.
fn length(value: &[u8]) -> Result<usize, HeaderError> {
    let shown = || String::from_utf8_lossy(value).chars().take(SHOWN).collect();
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(HeaderError::LengthNotANumber(shown()));
    }
    // A number that does not fit is too large.
    let number = str::from_utf8(value)
        .ok()
        .and_then(|digits| digits.parse().ok());
    number
        .filter(|length| *length <= MAX_PASSED_OVER)
        .ok_or_else(|| HeaderError::LengthTooLarge(shown()))
}

/// The id of an invalid message that may be meant as a request.
fn id_of(text: &str) -> Option<Id> {
    let message: Value = serde_json::from_str(text).ok()?;
    match message.get("id")? {
        Value::String(id) => Some(Id::String(id.clone())),
        id => Some(Id::Number(id.as_i64()?)),
    }
}

/// Refuses a message. The id is null if the request is unknown.
fn refusal(code: i32, message: &str, id: Option<Id>) -> Cut {
    let error = json!({ "code": code, "message": message });
    let body = json!({ "jsonrpc": "2.0", "error": error, "id": id }).to_string();
    Cut::Skip(Bytes::from([header(body.len()), body].concat()))
}

/// The header for a body of this many bytes.
pub(super) fn header(length: usize) -> String {
    format!("Content-Length: {length}\r\n\r\n")
}
