//! Encodes the history.

use aside_base::digest::of_parts;
use aside_turn::{record::CallKey, response::Feature, transcript::Item};
use serde_json::{Value, json, value::RawValue};

use super::{
    reasoned::{CONTENT, member_of},
    server::{Ids, ServerTraits},
};
use crate::{
    api::{Encoder, RequestContents, Role, object},
    attached::{UserPart, parts, result_parts},
};

/// Assistant message between a result and the user's message, for servers that require one.
const BRIDGE: &str = "OK.";
/// Maximum length of a call id.
const MAX_ID: usize = 40;

/// Writes messages in the form that one server accepts.
#[derive(Clone, Copy)]
pub(super) struct ChatMessageWriter<'a> {
    pub(super) server: &'a ServerTraits,
    pub(super) ask: &'a RequestContents<'a>,
    /// Whether texts may carry a cache breakpoint.
    pub(super) marked: bool,
}

impl ChatMessageWriter<'_> {
    /// Writes a message that is only text. `more` are members between its role and its content.
    pub(super) fn message(&self, role: &str, more: &str, text: &str, out: &mut Encoder) {
        out.element();
        out.raw(&format!("{{\"role\":\"{role}\",{more}\"content\":"));
        if self.marked && !text.is_empty() {
            out.raw("[{\"type\":\"text\",\"text\":");
            out.json(&text);
            out.breakpoint_here();
            out.raw("}]}");
        } else {
            out.json(&text);
            out.raw("}");
        }
    }

    /// Writes the user's side: results first, then one message for everything that follows. The templates of many
    /// models require that user and assistant alternate.
    pub(super) fn user_side(&self, items: &[Item], out: &mut Encoder) {
        let mut result = false;
        let mut said: Vec<UserPart> = Vec::new();
        for item in items {
            match item {
                Item::ToolResult {
                    call,
                    id,
                    content,
                    is_error,
                    media,
                    ..
                } => {
                    let (content, media) = result_parts(content, media, self.ask);
                    // A result has no place for them, so they follow as the user's.
                    said.extend(media);
                    let before = if *is_error { "error: " } else { "" };
                    let id = json!(self.call_id(id, *call));
                    let more = format!("\"tool_call_id\":{id},");
                    self.message("tool", &more, &format!("{before}{content}"), out);
                    out.last = Role::User;
                    result = true;
                }
                Item::Directive(text) if self.ask.takes_system() && !text.is_empty() => {
                    self.user(&mut said, &mut result, out);
                    self.message(self.server.system, "", text, out);
                    out.last = Role::System;
                    result = false;
                }
                Item::Directive(text) | Item::Steer(text) => {
                    said.push(UserPart::Text(text.clone()))
                }
                Item::User { text, attachments } => {
                    said.extend(parts(text, attachments, self.ask));
                }
                Item::Text { .. } | Item::Reasoning { .. } | Item::ToolCall { .. } => {}
            }
        }
        self.user(&mut said, &mut result, out);
    }

    fn user(&self, said: &mut Vec<UserPart>, after_result: &mut bool, out: &mut Encoder) {
        let parts = joined(std::mem::take(said));
        if parts.is_empty() {
            return;
        }
        if self.server.bridge && std::mem::take(after_result) {
            out.push(&json!({"role": "assistant", "content": BRIDGE}));
        }
        match parts.as_slice() {
            [UserPart::Text(text)] => self.message("user", "", text, out),
            parts => self.parts(parts, out),
        }
        out.last = Role::User;
    }

    /// Writes a user's message that contains an image or PDF.
    fn parts(&self, parts: &[UserPart], out: &mut Encoder) {
        out.element();
        out.raw("{\"role\":\"user\",\"content\":[");
        for (at, part) in parts.iter().enumerate() {
            if at > 0 {
                out.raw(",");
            }
            match part {
                UserPart::Text(text) => {
                    out.raw("{\"type\":\"text\",\"text\":");
                    out.json(text);
                    if self.marked {
                        out.breakpoint_here();
                    }
                    out.raw("}");
                }
                UserPart::Image(image) => {
                    out.raw("{\"type\":\"image_url\",\"image_url\":{\"url\":");
                    image.write_url(out);
                    out.raw("}}");
                }
                UserPart::Document(document, name) => {
                    out.raw("{\"type\":\"file\",\"file\":{\"filename\":");
                    out.json(name);
                    out.raw(",\"file_data\":");
                    document.write_url(out);
                    out.raw("}}");
                }
            }
        }
        out.raw("]}");
    }

    /// Writes one response as one message.
    pub(super) fn model_side(&self, items: &[Item], native: bool, out: &mut Encoder) {
        let calls: Vec<Value> = items.iter().filter_map(|item| self.call(item)).collect();
        if calls.is_empty() && !items.iter().any(|item| text_of(item).is_some()) {
            // Reasoning alone says nothing.
            return;
        }
        out.element();
        out.raw("{\"role\":\"assistant\",\"content\":");
        out.raw(&self.content(items, native));
        if let Some((member, text)) = self.reasoning(items, native) {
            out.raw(&format!(",\"{member}\":"));
            out.json(&text);
        }
        let details = if native { details(items) } else { Vec::new() };
        if !details.is_empty() {
            out.raw(&format!(",\"reasoning_details\":[{}]", details.join(",")));
        }
        if !calls.is_empty() {
            out.raw(",\"tool_calls\":");
            out.json(&calls);
        }
        out.raw("}");
        out.last = Role::Assistant;
    }

    /// The content: a string, or chunks if the provider sent its reasoning as a chunk.
    fn content(&self, items: &[Item], native: bool) -> String {
        let chunk = |item: &Item| match item {
            Item::Reasoning { opaque, .. } if native => {
                opaque.clone().filter(|raw| is_json(raw, '{'))
            }
            _ => None,
        };
        if items.iter().any(|item| chunk(item).is_some()) {
            let chunks = items.iter().filter_map(|item| match text_of(item) {
                Some(text) => Some(json!({"type": "text", "text": text}).to_string()),
                None => chunk(item),
            });
            return format!("[{}]", chunks.collect::<Vec<_>>().join(","));
        }
        let texts = items.iter().filter_map(text_of);
        // Here text items were parts of one string; texts of another provider become paragraphs.
        let between = if native { "" } else { "\n\n" };
        let text = texts.collect::<Vec<_>>().join(between);
        match text.as_str() {
            "" => self.server.no_content.to_owned(),
            _ => json!(text).to_string(),
        }
    }

    /// The reasoning as text, and the member in which it goes back: the one in which it came.
    fn reasoning(&self, items: &[Item], native: bool) -> Option<(&'static str, String)> {
        let mut member = None;
        let mut said = String::new();
        for item in items {
            if let Item::Reasoning { text, opaque } = item
                && native
            {
                member = member.or(opaque.as_deref().and_then(member_of));
                said += text;
            }
        }
        let wanted = self.server.wants_reasoning || self.ask.refused(Feature::Unreasoned);
        if wanted {
            // Never empty: a space is enough for servers that insist.
            let said = if said.is_empty() { " ".into() } else { said };
            return Some((CONTENT, said));
        }
        let taken = !self.ask.refused(Feature::ReasoningText);
        member.filter(|_| taken).map(|member| (member, said))
    }

    fn call(&self, item: &Item) -> Option<Value> {
        let Item::ToolCall {
            call,
            id,
            name,
            arguments,
            ..
        } = item
        else {
            return None;
        };
        Some(json!({
            "id": self.call_id(id, *call),
            "type": "function",
            // A string, but the templates of many servers parse it.
            "function": {"name": name, "arguments": object(arguments)},
        }))
    }

    /// A call id that the server accepts: the same for the call and its result, and for calls of other providers.
    fn call_id(&self, id: &str, call: CallKey) -> String {
        let digits = |id: &str| id.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let fits = match self.server.ids {
            Ids::Short => id.chars().count() <= MAX_ID,
            Ids::Nine => id.len() == 9 && digits(id),
        };
        if fits && !id.is_empty() {
            return id.to_owned();
        }
        let of_place = format!("call {}", call.0);
        let digest = of_parts(&[if id.is_empty() { &of_place } else { id }]);
        match self.server.ids {
            Ids::Short => format!("call_{}", &digest[..24]),
            Ids::Nine => digest[..9].to_owned(),
        }
    }
}

