//! Decodes a response, event by event.

mod wire;

use aside_turn::response::{Finish, Kind, Piece, Usage};
use serde_json::{Value, value::RawValue};

use self::wire::{
    CachedInput, DeltaEvent, FinalEvent, ItemEvent, Parts, ResponseUsage, Summary, TypedEvent, read,
};

use crate::{
    abilities::{Prices, Tokens},
    api::Decoder,
    call_ids::CallIds,
    openai_error,
    options::CacheRetention,
    retry::ApiError,
};

/// Decodes one response.
#[derive(Debug, Default)]
pub(super) struct ResponsesDecoder {
    prices: Option<Prices>,
    cache: CacheRetention,
    /// The provider's id of the response.
    id: String,
    /// Items in order of first appearance; the index is the slot.
    items: Vec<StreamedItem>,
    call_ids: CallIds,
    refused: bool,
}

/// An output item being received.
#[derive(Debug)]
struct StreamedItem {
    /// Index in the provider's output.
    index: u64,
    /// The provider's id of the item; servers that send no index use it. Empty if there is none.
    id: String,
    /// Text received so far.
    text: String,
    /// The part of the reasoning that received the last delta.
    part: Option<(&'static str, u64)>,
    /// Whether the item must not go back verbatim: its id was replaced, or its deltas contradict the final arguments.
    differs: bool,
    open: bool,
}

impl Decoder for ResponsesDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        if data.trim() == "[DONE]" {
            return Ok(());
        }
        let TypedEvent { r#type, .. } = read(data)?;
        match r#type.as_str() {
            "response.created" => {
                let FinalEvent { response } = read(data)?;
                self.call_ids.of_response(&response.id);
                self.id = response.id;
                out.push(Piece::KeepAlive);
            }
            "response.output_item.added" => {
                let ItemEvent { output_index, item } = read(data)?;
                let known = output_index.and_then(|index| self.known(Some(index), ""));
                if known.is_none_or(|slot| !self.items[slot].open) {
                    self.open(output_index, item, out);
                }
            }
            "response.output_item.done" => {
                let ItemEvent { output_index, item } = read(data)?;
                self.done(output_index, item, out);
            }
            "response.completed" | "response.incomplete" | "response.failed" => {
                let FinalEvent { response } = read(data)?;
                return self.finish(&r#type, response, out);
            }
            "error" | "" => return self.error(&read::<Value>(data)?, out),
            kind => self.delta(kind, data, out)?,
        }
        Ok(())
    }

    fn end(&mut self, stray: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        if let Ok(body) = serde_json::from_str::<Value>(stray) {
            // A server that does not stream sends one document.
            if body["object"] == "response" && self.items.is_empty() {
                let response: Summary<'_> = read(stray)?;
                self.call_ids.of_response(&response.id);
                self.id.clone_from(&response.id);
                let kind = match body["status"].as_str() {
                    Some("failed") => "response.failed",
                    Some("incomplete") => "response.incomplete",
                    _ => "response.completed",
                };
                return self.finish(kind, response, out);
            }
            self.error(&body, out)?;
        }
        Err(ApiError::cut())
    }
}

impl ResponsesDecoder {
    pub(super) fn new(prices: Option<Prices>, cache: CacheRetention, call_ids: CallIds) -> Self {
        Self {
            prices,
            cache,
            call_ids,
            ..Self::default()
        }
    }

    /// The slot of an item: by its index, else by its id, else the newest item if it is still open.
    fn known(&self, index: Option<u64>, id: &str) -> Option<usize> {
        if let Some(index) = index {
            return self.items.iter().rposition(|item| item.index == index);
        }
        let named = |item: &StreamedItem| !id.is_empty() && item.id == id;
        self.items.iter().rposition(named).or_else(|| {
            let last = self.items.len().checked_sub(1)?;
            self.items[last].open.then_some(last)
        })
    }

    fn begin(
        &mut self,
        (index, id): (Option<u64>, String),
        kind: Kind,
        differs: bool,
        out: &mut Vec<Piece>,
    ) -> usize {
        let slot = self.items.len();
        self.items.push(StreamedItem {
            index: index.unwrap_or(slot as u64),
            id,
            text: String::new(),
            part: None,
            differs,
            open: true,
        });
        out.push(Piece::Open {
            slot: slot as u32,
            kind,
        });
        slot
    }

    fn open(&mut self, index: Option<u64>, raw: &RawValue, out: &mut Vec<Piece>) -> usize {
        let TypedEvent { r#type, id, .. } = read(raw.get()).unwrap_or_default();
        let mut differs = false;
        let kind = match r#type.as_str() {
            "message" => Kind::Text,
            "reasoning" => Kind::Reasoning,
            "function_call" => {
                let Parts { call_id, name, .. } = read(raw.get()).unwrap_or_default();
                let own = self.call_ids.next(&call_id);
                differs = own != call_id;
                Kind::ToolCall { id: own, name }
            }
            _ => Kind::Opaque,
        };
        self.begin((index, id), kind, differs, out)
    }

