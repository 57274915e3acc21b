//! Builds the request body.

use aside_base::digest;
use aside_turn::{response::Feature, rules::ToolChoice, transcript::Item};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json, value::RawValue};

use crate::{
    api::{EncodedHead, Encoder, ReasoningRequest, RequestContents, Role},
    attached::{UserPart, parts, result_parts},
    effort,
    options::CacheRetention,
    schema,
};

/// Maximum length of a call id.
const MAX_ID: usize = 64;

/// Members that vary between requests. None of them precedes the tools, instructions or input in the model's prompt.
pub(super) fn opening(ask: &RequestContents<'_>) -> String {
    let mut members = vec![
        ("model", json!(ask.options.model)),
        ("stream", json!(true)),
        ("store", json!(false)),
    ];
    if ask.reasoning() != ReasoningRequest::Unsaid {
        // Models without reasoning refuse this member.
        members.push(("include", json!(["reasoning.encrypted_content"])));
    }
    if !ask.tools().is_empty() {
        members.push(("tool_choice", tool_choice(ask.tool_choice)));
        if !ask.refused(Feature::ParallelCalls) {
            members.push(("parallel_tool_calls", json!(true)));
        }
    }
    members.extend(reasoning(ask).map(|reasoning| ("reasoning", reasoning)));
    members.push(("max_output_tokens", json!(ask.options.output())));
    members.extend(text(ask).map(|text| ("text", text)));
    members.extend(cache(ask));
    if !ask.refused(Feature::StreamUsage) {
        // Without this each delta is padded to hide its length. Refusing `include_usage` of other APIs tells that a
        // server knows no stream options.
        members.push(("stream_options", json!({"include_obfuscation": false})));
    }
    let written = members
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value},"));
    written.collect()
}

fn tool_choice(choice: &ToolChoice) -> Value {
    match choice {
        ToolChoice::Auto => json!("auto"),
        ToolChoice::None => json!("none"),
        ToolChoice::Required => json!("required"),
        ToolChoice::Name(name) => json!({"type": "function", "name": name}),
    }
}

/// Reasoning options: effort, summary, and access to the reasoning of earlier turns.
pub(super) fn reasoning(ask: &RequestContents<'_>) -> Option<Value> {
    let wanted = match ask.reasoning() {
        ReasoningRequest::Unsaid => return None,
        ReasoningRequest::Off => return Some(json!({"effort": effort::NONE})),
        ReasoningRequest::On(wanted) => wanted,
    };
    let mut reasoning = json!({"summary": "auto", "context": "all_turns"});
    if let Some(wanted) = wanted {
        let word = effort::usual_word(wanted, &ask.options.abilities.efforts);
        reasoning = json!({"effort": word, "summary": "auto", "context": "all_turns"});
    }
    Some(reasoning)
}

/// Format of an answer with a schema. Text is the default, and its verbosity is left to the model.
fn text(ask: &RequestContents<'_>) -> Option<Value> {
    let schema = ask.answer_schema()?;
    let strict = schema::for_openai(schema);
    let format = json!({
        "type": "json_schema",
        "name": "answer",
        "strict": strict.is_some(),
        "schema": strict.as_ref().unwrap_or(schema),
    });
    Some(json!({"format": format}))
}

/// Cache options. The key directs a conversation's requests to the same cache, and the server sets a breakpoint at the
/// end by itself. With `explicit` mode and no breakpoint nothing is cached.
fn cache(ask: &RequestContents<'_>) -> Vec<(&'static str, Value)> {
    if ask.refused(Feature::CacheHint) {
        return Vec::new();
    }
    let key = ("prompt_cache_key", json!(ask.conversation));
    let options = |ttl: &str| {
        (
            "prompt_cache_options",
            json!({"mode": "implicit", "ttl": ttl}),
        )
    };
    match ask.options.cache {
        CacheRetention::Off => vec![("prompt_cache_options", json!({"mode": "explicit"}))],
        CacheRetention::Short => vec![key, options("30m")],
        CacheRetention::Long => vec![key, options("12h")],
    }
}

