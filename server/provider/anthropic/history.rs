//! Encodes the history as messages of content blocks.

use aside_turn::transcript::Item;
use serde::Deserialize;
use serde_json::json;

use super::super::{
    api::{Encoder, RequestContents, Role, object},
    attached::{Encoded, UserPart, parts, result_parts},
};

/// Placeholder for a missing response: an assistant message must follow a system message.
const NO_ANSWER: &str = "[no answer]";
/// Placeholder for an empty error: the API requires text.
const EMPTY_ERROR: &str = "The tool failed.";
/// Maximum length of a tool's name, and of the part of a foreign call id that is kept.
const MAX_NAME: usize = 64;

/// A content block.
struct EncodedBlock {
    /// A JSON object.
    json: String,
    /// Whether the block may carry a cache breakpoint.
    cacheable: bool,
    /// Whether the block is thinking, readable or redacted.
    thinking: bool,
}

/// Encodes the user's side of one request. Tool results come first, in one message with the rest. Directives follow in
/// a system message if the model accepts one, but never without a user message before it.
pub(super) fn user(items: &[Item], ask: &RequestContents<'_>, out: &mut Encoder) {
    let is_directive = |item: &Item| matches!(item, Item::Directive(_));
    let has_other = ask.takes_system() && items.iter().any(says_something);
    let apart = |item: &&Item| is_directive(item) && has_other;
    let blocks: Vec<EncodedBlock> = items
        .iter()
        .filter(|item| !apart(item))
        .flat_map(|item| user_blocks(item, ask))
        .collect();
    if blocks.is_empty() {
        return;
    }
    if out.last == Role::System {
        message("assistant", &[EncodedBlock::text(NO_ANSWER)], out);
    }
    message("user", &blocks, out);
    out.last = Role::User;
    let said: Vec<&str> = items
        .iter()
        .filter(apart)
        .filter_map(|item| match item {
            Item::Directive(text) if has_words(text) => Some(text.as_str()),
            _ => None,
        })
        .collect();
    if !said.is_empty() {
        out.push(&json!({"role": "system", "content": said.join("\n\n")}));
        out.last = Role::System;
    }
}

/// Encodes a response in its order. A response that is only thinking is left out: a message must not end in thinking.
pub(super) fn assistant(items: &[Item], native: bool, out: &mut Encoder) {
    let blocks: Vec<EncodedBlock> = items
        .iter()
        .filter_map(|item| model_block(item, native))
        .collect();
    if blocks.iter().all(|block| block.thinking) {
        return;
    }
    message("assistant", &blocks, out);
    out.last = Role::Assistant;
}

/// Encodes a summary of the model as the first message.
pub(super) fn summary(opaque: &str, out: &mut Encoder) {
    message("assistant", &[EncodedBlock::new(opaque.to_owned())], out);
    out.last = Role::Assistant;
}

