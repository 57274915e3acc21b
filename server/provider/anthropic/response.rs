//! Decodes a response.

use std::collections::BTreeMap;

use aside_turn::response::{Finish, Kind, Piece};
use serde::Deserialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    super::{
        abilities::Prices,
        api::Decoder,
        calls::{CallPart, Calls},
        retry::ApiError,
    },
    block::StreamedBlock,
    usage::Tally,
};

/// Decodes one response, event by event.
///
/// The block that ended last stays open: only the stop reason tells whether it is complete.
pub(super) struct AnthropicDecoder {
    usage: Tally,
    /// Blocks that have not ended, by the provider's index, with their places.
    open: BTreeMap<u64, (BlockPlace, StreamedBlock)>,
    /// The block that ended last, with its place.
    ended: Option<(BlockPlace, StreamedBlock)>,
    slots: u32,
    calls: Calls,
    /// Blocks of calls that ended, with the calls' positions and whether they are whole.
    called: Vec<(usize, StreamedBlock, bool)>,
    stop_reason: Option<String>,
    /// Whether the stop reason says that the response was cut off.
    cut: bool,
}

/// What a block belongs to.
#[derive(Clone, Copy)]
enum BlockPlace {
    /// An item with this slot.
    Slot(u32),
    /// The call at this position.
    Call(usize),
}

/// An event of the stream. `kind` determines which members are present.
#[derive(Deserialize)]
struct AnthropicEvent<'a> {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    index: u64,
    #[serde(default)]
    message: Value,
    #[serde(default, borrow)]
    content_block: Option<&'a RawValue>,
    #[serde(default)]
    delta: Value,
    #[serde(default)]
    usage: Value,
}

impl AnthropicDecoder {
    pub(super) fn new(prices: Option<Prices>, calls: Calls) -> Self {
        Self {
            usage: Tally::new(prices),
            open: BTreeMap::new(),
            ended: None,
            slots: 0,
            calls,
            called: Vec::new(),
            stop_reason: None,
            cut: false,
        }
    }

    fn begin(&mut self, index: u64, block: StreamedBlock, out: &mut Vec<Piece>) {
        self.settle(true, out);
        if let Some((place, block)) = self.open.remove(&index) {
            self.close(place, block, true, out);
        }
        let place = match &block.kind {
            Kind::ToolCall { id, name } => {
                let part = CallPart {
                    index: Some(index),
                    id,
                    name,
                    ..CallPart::default()
                };
                BlockPlace::Call(self.calls.take(part, &mut self.slots, out))
            }
            kind => {
                let (slot, kind) = (self.slots, kind.clone());
                self.slots += 1;
                out.push(Piece::Open { slot, kind });
                if let Some(text) = block.first_text() {
                    out.push(Piece::Delta { slot, text });
                }
                BlockPlace::Slot(slot)
            }
        };
        self.open.insert(index, (place, block));
    }

    /// Adds a delta of the block with this index.
    fn delta(&mut self, index: u64, delta: &Value, out: &mut Vec<Piece>) {
        let open = self.open.get_mut(&index);
        let text = open.and_then(|(place, block)| Some((*place, block.add(delta)?)));
        match text {
            Some((BlockPlace::Slot(slot), text)) => out.push(Piece::Delta { slot, text }),
            Some((BlockPlace::Call(at), text)) => self.arguments(at, &text, false, out),
            None => out.push(Piece::KeepAlive),
        }
    }

    fn arguments(&mut self, at: usize, text: &str, whole: bool, out: &mut Vec<Piece>) {
        let part = CallPart {
            text,
            whole,
            ..CallPart::default()
        };
        self.calls.add(at, part, &mut self.slots, out);
    }

    /// Closes the block that stayed open.
    fn settle(&mut self, whole: bool, out: &mut Vec<Piece>) {
        if let Some((place, block)) = self.ended.take() {
            self.close(place, block, whole, out);
        }
    }

    fn close(
        &mut self,
        place: BlockPlace,
        block: StreamedBlock,
        whole: bool,
        out: &mut Vec<Piece>,
    ) {
        match place {
            BlockPlace::Slot(slot) => out.push(Piece::Close {
                slot,
                opaque: whole.then(|| block.opaque()).flatten(),
                complete: whole,
            }),
            BlockPlace::Call(at) => {
                if let Some(input) = block.input().filter(|_| self.calls.is_blank(at)) {
                    self.arguments(at, &input, true, out);
                }
                self.called.push((at, block, whole));
            }
        }
    }

    /// Closes the calls. Returns whether the arguments of one are not valid JSON.
    fn end_calls(&mut self, out: &mut Vec<Piece>) -> bool {
        let mut malformed = false;
        let mut blocks: BTreeMap<usize, (StreamedBlock, bool)> = BTreeMap::new();
        for (at, block, whole) in std::mem::take(&mut self.called) {
            if whole || !blocks.contains_key(&at) {
                blocks.insert(at, (block, whole));
            }
        }
        for call in self.calls.end(self.cut, &mut self.slots, out) {
            let (block, whole) = blocks.remove(&call.at).unzip();
            let blank = call.text.trim().is_empty();
            let readable = blank || serde_json::from_str::<&RawValue>(call.text).is_ok();
            malformed |= whole == Some(true) && !readable;
            let complete = whole == Some(true) && readable;
            let block = block.filter(|_| complete);
            let opaque = block.and_then(|block| block.opaque_call(call.id, call.text));
            out.push(call.close(opaque, complete));
        }
        malformed
    }