/// Cache breakpoint before the question of a request with an answer schema. The schema separates its cache from that of
/// other requests, and the question differs each time, so a breakpoint behind it would never be used again.
pub(super) fn breakpoint(ask: &RequestContents<'_>) -> Option<String> {
    let may =
        ask.options.cache != CacheRetention::Off && !ask.without.contains(&Feature::CacheHint);
    (may && ask.schema.is_some())
        .then(|| r#","prompt_cache_breakpoint":{"mode":"explicit"}"#.to_owned())
}

/// Instructions and tools.
pub(super) fn frozen(ask: &RequestContents<'_>) -> EncodedHead {
    #[derive(Serialize)]
    struct FunctionTool<'a> {
        r#type: &'a str,
        name: &'a str,
        description: &'a str,
        parameters: &'a Value,
        #[serde(skip_serializing_if = "Option::is_none")]
        strict: Option<bool>,
    }
    let may_be_strict = ask.takes_strict();
    let mut bytes = String::new();
    if !ask.head.system.is_empty() {
        bytes += &format!("\"instructions\":{},", json!(ask.head.system));
    }
    let tools: Vec<String> = ask
        .tools()
        .into_iter()
        .map(|tool| {
            let strict = Some(&tool.parameters)
                .filter(|_| tool.strict && may_be_strict)
                .and_then(schema::for_openai);
            json!(FunctionTool {
                r#type: "function",
                name: &tool.name,
                description: &tool.description,
                // If `strict` is absent, the server makes optional properties nullable.
                strict: may_be_strict.then_some(strict.is_some()),
                parameters: &strict.unwrap_or_else(|| schema::complete(&tool.parameters)),
            })
            .to_string()
        })
        .collect();
    if !tools.is_empty() {
        bytes += &format!("\"tools\":[{}],", tools.join(","));
    }
    bytes += "\"input\":[";
    EncodedHead {
        bytes: bytes.into(),
        ..EncodedHead::default()
    }
}

/// The end of the history, with what asks for a summary as its last item.
pub(super) fn closing(ask: &RequestContents<'_>) -> &'static str {
    match ask.compacts {
        true => r#",{"type":"compaction_trigger"}]"#,
        false => "]",
    }
}

/// Appends input items.
pub(super) fn encode(items: &[Item], native: bool, ask: &RequestContents<'_>, out: &mut Encoder) {
    // Reasoning must be followed by the item that it led to. If that item is missing, or goes back without its id, the
    // reasoning is left out. Its other items then go back without their ids too: by the id the server knows which
    // reasoning an item belongs to, and refuses one without the other.
    let mut reasoning: Vec<&str> = Vec::new();
    let mut is_bereft = false;
    for item in items {
        if !is_said_by_model(item) {
            is_bereft = false;
        }
        match verbatim(item).filter(|_| native) {
            Some(raw) if is_reasoning(raw) => {
                is_bereft = false;
                reasoning.push(raw);
            }
            Some(_) if is_bereft => portable_item(item, native, ask, out),
            Some(raw) => {
                for raw in reasoning.drain(..).chain([raw]) {
                    out.element();
                    out.raw(raw);
                }
                out.last = Role::Assistant;
            }
            None => {
                if !matches!(item, Item::Reasoning { .. }) {
                    is_bereft |= !reasoning.is_empty();
                    reasoning.clear();
                }
                portable_item(item, native, ask, out);
            }
        }
    }
}

/// The item as the provider sent it.
fn verbatim(item: &Item) -> Option<&str> {
    match item {
        Item::Text { opaque, .. }
        | Item::Reasoning { opaque, .. }
        | Item::ToolCall { opaque, .. } => opaque.as_deref(),
        _ => None,
    }
}

fn is_said_by_model(item: &Item) -> bool {
    matches!(
        item,
        Item::Text { .. } | Item::Reasoning { .. } | Item::ToolCall { .. }
    )
}

fn is_reasoning(raw: &str) -> bool {
    #[derive(Deserialize)]
    struct TypedItem<'a> {
        #[serde(borrow)]
        r#type: &'a RawValue,
    }
    serde_json::from_str::<TypedItem<'_>>(raw)
        .is_ok_and(|item| item.r#type.get() == "\"reasoning\"")
}

/// Adds what an item means, without what a provider knows of it.
fn portable_item(item: &Item, native: bool, ask: &RequestContents<'_>, out: &mut Encoder) {
    match item {
        Item::User { text, attachments } => {
            user(parts(text, attachments, ask), out);
        }
        Item::Steer(text) => message(Role::User, text, out),
        Item::Directive(text) => {
            message(
                if ask.takes_system() {
                    Role::System
                } else {
                    Role::User
                },
                text,
                out,
            );
        }
        Item::Text { text, .. } => message(Role::Assistant, text, out),
        Item::Reasoning { .. } => {}
        Item::ToolCall {
            id,
            name,
            arguments,
            ..
        } => {
            let arguments = if arguments.trim().is_empty() {
                "{}"
            } else {
                arguments
            };
            out.push(&json!({
                "type": "function_call",
                "call_id": call_id(id, native),
                "name": name,
                "arguments": arguments,
            }));
            out.last = Role::Assistant;
        }
        Item::ToolResult {
            id, content, media, ..
        } => {
            let (content, media) = result_parts(content, media, ask);
            if !media.is_empty() {
                return result_with_media(&call_id(id, native), &content, &media, out);
            }
            // Results are most of a conversation, so they are written without a copy.
            #[derive(Serialize)]
            struct FunctionCallOutput<'a> {
                r#type: &'a str,
                call_id: String,
                output: &'a str,
            }
            out.push(&FunctionCallOutput {
                r#type: "function_call_output",
                call_id: call_id(id, native),
                output: &content,
            });
            out.last = Role::User;
        }
    }
}

