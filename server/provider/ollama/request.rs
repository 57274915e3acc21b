//! Encodes requests for Ollama.

use std::fmt::Write;

use aside_turn::{rules::ToolChoice, transcript::Item};
use serde_json::{Map, Value, json};

use super::super::{
    ToolDeclaration,
    abilities::ReasoningKind,
    api::{EncodedHead, Encoder, ReasoningRequest, RequestContents, Role, object},
    attached::{UserPart, parts, result_parts},
    effort,
    options::ModelOptions,
    schema::{complete, for_ollama},
};

/// Context window in tokens to request if the model's is unknown: the server's default may be a few thousand.
const DEFAULT_CONTEXT: u64 = 32_768;

/// Context window to request in tokens, input and output together.
pub(super) fn context(options: &ModelOptions) -> u64 {
    options.abilities.context_window.unwrap_or(DEFAULT_CONTEXT)
}

/// Members that vary between requests.
pub(super) fn opening(ask: &RequestContents<'_>) -> String {
    let mut members = Map::new();
    members.insert("model".into(), ask.options.model.as_str().into());
    members.insert("stream".into(), true.into());
    if let Some(think) = think(ask) {
        members.insert("think".into(), think);
    }
    if let Some(schema) = ask.answer_schema() {
        members.insert("format".into(), for_ollama(schema));
    }
    let options = json!({"num_ctx": context(ask.options), "num_predict": ask.options.output()});
    members.insert("options".into(), options);
    // An oversized request must fail. By default the server silently drops its beginning, before and during the answer.
    members.insert("truncate".into(), false.into());
    members.insert("shift".into(), false.into());
    let mut out = String::new();
    for (name, value) in members {
        // Writing to a string cannot fail.
        let _ = write!(out, "\"{name}\":{value},");
    }
    out
}

/// Reasoning option; `None` leaves reasoning to the model.
fn think(ask: &RequestContents<'_>) -> Option<Value> {
    let abilities = &ask.options.abilities;
    match (ask.reasoning(), abilities.reasoning) {
        (ReasoningRequest::Unsaid, _) => None,
        (ReasoningRequest::Off, _) => Some(false.into()),
        (ReasoningRequest::On(effort), ReasoningKind::Effort) => {
            effort::word(effort?, &abilities.efforts).map(Value::from)
        }
        // Models that can reason do so by default; the others accept no option.
        (ReasoningRequest::On(effort), _) => effort.map(|_| true.into()),
    }
}

/// The tools, and the system text as the first message.
pub(super) fn frozen(ask: &RequestContents<'_>) -> EncodedHead {
    let mut out = String::new();
    let mut tools = ask.tools();
    if *ask.tool_choice == ToolChoice::None {
        // The API has no tool choice.
        tools.clear();
    }
    if !tools.is_empty() {
        let tools: Vec<Value> = tools.into_iter().map(tool).collect();
        // Writing to a string cannot fail.
        let _ = write!(out, "\"tools\":{},", Value::Array(tools));
    }
    out += "\"messages\":[";
    let begun = !ask.head.system.is_empty();
    if begun {
        let message = json!({"role": "system", "content": ask.head.system});
        let _ = write!(out, "{message}");
    }
    EncodedHead {
        bytes: out.into_bytes(),
        begun,
        ..EncodedHead::default()
    }
}

fn tool(tool: &ToolDeclaration) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": for_ollama(&complete(&tool.parameters)),
        },
    })
}

/// Appends one request or one response to the history.
pub(super) fn encode(items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder) {
    if items.iter().any(Item::is_of_model) {
        return said(items, native, out);
    }
    let system = ask.takes_system();
    // A result has no place for images, so they follow as the user's.
    let mut shown = Vec::new();
    for item in items {
        if !matches!(item, Item::ToolResult { .. }) {
            user(std::mem::take(&mut shown), out);
        }
        let (role, text) = match item {
            Item::ToolResult {
                id,
                name,
                content,
                media,
                ..
            } => {
                let (content, media) = result_parts(content, media, ask);
                shown.extend(media);
                out.push(&json!({
                    "role": "tool", "tool_name": name, "tool_call_id": id, "content": content,
                }));
                out.last = Role::User;
                continue;
            }
            Item::User { text, attachments } => {
                user(parts(text, attachments, ask), out);
                continue;
            }
            Item::Directive(text) if system => (Role::System, text.clone()),
            Item::Directive(text) | Item::Steer(text) => (Role::User, text.clone()),
            _ => continue,
        };
        if !text.is_empty() {
            let name = if role == Role::System {
                "system"
            } else {
                "user"
            };
            out.push(&json!({"role": name, "content": text}));
            out.last = role;
        }
    }
    user(shown, out);
}

/// Writes a user's message: all text in one string, and images beside it in the order in which the text names them.
fn user(parts: Vec<UserPart>, out: &mut Encoder) {
    let (mut content, mut images) = (String::new(), Vec::new());
    for part in parts {
        match part {
            UserPart::Text(text) => content += &text,
            UserPart::Image(image) => images.push(image.data),
            // No model of this API accepts documents, whatever the configuration says.
            UserPart::Document(..) => {}
        }
    }
    if content.is_empty() {
        return;
    }
    let mut message = json!({"role": "user", "content": content});
    if !images.is_empty() {
        message["images"] = images.into();
    }
    out.push(&message);
    out.last = Role::User;
}

/// Encodes a response as one message, whatever the order of its items.
fn said(items: &[Item], native: bool, out: &mut Encoder) {
    let (mut content, mut thinking, mut calls) = (String::new(), String::new(), Vec::new());
    for item in items {
        match item {
            Item::Text { text, .. } => content += text,
            Item::Reasoning { text, .. } if native => thinking += text,
            Item::ToolCall {
                id,
                name,
                arguments,
                ..
            } => calls.push((id, name, arguments)),
            _ => {}
        }
    }
    if content.is_empty() && thinking.is_empty() && calls.is_empty() {
        return;
    }
    out.element();
    out.raw("{\"role\":\"assistant\",\"content\":");
    out.json(&content);
    if !thinking.is_empty() {
        out.raw(",\"thinking\":");
        out.json(&thinking);
    }
    for (at, (id, name, arguments)) in calls.iter().enumerate() {
        out.raw(if at == 0 { ",\"tool_calls\":[" } else { "," });
        out.raw("{\"id\":");
        out.json(id);
        out.raw(",\"function\":{\"index\":");
        out.json(&at);
        out.raw(",\"name\":");
        out.json(name);
        // The server keeps the order of the members.
        out.raw(",\"arguments\":");
        out.raw(&object(arguments));
        out.raw("}}");
    }
    out.raw(if calls.is_empty() { "}" } else { "]}" });
    out.last = Role::Assistant;
}
