//! Decodes a response, event by event.

mod item;
mod wire;

use aside_turn::response::{Finish, Kind, Piece, Usage};
use serde_json::{Value, value::RawValue};

use self::item::{EndedItem, ItemPlace, StreamedItem, is_call};
use self::wire::{
    ArgumentsEvent, CachedInput, DeltaEvent, FinalEvent, ItemEvent, Parts, ResponseUsage, Summary,
    TypedEvent, read,
};

use crate::{
    abilities::{Prices, Tokens},
    api::Decoder,
    calls::{CallPart, Calls, is_object},
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
    /// Items in order of first appearance.
    items: Vec<StreamedItem>,
    slots: u32,
    calls: Calls,
    /// Items of calls as they ended.
    ended: Vec<EndedItem>,
    refused: bool,
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
                self.calls.of_response(&response.id);
                self.id = response.id;
                out.push(Piece::KeepAlive);
            }
            "response.output_item.added" => {
                let ItemEvent { output_index, item } = read(data)?;
                let known = output_index.and_then(|index| self.known(Some(index), ""));
                let begins = known.is_none_or(|known| !self.items[known].open);
                if is_call(item) || begins {
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
            "response.function_call_arguments.done" => {
                let said: ArgumentsEvent = read(data)?;
                self.all_arguments(&said, out);
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
                self.calls.of_response(&response.id);
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
    pub(super) fn new(prices: Option<Prices>, cache: CacheRetention, calls: Calls) -> Self {
        Self {
            prices,
            cache,
            calls,
            ..Self::default()
        }
    }

    /// The position of an item: by its index and id, else by its index; without one by its id, else the newest item if
    /// it is still open.
    fn known(&self, index: Option<u64>, id: &str) -> Option<usize> {
        let named = |item: &StreamedItem| !id.is_empty() && item.id == id;
        if let Some(index) = index {
            let both = |item: &StreamedItem| item.index == index && named(item);
            let both = self.items.iter().rposition(both);
            return both.or_else(|| self.items.iter().rposition(|item| item.index == index));
        }
        self.items.iter().rposition(named).or_else(|| {
            let last = self.items.len().checked_sub(1)?;
            self.items[last].open.then_some(last)
        })
    }

    fn begin(&mut self, index: Option<u64>, id: String, place: ItemPlace) -> usize {
        let known = self.items.len();
        self.items.push(StreamedItem {
            index: index.unwrap_or(known as u64),
            id,
            place,
            text: String::new(),
            part: None,
            open: true,
        });
        known
    }

    fn slot(&mut self, kind: Kind, out: &mut Vec<Piece>) -> ItemPlace {
        let slot = self.slots;
        self.slots += 1;
        out.push(Piece::Open { slot, kind });
        ItemPlace::Slot(slot)
    }

    fn open(&mut self, index: Option<u64>, raw: &RawValue, out: &mut Vec<Piece>) -> usize {
        let TypedEvent { r#type, id, .. } = read(raw.get()).unwrap_or_default();
        let kind = match r#type.as_str() {
            "message" => Kind::Text,
            "reasoning" => Kind::Reasoning,
            "compaction" => Kind::Compaction,
            "function_call" => return self.open_call(index, id, raw, out),
            _ => Kind::Opaque,
        };
        let place = self.slot(kind, out);
        self.begin(index, id, place)
    }

    fn open_call(
        &mut self,
        index: Option<u64>,
        id: String,
        raw: &RawValue,
        out: &mut Vec<Piece>,
    ) -> usize {
        let parts: Parts = read(raw.get()).unwrap_or_default();
        let part = CallPart {
            index,
            id: &parts.call_id,
            name: &parts.name,
            ..CallPart::default()
        };
        let at = self.calls.take(part, &mut self.slots, out);
        let known = self.begin(index, id, ItemPlace::Call(at));
        self.items[known].text = parts.arguments;
        known
    }

    fn arguments(&mut self, at: usize, text: &str, whole: bool, out: &mut Vec<Piece>) {
        let part = CallPart {
            text,
            whole,
            ..CallPart::default()
        };
        self.calls.add(at, part, &mut self.slots, out);
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
        let argues = word.starts_with("function_call");
        let known = match self.known(delta.output_index, &delta.item_id) {
            Some(known) if self.items[known].open => known,
            // The complete item already had this text.
            Some(_) => return Ok(()),
            // Without its start the call has no name; the complete item will contain everything.
            None if argues => return Ok(()),
            None => {
                let kind = if reasons { Kind::Reasoning } else { Kind::Text };
                let place = self.slot(kind, out);
                self.begin(delta.output_index, delta.item_id.clone(), place)
            }
        };
        let slot = match self.items[known].place {
            ItemPlace::Call(at) => {
                self.arguments(at, &delta.delta, false, out);
                return Ok(());
            }
            ItemPlace::Slot(_) if argues => return Ok(()),
            ItemPlace::Slot(slot) => slot,
        };
        self.refused |= word == "refusal.delta";
        let item = &mut self.items[known];
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

    /// Handles the end of a call's arguments. Without its start the call has no name, and its item contains all.
    fn all_arguments(&mut self, said: &ArgumentsEvent, out: &mut Vec<Piece>) {
        let known = self.known(said.output_index, &said.item_id);
        match known.map(|known| self.items[known].place) {
            Some(ItemPlace::Call(at)) => self.arguments(at, &said.arguments, true, out),
            _ => out.push(Piece::KeepAlive),
        }
    }

    /// Handles a complete item.
    fn done(&mut self, index: Option<u64>, raw: &RawValue, out: &mut Vec<Piece>) {
        if is_call(raw) {
            return self.done_call(index, raw, out);
        }
        let TypedEvent { r#type, status, id } = read(raw.get()).unwrap_or_default();
        let known = self.known(index, &id);
        let known = known.unwrap_or_else(|| self.open(index, raw, out));
        let ItemPlace::Slot(slot) = self.items[known].place else {
            return;
        };
        if !self.items[known].open {
            return;
        }
        let parts: Parts = read(raw.get()).unwrap_or_default();
        self.refused |= parts.refuses();
        let item = &mut self.items[known];
        let whole = parts.text(&r#type);
        if let Some(rest) = whole.strip_prefix(item.text.as_str()) {
            item.add(slot, rest, out);
        }
        let complete = status != "incomplete";
        let can_go_back = match r#type.as_str() {
            "" => false,
            "reasoning" => parts.can_go_back(),
            // A summary that says nothing is none.
            "compaction" => parts.is_encrypted(),
            _ => true,
        };
        let keep = complete && can_go_back;
        item.open = false;
        out.push(Piece::Close {
            slot,
            opaque: keep.then(|| raw.get().to_owned()),
            complete,
        });
    }

    fn done_call(&mut self, index: Option<u64>, raw: &RawValue, out: &mut Vec<Piece>) {
        let TypedEvent { status, id, .. } = read(raw.get()).unwrap_or_default();
        let parts: Parts = read(raw.get()).unwrap_or_default();
        let known = self.known(index, &id);
        let place = known.map(|known| self.items[known].place);
        let at = match place {
            // Without an id of the call, only its item tells which one ended.
            Some(ItemPlace::Call(at)) if parts.call_id.is_empty() => at,
            _ => {
                let part = CallPart {
                    index,
                    id: &parts.call_id,
                    name: &parts.name,
                    ..CallPart::default()
                };
                self.calls.take(part, &mut self.slots, out)
            }
        };
        self.arguments(at, &parts.arguments, true, out);
        let is_here =
            |item: &&mut StreamedItem| matches!(item.place, ItemPlace::Call(it) if it == at);
        for item in self.items.iter_mut().filter(is_here) {
            item.open = false;
        }
        if !matches!(place, Some(ItemPlace::Call(it)) if it == at) {
            let known = self.begin(index, id, ItemPlace::Call(at));
            self.items[known].open = false;
        }
        self.ended.push(EndedItem {
            at,
            arguments: parts.arguments,
            complete: status != "incomplete",
            raw: raw.get().to_owned(),
        });
    }

    /// Handles the output that the end of the response repeats. Some servers send no events for items, or leave out
    /// the last ones.
    fn output(&mut self, output: &[&RawValue], out: &mut Vec<Piece>) {
        let no_events = self.items.is_empty();
        for (index, item) in (0..).zip(output) {
            let known = self.known(Some(index), "");
            let call: Parts = read(item.get()).unwrap_or_default();
            let takes = match known.map(|known| self.items[known].place) {
                _ if no_events => true,
                Some(ItemPlace::Slot(_)) => !is_call(item) || !call.call_id.is_empty(),
                Some(ItemPlace::Call(_)) => {
                    let open = known.is_some_and(|known| self.items[known].open);
                    is_call(item) && (open || !call.call_id.is_empty())
                }
                None => is_call(item),
            };
            if takes {
                self.done(Some(index), item, out);
            }
        }
    }

    /// Closes the calls and whatever else is still open.
    fn close(&mut self, completed: bool, out: &mut Vec<Piece>) {
        for at in 0..self.items.len() {
            let item = &mut self.items[at];
            let (open, text) = (
                std::mem::take(&mut item.open),
                std::mem::take(&mut item.text),
            );
            match item.place {
                ItemPlace::Slot(slot) if open => out.push(Piece::Close {
                    slot,
                    opaque: None,
                    complete: false,
                }),
                ItemPlace::Call(call) if self.calls.is_blank(call) => {
                    self.arguments(call, &text, true, out);
                }
                _ => {}
            }
        }
        for call in self.calls.end(!completed, &mut self.slots, out) {
            let ends = self.ended.iter().filter(|item| item.at == call.at);
            let complete = ends.clone().any(|item| item.complete)
                || ends.clone().next().is_none()
                    && completed
                    && (call.text.trim().is_empty() || is_object(call.text));
            let verbatim = |item: &&EndedItem| item.complete && item.is_verbatim(&call);
            let raw = ends.clone().rfind(verbatim).map(|item| item.raw.clone());
            out.push(call.close(raw, complete));
        }
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
        self.output(response.output.as_deref().unwrap_or_default(), out);
        self.close(kind == "response.completed", out);
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
            _ if !self.calls.is_empty() => Finish::ToolUse,
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