/// Writes the user's message, unless it is empty.
fn user(parts: Vec<UserPart>, out: &mut Encoder) {
    if parts
        .iter()
        .all(|part| matches!(part, UserPart::Text(text) if text.is_empty()))
    {
        return;
    }
    out.element();
    out.raw(r#"{"type":"message","role":"user","content":["#);
    input_parts(&parts, true, out);
    out.raw("]}");
    out.last = Role::User;
}

/// Writes a result with images or documents.
fn result_with_media(call_id: &str, text: &str, media: &[UserPart], out: &mut Encoder) {
    out.element();
    out.raw(r#"{"type":"function_call_output","call_id":"#);
    out.json(&call_id);
    out.raw(r#","output":[{"type":"input_text","text":"#);
    out.json(&text);
    out.raw("},");
    input_parts(media, false, out);
    out.raw("]}");
    out.last = Role::User;
}

/// Writes the parts of a message or a result; `breaks` if a cache breakpoint may stand in them.
fn input_parts(parts: &[UserPart], breaks: bool, out: &mut Encoder) {
    for (at, part) in parts.iter().enumerate() {
        if at > 0 {
            out.raw(",");
        }
        match part {
            UserPart::Text(text) => {
                out.raw(r#"{"type":"input_text","text":"#);
                out.json(&text);
                if breaks {
                    out.breakpoint_here();
                }
            }
            UserPart::Image(image) => {
                out.raw(r#"{"type":"input_image","detail":"auto","image_url":"#);
                image.write_url(out);
            }
            UserPart::Document(document, name) => {
                out.raw(r#"{"type":"input_file","filename":"#);
                out.json(name);
                out.raw(r#","file_data":"#);
                document.write_url(out);
            }
        }
        out.raw("}");
    }
}

/// Writes a message, unless it is empty.
fn message(of: Role, text: &str, out: &mut Encoder) {
    if of == Role::User {
        return user(vec![UserPart::Text(text.to_owned())], out);
    }
    if text.is_empty() {
        return;
    }
    let (role, part) = match of {
        Role::Assistant => ("assistant", "output_text"),
        _ => ("developer", "input_text"),
    };
    out.element();
    out.raw(&format!(
        r#"{{"type":"message","role":"{role}","content":[{{"type":"{part}","text":"#
    ));
    out.json(&text);
    if part == "input_text" {
        out.breakpoint_here();
    }
    out.raw("}]}");
    out.last = of;
}

/// A call id that the API accepts. An id of another provider in a different format is replaced by its digest.
fn call_id(id: &str, native: bool) -> String {
    let is_fit = |char: char| char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
    if native || ((1..=MAX_ID).contains(&id.len()) && id.chars().all(is_fit)) {
        return id.to_owned();
    }
    digest::sha256(id.as_bytes())
}
