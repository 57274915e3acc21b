//! The model server of the benchmark, and what it replies.

use std::{
    array,
    collections::VecDeque,
    sync::{Arc, Mutex, PoisonError, mpsc},
    time::{Duration, Instant},
};

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedPieces},
    server::{BodyPart, ModelServer, ServedReply},
};
use bytes::Bytes;
use serde_json::{Value, json};

const API: ServedApi = ServedApi::Anthropic;
/// What the event of a piece begins with.
pub(crate) const PIECE: &[u8] = b"event: content_block_delta";

/// A model server that replies what it was told to reply next, else a short text.
pub(crate) struct BenchModel {
    server: ModelServer,
    next: Arc<Mutex<VecDeque<ServedReply>>>,
}

impl BenchModel {
    pub(crate) fn start() -> Self {
        let next: Arc<Mutex<VecDeque<ServedReply>>> = Arc::default();
        let replies = Arc::clone(&next);
        let short = text(&["Done."]);
        let server = ModelServer::start(move |_| {
            let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
            replies.pop_front().unwrap_or_else(|| short.clone())
        });
        Self { server, next }
    }

    /// The settings with which it is used.
    pub(crate) fn config(&self) -> Value {
        config_of(&self.server.url(API))
    }

    pub(crate) fn will_reply(&self, reply: ServedReply) {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.push_back(reply);
    }

    /// When the last request had come in.
    pub(crate) fn last_request(&self) -> Instant {
        self.server.received().last().expect("a request").at
    }
}

/// The settings with which the model at this place is used.
pub(crate) fn config_of(url: &str) -> Value {
    json!({
        "assistant": { "model": "bench/model" },
        // A model whose window is known is not asked about.
        "providers": { "bench": { "api": "anthropic", "base_url": url, "models": { "model": { "context_window": 200_000 } } } },
    })
}

/// Says a text in these pieces.
pub(crate) fn text<const N: usize>(pieces: &[&str; N]) -> ServedReply {
    ModelReply::new("bench")
        .text(PlayedPieces::from(*pieces))
        .reply(API)
}

/// Calls a tool once for each of these arguments.
pub(crate) fn calls(tool: &str, arguments: &[Value]) -> ServedReply {
    let calls = arguments.iter().enumerate();
    let play = calls.fold(ModelReply::new("bench"), |play, (number, arguments)| {
        let id = format!("call_{number}");
        play.call(&id, tool, arguments.to_string())
    });
    play.reply(API)
}

/// `N` different pieces of five bytes.
pub(crate) fn words<const N: usize>() -> Vec<String> {
    (0..N).map(|number| format!("{number:05}")).collect()
}

/// A reply of these pieces, and when each was handed to the connection: all at once, or one after another.
pub(crate) fn streamed<const N: usize>(
    words: &[String],
    pace: Option<Duration>,
) -> (ServedReply, mpsc::Receiver<Instant>) {
    let mut reply = text::<N>(&array::from_fn(|number| words[number].as_str()));
    let (tell, times) = mpsc::channel();
    let Some(pace) = pace else {
        reply.body.insert(0, BodyPart::Stamp(tell));
        return (reply, times);
    };
    for event in split(&mut reply) {
        if event.starts_with(PIECE) {
            reply.body.push(BodyPart::Pause(pace));
            reply.body.push(BodyPart::Stamp(tell.clone()));
        }
        reply.body.push(BodyPart::Bytes(event));
    }
    (reply, times)
}

/// The events of a reply of these pieces.
pub(crate) fn events<const N: usize>(words: &[String]) -> Vec<Vec<u8>> {
    let mut reply = text::<N>(&array::from_fn(|number| words[number].as_str()));
    split(&mut reply)
        .iter()
        .map(|event| event.to_vec())
        .collect()
}

/// Takes the body of a reply as its events.
fn split(reply: &mut ServedReply) -> Vec<Bytes> {
    let mut events = Vec::new();
    let Some(BodyPart::Bytes(mut rest)) = reply.body.pop() else {
        return events;
    };
    while !rest.is_empty() {
        let end = rest.windows(2).position(|two| two == b"\n\n");
        events.push(rest.split_to(end.map_or(rest.len(), |end| end + 2)));
    }
    events
}
