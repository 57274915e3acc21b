//! A request as a row of blocks, in the order in which a model reads it, and hashes of its prefixes.
//!
//! Markers of the prompt cache (`cache_control`, `prompt_cache_breakpoint`) are taken out and kept beside, for
//! they are no part of what is read.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::ServedApi;

/// Which part of a request a block belongs to. Models read them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PromptPart {
    Tools,
    System,
    Messages,
}

/// One tool, one piece of the system prompt, or one piece of a message.
#[derive(Clone, Debug)]
pub(crate) struct PromptBlock {
    pub(crate) part: PromptPart,
    /// The JSON pointer of the block in the body.
    pub(crate) place: String,
    /// What surrounds it, as compact JSON: the message without its content.
    pub(crate) around: String,
    /// The block without its marker.
    pub(crate) value: Value,
    /// The marker of a breakpoint.
    pub(crate) mark: Option<Value>,
}

impl PromptBlock {
    /// The hash of a prefix that ends with this block, from the hash of what comes before it.
    pub(crate) fn link(&self, before: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (before, self.part, &self.around, self.value.to_string()).hash(&mut hasher);
        hasher.finish()
    }
}

/// The blocks of a request, in the order tools, system, messages. Empty text is left out: no model reads it.
pub(crate) fn blocks(api: ServedApi, body: &Value) -> Vec<PromptBlock> {
    let mut row = BlockRow {
        mark: marker(api),
        blocks: Vec::new(),
    };
    match api {
        ServedApi::Anthropic => {
            row.each(PromptPart::Tools, "/tools", &body["tools"]);
            row.content(PromptPart::System, "/system", &body["system"], "");
            row.messages("/messages", &body["messages"], "content");
        }
        ServedApi::OpenaiResponses => {
            row.each(PromptPart::Tools, "/tools", &body["tools"]);
            row.content(
                PromptPart::System,
                "/instructions",
                &body["instructions"],
                "",
            );
            row.messages("/input", &body["input"], "content");
        }
        ServedApi::OpenaiChat | ServedApi::Ollama => {
            row.each(PromptPart::Tools, "/tools", &body["tools"]);
            row.each(PromptPart::Messages, "/messages", &body["messages"]);
        }
        ServedApi::Gemini => {
            let system = &body["systemInstruction"]["parts"];
            row.content(PromptPart::System, "/systemInstruction/parts", system, "");
            row.each(PromptPart::Tools, "/tools", &body["tools"]);
            row.messages("/contents", &body["contents"], "parts");
        }
    }
    row.blocks
}

/// A reply as the history that it becomes: content blocks, output items or parts.
pub(crate) fn as_history(api: ServedApi, items: &[Value]) -> Value {
    match api {
        ServedApi::Anthropic => json!({"messages": [{"role": "assistant", "content": items}]}),
        ServedApi::OpenaiResponses => json!({"input": items}),
        ServedApi::Gemini => json!({"contents": [{"role": "model", "parts": items}]}),
        ServedApi::OpenaiChat | ServedApi::Ollama => json!({"messages": items}),
    }
}

fn marker(api: ServedApi) -> &'static str {
    if api == ServedApi::Anthropic {
        "cache_control"
    } else {
        "prompt_cache_breakpoint"
    }
}

struct BlockRow {
    mark: &'static str,
    blocks: Vec<PromptBlock>,
}

impl BlockRow {
    fn each(&mut self, part: PromptPart, place: &str, array: &Value) {
        for (place, value) in super::elements(place, array) {
            self.push(part, place, value.clone(), "");
        }
    }

    fn messages(&mut self, place: &str, messages: &Value, member: &str) {
        if let Some(input) = messages.as_str() {
            let user = json!([{"type": "message", "role": "user", "content": input}]);
            return self.messages(place, &user, member);
        }
        for (place, message) in super::elements(place, messages) {
            let Some(content) = message.get(member) else {
                self.push(PromptPart::Messages, place, message.clone(), "");
                continue;
            };
            let mut header = message.as_object().cloned().unwrap_or_else(Map::new);
            header.shift_remove(member);
            let around = Value::Object(header).to_string();
            self.content(
                PromptPart::Messages,
                &format!("{place}/{member}"),
                content,
                &around,
            );
        }
    }

    fn content(&mut self, part: PromptPart, place: &str, content: &Value, around: &str) {
        if let Some(text) = content.as_str() {
            self.push(
                part,
                place.to_owned(),
                json!({"type": "text", "text": text}),
                around,
            );
        }
        for (place, value) in super::elements(place, content) {
            self.push(part, place, value.clone(), around);
        }
    }

    fn push(&mut self, part: PromptPart, place: String, mut value: Value, around: &str) {
        let mark = value
            .as_object_mut()
            .and_then(|object| object.shift_remove(self.mark));
        if value["text"] == "" && value.get("thoughtSignature").is_none() {
            return;
        }
        self.blocks.push(PromptBlock {
            part,
            place,
            around: around.to_owned(),
            value,
            mark,
        });
    }
}
