//! Cuts a client's bytes into JSON-RPC messages, within bounds that are checked before memory is taken.
//!
//! Everything that passes can be parsed by tower-lsp, for it ends its loop, or stalls, on a body that it
//! cannot read. So a body is parsed here once, in the very shape it will be parsed in there.
//!
//! Invariant: nothing here reads, writes or waits.

#[cfg(test)]
mod tests;

use std::mem;

use bytes::Bytes;
use serde::Deserialize;
use serde_json::json;
use tower_lsp::jsonrpc::{Request, Response};

/// The longest header, in bytes, with the empty line that ends it.
pub const MAX_HEADER: usize = 8 * 1024;
/// The longest body, in bytes.
pub const MAX_BODY: usize = 64 * 1024 * 1024;
/// The deepest nesting of a body: at one level more the JSON parser gives up.
pub const MAX_DEPTH: usize = 127;

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// How much of a wrong `Content-Length` is shown, in characters.
const SHOWN: usize = 40;

/// What the bytes so far amount to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cut {
    /// A message that can be handled.
    Message(Message),
    /// A body that cannot be handled: the reply to it, header included. The next message counts.
    Skip(Bytes),
    /// Where the next message begins is lost; nothing follows.
    Broken(Broken),
}

/// A message of the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The JSON text.
    pub body: Bytes,
    /// What it is to the connection.
    pub kind: Kind,
}

/// What a message is to the connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The notification `exit`.
    Exit,
    /// The request `shutdown`.
    Shutdown,
    /// Any other.
    Other,
}

/// Why a connection cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    /// Over [`MAX_HEADER`].
    #[error(
        "the header of a client's message is longer than {MAX_HEADER} bytes; restart the server"
    )]
    HeaderTooLong,
    /// A line without a name and a colon.
    #[error(
        "the header of a client's message has a line that is not `Name: value`; restart the server"
    )]
    NotAHeader,
    /// No `Content-Length`.
    #[error("the header of a client's message has no Content-Length; restart the server")]
    LengthMissing,
    /// A second `Content-Length`.
    #[error("the header of a client's message has two Content-Lengths; restart the server")]
    LengthTwice,
    /// A `Content-Length` with something besides digits.
    #[error("the Content-Length of a client's message is {0:?}, not a number; restart the server")]
    LengthNotANumber(String),
    /// Over [`MAX_BODY`].
    #[error("the Content-Length of a client's message is {0}, over {MAX_BODY}; restart the server")]
    LengthTooLarge(String),
}

/// Holds the message that is on its way: a header of at most [`MAX_HEADER`] bytes or a body of at most
/// [`MAX_BODY`], and room for no more.
#[derive(Debug, Default)]
pub struct Cutter {
    state: State,
}

#[derive(Debug)]
enum State {
    Header(Header),
    Body { bytes: Vec<u8>, length: usize },
    Ended,
}

#[derive(Debug, Default)]
struct Header {
    /// The line that is on its way.
    line: Vec<u8>,
    /// Bytes of all lines.
    seen: usize,
    length: Option<usize>,
}

/// As tower-lsp tells messages apart: a response is tried first.
#[derive(Deserialize)]
#[serde(untagged)]
enum Parsed {
    #[expect(dead_code, reason = "that it can be parsed is all that counts")]
    Response(Response),
    Request(Request),
}

impl Cutter {
    /// Takes from the front of `input` up to the end of the next message. `None` takes all of it and wants
    /// more. After [`Cut::Broken`] all input is dropped.
    pub fn cut(&mut self, input: &mut &[u8]) -> Option<Cut> {
        loop {
            match &mut self.state {
                State::Header(header) => match header.take(input)? {
                    Ok(length) => {
                        let bytes = Vec::new();
                        self.state = State::Body { bytes, length };
                    }
                    Err(broken) => {
                        self.state = State::Ended;
                        return Some(Cut::Broken(broken));
                    }
                },
                State::Body { bytes, length } => {
                    let part = take(input, *length - bytes.len());
                    reserve_within(bytes, part.len(), *length);
                    bytes.extend_from_slice(part);
                    if bytes.len() < *length {
                        return None;
                    }
                    let body = mem::take(bytes);
                    self.state = State::default();
                    return Some(judge(body));
                }
                State::Ended => {
                    *input = &[];
                    return None;
                }
            }
        }
    }

    /// Whether no message is on its way, so that the input may well end here.
    pub fn is_between(&self) -> bool {
        match &self.state {
            State::Header(header) => header.seen == 0,
            State::Body { .. } => false,
            State::Ended => true,
        }
    }

    #[cfg(test)]
    fn held(&self) -> usize {
        match &self.state {
            State::Header(header) => header.line.capacity(),
            State::Body { bytes, .. } => bytes.capacity(),
            State::Ended => 0,
        }
    }
}

impl Default for State {
    fn default() -> Self {
        State::Header(Header::default())
    }
}

