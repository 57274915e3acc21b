//! Decodes a response.

use aside_turn::response::{Finish, Kind, Piece};
use serde_json::{Value, value::RawValue};

use super::{
    chunk::{ChatChoice, ChatChunk, ChatDelta, Fragment, FunctionDelta, lenient, list, text},
    reasoned::{CONTENT, REASONING, Reasoned, TEXT, text_of, thought},
    tokens::ChatUsage,
};
use crate::{
    abilities::Prices,
    api::Decoder,
    calls::{CallPart, Calls, is_object},
    openai_error,
    retry::ApiError,
    tags::{TaggedText, Tags},
};

/// Decodes one response.
#[derive(Default)]
pub(super) struct ChatDecoder {
    prices: Option<Prices>,
    tags: Tags,
    slots: u32,
    text: Option<u32>,
    reasoned: Option<Reasoned>,
    calls: Calls,
    /// The slot that received the last delta.
    newest: Option<u32>,
    refused: bool,
    finish: Option<Finish>,
    count: ChatUsage,
}

impl ChatDecoder {
    /// `tags`: whether the text may contain reasoning between tags.
    pub(super) fn new(prices: Option<Prices>, tags: bool, calls: Calls) -> Self {
        Self {
            prices,
            tags: if tags { Tags::default() } else { Tags::none() },
            calls,
            ..Self::default()
        }
    }

    fn slot(&mut self) -> u32 {
        self.slots += 1;
        self.slots - 1
    }

    fn delta(&mut self, delta: &ChatDelta<'_>, out: &mut Vec<Piece>) {
        let details: Vec<&RawValue> = list(delta.reasoning_details);
        let named = [
            (CONTENT, text(delta.reasoning_content)),
            (REASONING, text(delta.reasoning)),
            (TEXT, text(delta.reasoning_text)),
        ];
        // Some servers send the same reasoning in several members.
        let said = named.into_iter().find(|(_, text)| !text.is_empty());
        let member = said.as_ref().map(|(member, _)| *member);
        let said = said.map_or_else(|| text_of(&details), |(_, text)| text);
        if !said.is_empty() || !details.is_empty() {
            let reasoned = self.reason(&said, out);
            reasoned.take_details(&details);
            reasoned.came_in(member);
        }
        match delta.content {
            Some(content) if content.get().starts_with('[') => {
                for chunk in list(Some(content)) {
                    self.chunk(chunk, out);
                }
            }
            content => self.say(&text(content), out),
        }
        let refusal = text(delta.refusal);
        if !refusal.is_empty() {
            self.refused = true;
            self.add_text(&refusal, out);
        }
        for fragment in list(delta.tool_calls) {
            self.fragment(&lenient(Some(fragment)), out);
        }
    }

    /// Handles a chunk of content that is a list.
    fn chunk(&mut self, raw: &RawValue, out: &mut Vec<Piece>) {
        let chunk: Value = lenient(Some(raw));
        match chunk["type"].as_str() {
            Some("thinking") => {
                let said = thought(&chunk);
                let closed = chunk["closed"] == true;
                self.reason(&said, out).take_chunk(chunk);
                if closed {
                    self.close_reasoning(out);
                }
            }
            Some("text") => self.say(chunk["text"].as_str().unwrap_or_default(), out),
            _ => {}
        }
    }

    /// Adds text, which may begin with reasoning between tags.
    fn say(&mut self, portion: &str, out: &mut Vec<Piece>) {
        if portion.is_empty() {
            return;
        }
        for part in self.tags.take(portion) {
            self.part(part, out);
        }
    }

    fn part(&mut self, part: TaggedText, out: &mut Vec<Piece>) {
        match part {
            TaggedText::Text(text) => self.add_text(&text, out),
            TaggedText::Reasoning(text) => {
                self.reason(&text, out);
            }
        }
    }

    fn add_text(&mut self, text: &str, out: &mut Vec<Piece>) {
        self.end_reasoning(out);
        let slot = match self.text {
            Some(slot) => slot,
            None => {
                let slot = self.slot();
                out.push(Piece::Open {
                    slot,
                    kind: Kind::Text,
                });
                *self.text.insert(slot)
            }
        };
        self.add(slot, text, out);
    }

    fn add(&mut self, slot: u32, text: &str, out: &mut Vec<Piece>) {
        if !text.is_empty() {
            self.newest = Some(slot);
            out.push(Piece::Delta {
                slot,
                text: text.to_owned(),
            });
        }
    }

    /// Adds reasoning; the first of it opens an item.
    fn reason(&mut self, text: &str, out: &mut Vec<Piece>) -> &mut Reasoned {
        if !text.is_empty() {
            self.end_text(out);
        }
        let slot = match &self.reasoned {
            Some(reasoned) => reasoned.slot,
            None => {
                let slot = self.slot();
                out.push(Piece::Open {
                    slot,
                    kind: Kind::Reasoning,
                });
                slot
            }
        };
        self.add(slot, text, out);
        self.reasoned.get_or_insert_with(|| Reasoned::new(slot))
    }

    fn end_text(&mut self, out: &mut Vec<Piece>) {
        if let Some(slot) = self.text.take() {
            out.push(close(slot, None, true));
        }
    }

    /// Flushes text that might have been the beginning of a tag: a call begins, or the response ends.
    fn end_tags(&mut self, out: &mut Vec<Piece>) {
        if let Some(part) = self.tags.end() {
            self.part(part, out);
        }
    }

    fn end_words(&mut self, out: &mut Vec<Piece>) {
        self.end_tags(out);
        self.end_text(out);
        self.end_reasoning(out);
    }

    /// Ends the reasoning, unless details for the provider may still follow.
    fn end_reasoning(&mut self, out: &mut Vec<Piece>) {
        if self.reasoned.as_ref().is_some_and(|it| !it.has_details()) {
            self.close_reasoning(out);
        }
    }

