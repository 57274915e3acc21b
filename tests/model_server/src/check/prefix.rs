//! A request as a row of blocks, in the order in which a model reads it, and hashes of its prefixes.
//!
//! Markers of the prompt cache (`cache_control`, `prompt_cache_breakpoint`) are taken out and kept beside, for
//! they are no part of what is read.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde_json::{Map, Value, json};

use crate::Api;

/// Which part of a request a block belongs to. Models read them in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Part {
    Tools,
    System,
    Messages,
}

/// One tool, one piece of the system prompt, or one piece of a message.
#[derive(Clone, Debug)]
pub(crate) struct Block {
    pub(crate) part: Part,
    /// The JSON pointer of the block in the body.
    pub(crate) place: String,
    /// What surrounds it, as compact JSON: the message without its content.
    pub(crate) around: String,
    /// The block without its marker.
    pub(crate) value: Value,
    /// The marker of a breakpoint.
    pub(crate) mark: Option<Value>,
}

impl Block {
    /// The hash of a prefix that ends with this block, from the hash of what comes before it.
    pub(crate) fn link(&self, before: u64) -> u64 {
        let mut hasher = DefaultHasher::new();
        (before, self.part, &self.around, self.value.to_string()).hash(&mut hasher);
        hasher.finish()
    }
}

/// The blocks of a request, in the order tools, system, messages. Empty text is left out: no model reads it.
pub(crate) fn blocks(api: Api, body: &Value) -> Vec<Block> {
    let mut row = Row {
        mark: marker(api),
        blocks: Vec::new(),
    };
    match api {
        Api::Anthropic => {
            row.each(Part::Tools, "/tools", &body["tools"]);
            row.content(Part::System, "/system", &body["system"], "");
            row.messages("/messages", &body["messages"], "content");
        }
        Api::OpenaiResponses => {
            row.each(Part::Tools, "/tools", &body["tools"]);
            row.content(Part::System, "/instructions", &body["instructions"], "");
            row.messages("/input", &body["input"], "content");
        }
        Api::OpenaiChat | Api::Ollama => {
            row.each(Part::Tools, "/tools", &body["tools"]);
            row.each(Part::Messages, "/messages", &body["messages"]);
        }
        Api::Gemini => {
            let system = &body["systemInstruction"]["parts"];
            row.content(Part::System, "/systemInstruction/parts", system, "");
            row.each(Part::Tools, "/tools", &body["tools"]);
            row.messages("/contents", &body["contents"], "parts");
        }
    }
    row.blocks
}

/// A reply as the history that it becomes: content blocks, output items or parts.
pub(crate) fn as_history(api: Api, items: &[Value]) -> Value {
    match api {
        Api::Anthropic => json!({"messages": [{"role": "assistant", "content": items}]}),
        Api::OpenaiResponses => json!({"input": items}),
        Api::Gemini => json!({"contents": [{"role": "model", "parts": items}]}),
        Api::OpenaiChat | Api::Ollama => json!({"messages": items}),
    }
}

fn marker(api: Api) -> &'static str {
    if api == Api::Anthropic {
        "cache_control"
    } else {
        "prompt_cache_breakpoint"
    }
}

struct Row {
    mark: &'static str,
    blocks: Vec<Block>,
}

impl Row {
    fn each(&mut self, part: Part, place: &str, array: &Value) {
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
                self.push(Part::Messages, place, message.clone(), "");
                continue;
            };
            let mut header = message.as_object().cloned().unwrap_or_else(Map::new);
            header.shift_remove(member);
            let around = Value::Object(header).to_string();
            self.content(
                Part::Messages,
                &format!("{place}/{member}"),
                content,
                &around,
            );
        }
    }

    fn content(&mut self, part: Part, place: &str, content: &Value, around: &str) {
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

    fn push(&mut self, part: Part, place: String, mut value: Value, around: &str) {
        let mark = value
            .as_object_mut()
            .and_then(|object| object.shift_remove(self.mark));
        if value["text"] == "" && value.get("thoughtSignature").is_none() {
            return;
        }
        self.blocks.push(Block {
            part,
            place,
            around: around.to_owned(),
            value,
            mark,
        });
    }
}