impl Header {
    /// The length of the body, once the empty line is there.
    fn take(&mut self, input: &mut &[u8]) -> Option<Result<usize, Broken>> {
        while !input.is_empty() {
            let room = MAX_HEADER - self.seen;
            if room == 0 {
                return Some(Err(Broken::HeaderTooLong));
            }
            let end = input.iter().take(room).position(|byte| *byte == b'\n');
            let part = take(input, end.map_or(room, |at| at + 1));
            reserve_within(&mut self.line, part.len(), MAX_HEADER);
            self.line.extend_from_slice(part);
            self.seen += part.len();
            if end.is_some() {
                let line = mem::take(&mut self.line);
                match self.line(line.trim_ascii_end()) {
                    Ok(true) => return Some(self.length.ok_or(Broken::LengthMissing)),
                    Ok(false) => {}
                    Err(broken) => return Some(Err(broken)),
                }
            }
        }
        None
    }

    /// Whether this line is the empty one.
    fn line(&mut self, line: &[u8]) -> Result<bool, Broken> {
        if line.is_empty() {
            return Ok(true);
        }
        let colon = line.iter().position(|byte| *byte == b':');
        let (name, value) = line.split_at(colon.ok_or(Broken::NotAHeader)?);
        let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_".contains(byte);
        if name.is_empty() || !name.iter().all(plain) {
            return Err(Broken::NotAHeader);
        }
        if name.eq_ignore_ascii_case(b"content-length") {
            let length = length(value.get(1..).unwrap_or_default().trim_ascii())?;
            if self.length.replace(length).is_some() {
                return Err(Broken::LengthTwice);
            }
        }
        Ok(false)
    }
}

/// The number of a `Content-Length`; `str::parse` alone would take a sign.
fn length(value: &[u8]) -> Result<usize, Broken> {
    let shown = || String::from_utf8_lossy(value).chars().take(SHOWN).collect();
    if value.is_empty() || !value.iter().all(u8::is_ascii_digit) {
        return Err(Broken::LengthNotANumber(shown()));
    }
    // What does not fit is too large.
    let number = str::from_utf8(value)
        .ok()
        .and_then(|digits| digits.parse().ok());
    number
        .filter(|length| *length <= MAX_BODY)
        .ok_or_else(|| Broken::LengthTooLarge(shown()))
}

fn judge(body: Vec<u8>) -> Cut {
    let Ok(text) = str::from_utf8(&body) else {
        return refusal(PARSE_ERROR, "the message is not UTF-8");
    };
    if is_deeper(text, MAX_DEPTH) {
        let why = format!("the message is nested deeper than {MAX_DEPTH} levels");
        return refusal(PARSE_ERROR, &why);
    }
    let kind = match serde_json::from_str(text) {
        Ok(Parsed::Response(_)) => Kind::Other,
        Ok(Parsed::Request(request)) => match (request.method(), request.id()) {
            ("exit", None) => Kind::Exit,
            ("shutdown", Some(_)) => Kind::Shutdown,
            _ => Kind::Other,
        },
        Err(error) if error.is_data() => {
            return refusal(INVALID_REQUEST, "the message is not a JSON-RPC 2.0 message");
        }
        Err(error) => return refusal(PARSE_ERROR, &format!("the message is not JSON: {error}")),
    };
    Cut::Message(Message {
        body: body.into(),
        kind,
    })
}

/// Whether brackets outside of strings are nested deeper than this. Exact for JSON; for anything else only
/// the parser's word counts.
fn is_deeper(text: &str, limit: usize) -> bool {
    let mut depth = 0_usize;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' if depth == limit => return true,
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    false
}

/// Goes on behind the quote that ends a string.
fn skip_string(bytes: &mut impl Iterator<Item = u8>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => _ = bytes.next(),
            _ => {}
        }
    }
}

/// Whose request it was cannot be known, so the id is null.
fn refusal(code: i32, message: &str) -> Cut {
    let error = json!({ "code": code, "message": message });
    let body = json!({ "jsonrpc": "2.0", "error": error, "id": null }).to_string();
    Cut::Skip(Bytes::from([header(body.len()), body].concat()))
}

/// The header of a body of this many bytes.
pub(super) fn header(length: usize) -> String {
    format!("Content-Length: {length}\r\n\r\n")
}

/// Makes room for `more` bytes by doubling, but not beyond `limit` while `limit` is enough.
pub(super) fn reserve_within(buffer: &mut Vec<u8>, more: usize, limit: usize) {
    let needed = buffer.len() + more;
    if needed > buffer.capacity() {
        let room = needed.max(limit.min(buffer.capacity() * 2));
        buffer.reserve_exact(room - buffer.len());
    }
}

/// Takes up to `count` bytes from the front.
fn take<'a>(input: &mut &'a [u8], count: usize) -> &'a [u8] {
    let (part, rest) = input.split_at(count.min(input.len()));
    *input = rest;
    part
}