/// Joins adjacent texts with an empty line between them. Empty texts are left out.
fn joined(parts: Vec<UserPart>) -> Vec<UserPart> {
    let mut joined: Vec<UserPart> = Vec::new();
    for part in parts {
        match (joined.last_mut(), part) {
            (_, UserPart::Text(text)) if text.is_empty() => {}
            (Some(UserPart::Text(before)), UserPart::Text(text)) => {
                before.push_str("\n\n");
                before.push_str(&text);
            }
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// The words of an item; space before a call is none.
fn text_of(item: &Item) -> Option<&str> {
    match item {
        Item::Text { text, .. } if !text.trim().is_empty() => Some(text),
        _ => None,
    }
}

/// The elements of `reasoning_details`, as received.
fn details(items: &[Item]) -> Vec<String> {
    let mut details = Vec::new();
    for item in items {
        if let Item::Reasoning {
            opaque: Some(raw), ..
        } = item
            && let Ok(elements) = serde_json::from_str::<Vec<&RawValue>>(raw)
        {
            details.extend(elements.iter().map(|element| element.get().to_owned()));
        }
    }
    details
}

/// Whether the text is JSON and begins with `begin`.
fn is_json(text: &str, begin: char) -> bool {
    text.trim_start().starts_with(begin) && serde_json::from_str::<&RawValue>(text).is_ok()
}