fn message(role: &str, blocks: &[EncodedBlock], out: &mut Encoder) {
    let last = blocks.iter().rposition(|block| block.cacheable);
    out.element();
    out.raw(&format!(r#"{{"role":"{role}","content":["#));
    for (at, block) in blocks.iter().enumerate() {
        if at > 0 {
            out.raw(",");
        }
        match block.json.strip_suffix('}') {
            Some(open) if Some(at) == last => {
                out.raw(open);
                out.breakpoint_here();
                out.raw("}");
            }
            _ => out.raw(&block.json),
        }
    }
    out.raw("]}");
}

/// Whether the item becomes a block and is not a directive.
fn says_something(item: &Item) -> bool {
    match item {
        Item::User { text, attachments } => !attachments.is_empty() || has_words(text),
        Item::Steer(text) => has_words(text),
        Item::ToolResult { .. } => true,
        _ => false,
    }
}

fn user_blocks(item: &Item, ask: &RequestContents<'_>) -> Vec<EncodedBlock> {
    let parts = match item {
        Item::User { text, attachments } => parts(text, attachments, ask),
        Item::Directive(text) | Item::Steer(text) => vec![UserPart::Text(text.clone())],
        Item::ToolResult {
            id,
            content,
            is_error,
            media,
            ..
        } => {
            let (content, media) = result_parts(content, media, ask);
            return vec![result(id, &content, &media, *is_error)];
        }
        _ => Vec::new(),
    };
    parts.iter().filter_map(part_block).collect()
}

fn part_block(part: &UserPart) -> Option<EncodedBlock> {
    match part {
        UserPart::Text(text) => has_words(text).then(|| EncodedBlock::text(text)),
        UserPart::Image(image) => Some(EncodedBlock::media("image", image)),
        UserPart::Document(document, _) => Some(EncodedBlock::media("document", document)),
    }
}

fn result(id: &str, content: &str, media: &[UserPart], is_error: bool) -> EncodedBlock {
    // Only text may stand in an error.
    if !media.is_empty() && !is_error {
        let text = has_words(content).then(|| EncodedBlock::text(content));
        let blocks = text.into_iter().chain(media.iter().filter_map(part_block));
        let blocks: Vec<String> = blocks.map(|block| block.json).collect();
        let (id, blocks) = (json!(call_id(id)), blocks.join(","));
        return EncodedBlock::new(format!(
            r#"{{"type":"tool_result","tool_use_id":{id},"content":[{blocks}]}}"#
        ));
    }
    let mut block = json!({"type": "tool_result", "tool_use_id": call_id(id)});
    if is_error {
        let words = if has_words(content) {
            content
        } else {
            EMPTY_ERROR
        };
        block["is_error"] = json!(true);
        block["content"] = json!([{"type": "text", "text": words}]);
    } else if !content.is_empty() {
        block["content"] = json!(content);
    }
    EncodedBlock::new(block.to_string())
}

fn model_block(item: &Item, native: bool) -> Option<EncodedBlock> {
    let (Item::Text { opaque, .. }
    | Item::Reasoning { opaque, .. }
    | Item::ToolCall { opaque, .. }) = item
    else {
        return None;
    };
    // The API refuses text blocks that are empty or blank.
    if matches!(item, Item::Text { text, .. } if !has_words(text)) {
        return None;
    }
    let other_id = matches!(item, Item::ToolCall { id, .. } if call_id(id) != *id);
    if let Some(opaque) = opaque.as_deref().filter(|_| native && !other_id) {
        return Some(EncodedBlock::verbatim(opaque));
    }
    match item {
        Item::Text { text, .. } => Some(EncodedBlock::text(text)),
        Item::ToolCall {
            id,
            name,
            arguments,
            ..
        } => {
            let (id, name) = (call_id(id), tool_name(name));
            // Ids and names need no escaping here; the arguments go back as they came.
            let (id, name, input) = (json!(id), json!(name), object(arguments));
            let json = format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#);
            Some(EncodedBlock::new(json))
        }
        _ => None,
    }
}

impl EncodedBlock {
    fn new(json: String) -> Self {
        Self {
            json,
            cacheable: true,
            thinking: false,
        }
    }

    fn text(text: &str) -> Self {
        Self::new(json!({"type": "text", "text": text}).to_string())
    }

    fn media(kind: &str, Encoded { mime, data }: &Encoded) -> Self {
        // Base64 needs no escaping, and the data may be long.
        let source = format!(r#"{{"type":"base64","media_type":"{mime}","data":"{data}"}}"#);
        Self::new(format!(r#"{{"type":"{kind}","source":{source}}}"#))
    }

    /// A block that goes back as the provider sent it.
    fn verbatim(json: &str) -> Self {
        #[derive(Deserialize)]
        struct BlockType<'a> {
            #[serde(rename = "type", borrow)]
            word: std::borrow::Cow<'a, str>,
        }
        let kind = serde_json::from_str::<BlockType<'_>>(json);
        let word = kind.as_ref().map_or("", |kind| kind.word.as_ref());
        Self {
            cacheable: matches!(word, "text" | "tool_use"),
            thinking: matches!(word, "thinking" | "redacted_thinking"),
            ..Self::new(json.to_owned())
        }
    }
}

fn has_words(text: &str) -> bool {
    !text.trim().is_empty()
}

/// Returns a call id that the API accepts. Foreign ids may contain characters that it refuses; a hash keeps different
/// ids apart. The result depends on the id alone, because a call and its result may be encoded in different requests.
fn call_id(id: &str) -> String {
    if !id.is_empty() && id.chars().all(is_plain) {
        return id.to_owned();
    }
    format!("{}_{:08x}", plain(id), crc32fast::hash(id.as_bytes()))
}

/// Returns a tool name that the API accepts: a model may have written anything.
fn tool_name(name: &str) -> String {
    match plain(name) {
        plain if plain.is_empty() => "_".to_owned(),
        plain => plain,
    }
}

fn is_plain(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '_' | '-')
}

fn plain(text: &str) -> String {
    text.chars()
        .take(MAX_NAME)
        .map(|char| if is_plain(char) { char } else { '_' })
        .collect()
}