    fn close_reasoning(&mut self, out: &mut Vec<Piece>) {
        if let Some(reasoned) = self.reasoned.take() {
            out.push(close(reasoned.slot, reasoned.opaque(), true));
        }
    }

    fn fragment(&mut self, fragment: &Fragment<'_>, out: &mut Vec<Piece>) {
        let function: FunctionDelta<'_> = lenient(fragment.function);
        let (id, name) = (text(fragment.id), text(function.name));
        let arguments = match function.arguments {
            // Most servers send a string, some an object.
            Some(raw) if raw.get().starts_with('{') => raw.get().to_owned(),
            raw => text(raw),
        };
        let index = fragment.index.and_then(|raw| raw.get().parse().ok());
        self.end_words(out);
        let part = CallPart {
            index,
            id: &id,
            name: &name,
            text: &arguments,
            whole: function
                .arguments
                .is_some_and(|raw| raw.get().starts_with('{')),
        };
        self.calls.take(part, &mut self.slots, out);
        if let Some(Piece::Delta { slot, .. }) = out.last() {
            self.newest = Some(*slot);
        }
    }

    fn finish(&mut self, out: &mut Vec<Piece>) {
        self.end_tags(out);
        let finish = match self.finish.take() {
            _ if self.refused => Finish::Refusal,
            None | Some(Finish::Stop | Finish::ToolUse | Finish::Other(_))
                if !self.calls.is_empty() =>
            {
                Finish::ToolUse
            }
            None | Some(Finish::ToolUse) => Finish::Stop,
            Some(finish) => finish,
        };
        let cut = finish == Finish::MaxTokens;
        let is_whole_slot = |slot: u32| !cut || self.newest != Some(slot);
        let mut closes = Vec::new();
        if let Some(slot) = self.text {
            closes.push((slot, None, is_whole_slot(slot)));
        }
        if let Some(reasoned) = &self.reasoned {
            let whole = is_whole_slot(reasoned.slot);
            let opaque = reasoned.opaque().filter(|_| whole);
            closes.push((reasoned.slot, opaque, whole));
        }
        for call in self.calls.end(cut, &mut self.slots, out) {
            // A call that the server reports as finished counts as complete; wrong arguments are reported to the model.
            let whole = !call.name.is_empty() && (!cut || is_object(call.text));
            closes.push((call.slot, None, whole));
        }
        closes.sort_by_key(|(slot, ..)| *slot);
        let closes = closes.into_iter();
        out.extend(closes.map(|(slot, opaque, whole)| close(slot, opaque, whole)));
        out.extend(self.count.usage(self.prices.as_ref()).map(Piece::Usage));
        out.push(Piece::Finish(finish));
    }

    fn choice(&mut self, choice: &ChatChoice<'_>, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        self.delta(&lenient(choice.delta.or(choice.message)), out);
        let native = text(choice.native_finish_reason);
        self.refused |= native == "refusal";
        match text(choice.finish_reason).as_str() {
            "" => {}
            "error" | "abort" | "insufficient_system_resource" => {
                return Err(ApiError {
                    kind: "server_error".into(),
                    message: "the provider aborted the response".into(),
                    ..ApiError::default()
                });
            }
            reason => self.finish = Some(finish(reason)),
        }
        Ok(())
    }
}

impl Decoder for ChatDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        let data = data.trim();
        if data == "[DONE]" {
            self.finish(out);
            return Ok(());
        }
        let raw: &RawValue = serde_json::from_str(data)
            .map_err(|fault| ApiError::garbled(format!("an event is not valid JSON ({fault})")))?;
        let chunk: ChatChunk<'_> = lenient(Some(raw));
        if chunk.error.is_some() || text(chunk.object) == "error" {
            return Err(openai_error::of_data(&lenient(Some(raw))));
        }
        for name in [chunk.id, chunk.created] {
            self.calls.of_response(name.map_or("", RawValue::get));
        }
        let before = out.len();
        let usage: Value = lenient(chunk.usage);
        self.count.take(&usage, &lenient(chunk.timings));
        let choices: Vec<&RawValue> = list(chunk.choices);
        for choice in &choices {
            let choice: ChatChoice<'_> = lenient(Some(*choice));
            // Requests ask for one answer only.
            if choice.index.is_none_or(|index| index.get() == "0") {
                self.choice(&choice, out)?;
            }
        }
        if self.finish.is_some() && choices.is_empty() && usage.is_object() {
            self.finish(out);
        } else if out.len() == before {
            out.push(Piece::KeepAlive);
        }
        Ok(())
    }

    fn end(&mut self, stray: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        // A server that does not stream, or that failed, sends one JSON document.
        if self.slots == 0 && stray.trim_start().starts_with('{') {
            self.event(stray, out).map_err(|fault| {
                if fault.is_garbled() {
                    ApiError::cut()
                } else {
                    fault
                }
            })?;
        }
        match out.last() {
            Some(Piece::Finish(_)) => Ok(()),
            _ if self.finish.is_none() => Err(ApiError::cut()),
            _ => {
                self.finish(out);
                Ok(())
            }
        }
    }
}

fn close(slot: u32, opaque: Option<String>, complete: bool) -> Piece {
    Piece::Close {
        slot,
        opaque,
        complete,
    }
}

fn finish(reason: &str) -> Finish {
    match reason {
        "stop" => Finish::Stop,
        "tool_calls" | "function_call" => Finish::ToolUse,
        "length" => Finish::MaxTokens,
        "content_filter" => Finish::ContentFilter,
        "model_length" => Finish::ContextFull,
        "refusal" => Finish::Refusal,
        other => Finish::Other(other.to_owned()),
    }
}