    /// Handles the stop reason. A block that is still open then was cut off.
    fn stopped(&mut self, reason: &str, out: &mut Vec<Piece>) {
        let cut = matches!(reason, "max_tokens" | "model_context_window_exceeded");
        self.settle(!cut, out);
        self.cut = cut;
        self.stop_reason = Some(reason.to_owned());
    }

    fn finish(&mut self, out: &mut Vec<Piece>) {
        self.settle(true, out);
        for (place, block) in std::mem::take(&mut self.open).into_values() {
            self.close(place, block, false, out);
        }
        let malformed = self.end_calls(out);
        let finish = match self.stop_reason.as_deref() {
            Some("end_turn" | "tool_use") | None if malformed => Finish::MalformedCall,
            Some("tool_use") => Finish::ToolUse,
            None if !self.calls.is_empty() => Finish::ToolUse,
            Some("end_turn" | "compaction") | None => Finish::Stop,
            Some("max_tokens") => Finish::MaxTokens,
            Some("stop_sequence") => Finish::StopSequence,
            Some("pause_turn") => Finish::Pause,
            Some("refusal") => Finish::Refusal,
            Some("model_context_window_exceeded") => Finish::ContextFull,
            Some(other) => Finish::Other(other.to_owned()),
        };
        out.push(Piece::Finish(finish));
    }
}

impl Decoder for AnthropicDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        let event: AnthropicEvent<'_> = serde_json::from_str(data).map_err(|error| {
            ApiError::garbled(format!("an event of the response cannot be read ({error})"))
        })?;
        match event.kind.as_str() {
            "message_start" => {
                let id = event.message["id"].as_str();
                self.calls.of_response(id.unwrap_or_default());
                out.push(Piece::Usage(self.usage.take(&event.message["usage"])));
            }
            "content_block_start" => {
                let block = event
                    .content_block
                    .and_then(|raw| StreamedBlock::new(raw.get()));
                let block = block.ok_or_else(|| {
                    ApiError::garbled("a content block of the response is not an object")
                })?;
                self.begin(event.index, block, out);
            }
            "content_block_delta" => self.delta(event.index, &event.delta, out),
            "content_block_stop" => {
                self.settle(true, out);
                self.ended = self.open.remove(&event.index);
            }
            "message_delta" => {
                if let Some(reason) = event.delta["stop_reason"].as_str() {
                    if reason == "refusal" {
                        let why = &event.delta["stop_details"];
                        tracing::warn!(target: "aside::provider", %why, "the model refused to go on");
                    }
                    self.stopped(reason, out);
                }
                out.push(Piece::Usage(self.usage.take(&event.usage)));
            }
            "message_stop" => self.finish(out),
            "error" => {
                let unread = || ApiError::garbled("an error of the response says nothing");
                return Err(error_in(data).unwrap_or_else(unread));
            }
            _ => out.push(Piece::KeepAlive),
        }
        Ok(())
    }

    fn end(&mut self, stray: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        // A server that does not stream sends one JSON document.
        if let Some(events) = events_of(stray).filter(|_| self.slots == 0) {
            return events.iter().try_for_each(|event| self.event(event, out));
        }
        // Some servers answer 200 with an error that is not an event.
        Err(error_in(stray).unwrap_or_else(ApiError::cut))
    }
}

/// Converts a whole message into the events of a stream.
fn events_of(text: &str) -> Option<Vec<String>> {
    let message: Value = serde_json::from_str(text).ok()?;
    if message["type"] != "message" {
        return None;
    }
    let mut events = vec![json!({"type": "message_start", "message": message})];
    for (index, block) in message["content"].as_array()?.iter().enumerate() {
        events.push(json!({"type": "content_block_start", "index": index, "content_block": block}));
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    let (reason, usage) = (&message["stop_reason"], &message["usage"]);
    let delta = json!({ "stop_reason": reason });
    events.push(json!({"type": "message_delta", "delta": delta, "usage": usage}));
    events.push(json!({"type": "message_stop"}));
    Some(events.iter().map(Value::to_string).collect())
}

fn error_in(text: &str) -> Option<ApiError> {
    error(&serde_json::from_str(text).ok()?)
}

/// Parses an error body. `None` if there is no `error` member.
pub(super) fn error(body: &Value) -> Option<ApiError> {
    let error = body.get("error").filter(|error| !error.is_null())?;
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Some(ApiError {
        kind: word(&error["type"]),
        code: word(&error["details"]["error_code"]),
        message: match error {
            Value::String(message) => message.clone(),
            error => word(&error["message"]),
        },
        request_id: body["request_id"].as_str().map(str::to_owned),
        ..ApiError::default()
    })
}