    fn delta(&mut self, kind: &str, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        let word = kind.strip_prefix("response.").unwrap_or_default();
        if !matches!(
            word,
            "output_text.delta"
                | "refusal.delta"
                | "reasoning_summary_text.delta"
                | "reasoning_text.delta"
                | "function_call_arguments.delta"
        ) {
            out.push(Piece::KeepAlive);
            return Ok(());
        }
        let delta: DeltaEvent = read(data)?;
        let reasons = word.starts_with("reasoning");
        let slot = match self.known(delta.output_index, &delta.item_id) {
            Some(slot) if self.items[slot].open => slot,
            // The complete item already had this text.
            Some(_) => return Ok(()),
            // Without its start the call has no name; the complete item will contain everything.
            None if word == "function_call_arguments.delta" => return Ok(()),
            None => {
                let kind = if reasons { Kind::Reasoning } else { Kind::Text };
                let place = (delta.output_index, delta.item_id.clone());
                self.begin(place, kind, false, out)
            }
        };
        self.refused |= word == "refusal.delta";
        let item = &mut self.items[slot];
        let mut text = delta.delta;
        if reasons {
            let part = match word {
                "reasoning_text.delta" => ("content", delta.content_index),
                _ => ("summary", delta.summary_index),
            };
            let other = item.part.replace(part).is_some_and(|before| before != part);
            if other {
                text.insert_str(0, "\n\n");
            }
        }
        item.add(slot, &text, out);
        Ok(())
    }

    /// Handles a complete item.
    fn done(&mut self, index: Option<u64>, raw: &RawValue, out: &mut Vec<Piece>) {
        let TypedEvent { r#type, status, id } = read(raw.get()).unwrap_or_default();
        let known = self.known(index, &id);
        let slot = known.unwrap_or_else(|| self.open(index, raw, out));
        if !self.items[slot].open {
            return;
        }
        let parts: Parts = read(raw.get()).unwrap_or_default();
        self.refused |= parts.refuses();
        let item = &mut self.items[slot];
        let whole = parts.text(&r#type);
        match whole.strip_prefix(item.text.as_str()) {
            Some(rest) => item.add(slot, rest, out),
            // The arguments that were executed must go back.
            None => item.differs |= r#type == "function_call",
        }
        let complete = status != "incomplete";
        let can_go_back = match r#type.as_str() {
            "" => false,
            "reasoning" => parts.can_go_back(),
            _ => true,
        };
        let keep = complete && can_go_back && !item.differs;
        item.open = false;
        out.push(Piece::Close {
            slot: slot as u32,
            opaque: keep.then(|| raw.get().to_owned()),
            complete,
        });
    }

    fn finish(
        &mut self,
        kind: &str,
        response: Summary<'_>,
        out: &mut Vec<Piece>,
    ) -> Result<(), ApiError> {
        if let Some(error) = said(&response.error) {
            return Err(self.with_id(error));
        }
        if kind == "response.failed" {
            return Err(self.with_id(ApiError {
                message: "the response failed, and the server gives no reason".to_owned(),
                ..ApiError::default()
            }));
        }
        // Some servers send no events for items, or leave out the last ones.
        let no_events = self.items.is_empty();
        for (index, item) in (0..).zip(response.output.iter().flatten()) {
            if no_events || self.known(Some(index), "").is_some() {
                self.done(Some(index), item, out);
            }
        }
        for (slot, item) in self.items.iter_mut().enumerate() {
            if std::mem::take(&mut item.open) {
                out.push(Piece::Close {
                    slot: slot as u32,
                    opaque: None,
                    complete: false,
                });
            }
        }
        if let Some(counts) = &response.usage {
            out.push(Piece::Usage(self.usage(counts)));
        }
        let reason = response
            .incomplete_details
            .and_then(|details| details.reason);
        out.push(Piece::Finish(match (kind, reason.as_deref()) {
            (_, Some("max_output_tokens")) => Finish::MaxTokens,
            (_, Some("content_filter")) => Finish::ContentFilter,
            (_, Some(reason)) => Finish::Other(reason.to_owned()),
            ("response.incomplete", None) => Finish::Other("incomplete".to_owned()),
            _ if self.refused => Finish::Refusal,
            _ if self.call_ids.count() > 0 => Finish::ToolUse,
            _ => Finish::Stop,
        }));
        Ok(())
    }

    fn usage(&self, counts: &ResponseUsage) -> Usage {
        let none = CachedInput::default();
        let cached = counts.input_tokens_details.as_ref().unwrap_or(&none);
        let written = cached.cache_write_tokens;
        let long = match (&cached.cache_write_tokens_details, self.cache) {
            (Some(details), _) => details.ttl_12h_tokens.min(written),
            (None, CacheRetention::Long) => written,
            (None, _) => 0,
        };
        let known = cached.cached_tokens.saturating_add(written);
        let tokens = Tokens {
            input: counts.input_tokens.saturating_sub(known),
            cache_read: cached.cached_tokens,
            cache_write: written - long,
            cache_write_long: long,
            output: counts.output_tokens,
        };
        tokens.usage(self.prices.as_ref())
    }

    /// Handles an error event in either of its formats. Any other event is ignored.
    fn error(&self, event: &Value, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        let nested = event.get("error").and_then(said);
        let plain = || said(event).filter(|_| event["type"] == "error");
        match nested.or_else(plain) {
            Some(error) => Err(self.with_id(error)),
            None => {
                out.push(Piece::KeepAlive);
                Ok(())
            }
        }
    }

    fn with_id(&self, mut error: ApiError) -> ApiError {
        if error.kind == "error" {
            error.kind.clear();
        }
        error.request_id = Some(self.id.clone()).filter(|id| !id.is_empty());
        error
    }
}

/// Parses an error of the API; `None` for `null`.
fn said(error: &Value) -> Option<ApiError> {
    (!error.is_null()).then(|| openai_error::of_data(error))
}

impl StreamedItem {
    fn add(&mut self, slot: usize, text: &str, out: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        out.push(Piece::Delta {
            slot: slot as u32,
            text: text.to_owned(),
        });
    }
}
