//! What the server is to send, and when.

use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::Response;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::body::PlayedBody;
use crate::ServedApi;

/// Something that a test opens, once and for good. Clones are the same gate.
#[derive(Clone, Debug, Default)]
pub struct ReplyGate(CancellationToken);

impl ReplyGate {
    /// A closed gate.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets through all who wait and all who come. From any thread.
    pub fn open(&self) {
        self.0.cancel();
    }

    /// Whether it was opened.
    pub fn is_open(&self) -> bool {
        self.0.is_cancelled()
    }

    pub(super) async fn wait(&self) {
        self.0.cancelled().await;
    }
}

/// One step in sending a body.
#[derive(Clone, Debug)]
pub enum BodyPart {
    /// Bytes in one write.
    Bytes(Bytes),
    /// Nothing, until the gate is opened.
    Wait(ReplyGate),
    /// Nothing for so long: to pace a benchmark, never to wait for something.
    Pause(Duration),
    /// Nothing, but this place is reached now: what comes next is handed to the connection at once.
    Stamp(Sender<Instant>),
}

/// How a body ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BodyEnd {
    /// As it should.
    #[default]
    Whole,
    /// Broken off: HTTP/1.1 closes the connection inside the body, HTTP/2 resets the stream.
    Cut,
    /// Never: nothing more comes, and the connection stays.
    Hang,
}

/// A response as the server writes it, in pieces.
#[derive(Clone, Debug)]
pub struct ServedReply {
    /// The HTTP status.
    pub status: u16,
    /// Headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body, step by step.
    pub body: Vec<BodyPart>,
    /// How the body ends.
    pub end: BodyEnd,
}

impl ServedReply {
    /// A whole response with a body of this type.
    pub fn new(status: u16, content_type: &str, body: impl Into<Bytes>) -> Self {
        Self {
            status,
            headers: vec![("content-type".into(), content_type.into())],
            body: vec![BodyPart::Bytes(body.into())],
            end: BodyEnd::Whole,
        }
    }

    /// JSON, as errors and lists are sent.
    pub fn json(status: u16, body: Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// A stream, with the content type and the request id that the API sends.
    pub fn stream(api: ServedApi, bytes: impl Into<Bytes>) -> Self {
        let content_type = match api {
            ServedApi::Anthropic | ServedApi::OpenaiResponses => "text/event-stream; charset=utf-8",
            ServedApi::OpenaiChat | ServedApi::Gemini => "text/event-stream",
            ServedApi::Ollama => "application/x-ndjson",
        };
        let reply = Self::new(200, content_type, bytes);
        match api {
            ServedApi::Anthropic => reply.header("request-id", "req_01"),
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => {
                reply.header("x-request-id", "req_01")
            }
            // Gemini names the response in the stream, Ollama not at all.
            ServedApi::Gemini | ServedApi::Ollama => reply,
        }
    }

    /// A response written out: a status line, headers, an empty line and the body.
    ///
    /// # Panics
    /// When `text` is not that.
    pub fn http(text: &str) -> Self {
        let (head, body) = text
            .split_once("\n\n")
            .expect("an empty line after the headers");
        let mut lines = head.lines();
        let status = lines
            .next()
            .and_then(|line| line.strip_prefix("HTTP/1.1 "))
            .and_then(|line| line.get(..3)?.parse().ok())
            .expect("a status line like `HTTP/1.1 429 Too Many Requests`");
        let headers = lines
            .map(|line| {
                line.split_once(": ")
                    .expect("a header like `retry-after: 17`")
            })
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let body = vec![BodyPart::Bytes(Bytes::copy_from_slice(body.as_bytes()))];
        Self {
            status,
            headers,
            body,
            end: BodyEnd::Whole,
        }
    }

    /// Sends the client elsewhere, method and body as they are.
    pub fn redirect(to: &str) -> Self {
        Self::new(307, "text/plain", "").header("location", to)
    }

    /// With one more header.
    pub fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Only the first `bytes` of the body, and then [`BodyEnd::Cut`].
    pub fn cut_at(mut self, bytes: usize) -> Self {
        let (before, _) = split(self.body, bytes);
        self.body = before;
        self.end = BodyEnd::Cut;
        self
    }

    /// The whole body as it is, and then [`BodyEnd::Hang`].
    pub fn hang(mut self) -> Self {
        self.end = BodyEnd::Hang;
        self
    }

    /// Waits for the gate when `bytes` of the body are sent.
    pub fn wait_at(mut self, bytes: usize, gate: &ReplyGate) -> Self {
        let (mut before, after) = split(self.body, bytes);
        before.push(BodyPart::Wait(gate.clone()));
        before.extend(after);
        self.body = before;
        self
    }

    /// One write for each `bytes` of the body, at least one byte.
    pub fn split_every(mut self, bytes: usize) -> Self {
        let mut parts = Vec::new();
        for part in self.body {
            match part {
                BodyPart::Bytes(mut rest) => {
                    while !rest.is_empty() {
                        let piece = rest.split_to(bytes.max(1).min(rest.len()));
                        parts.push(BodyPart::Bytes(piece));
                    }
                }
                other => parts.push(other),
            }
        }
        self.body = parts;
        self
    }

    /// Pauses before every write but the first, as the body is split by now.
    pub fn pause_between(mut self, pause: Duration) -> Self {
        let mut parts = Vec::with_capacity(self.body.len() * 2);
        for part in self.body {
            if matches!(part, BodyPart::Bytes(_)) && !parts.is_empty() {
                parts.push(BodyPart::Pause(pause));
            }
            parts.push(part);
        }
        self.body = parts;
        self
    }

    /// As hyper sends it. `on_drop` is called when the client drops the body before its end.
    ///
    /// # Panics
    /// When the status or a header cannot be sent.
    pub(super) fn into_response(
        self,
        on_drop: impl FnOnce() + Send + 'static,
    ) -> Response<PlayedBody> {
        let mut response = Response::builder().status(self.status);
        for (name, value) in &self.headers {
            response = response.header(name, value);
        }
        response
            .body(PlayedBody::new(self.body, self.end, Box::new(on_drop)))
            .expect("a status and headers that HTTP allows")
    }
}

/// The parts before and after so many bytes. Waits and pauses at that place count as after.
fn split(parts: Vec<BodyPart>, bytes: usize) -> (Vec<BodyPart>, Vec<BodyPart>) {
    let (mut before, mut after) = (Vec::new(), Vec::new());
    let mut left = bytes;
    for part in parts {
        match part {
            _ if left == 0 => after.push(part),
            BodyPart::Bytes(mut piece) if piece.len() > left => {
                before.push(BodyPart::Bytes(piece.split_to(left)));
                after.push(BodyPart::Bytes(piece));
                left = 0;
            }
            BodyPart::Bytes(piece) => {
                left -= piece.len();
                before.push(BodyPart::Bytes(piece));
            }
            other => before.push(other),
        }
    }
    (before, after)
}
