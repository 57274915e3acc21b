//! Assembles a content block of a response from its start event and its deltas.

use aside_turn::response::Kind;
use indexmap::IndexMap;
use serde_json::{
    Value,
    value::{RawValue, to_raw_value},
};

/// A content block, as far as it was received.
pub(super) struct StreamedBlock {
    /// Kind of the block.
    pub(super) kind: Kind,
    /// Members of the block as in its start event.
    members: IndexMap<String, Box<RawValue>>,
    /// Text that deltas appended, by member.
    texts: IndexMap<String, String>,
    /// JSON that deltas appended to `input`.
    input: String,
    /// Citations that deltas added.
    citations: Vec<Value>,
}

impl StreamedBlock {
    /// Creates a block from its start event. `None` if `raw` is not a JSON object.
    pub(super) fn new(raw: &str) -> Option<Self> {
        let members: IndexMap<String, Box<RawValue>> = serde_json::from_str(raw).ok()?;
        let mut block = Self {
            kind: Kind::Opaque,
            members,
            texts: IndexMap::new(),
            input: String::new(),
            citations: Vec::new(),
        };
        block.kind = match block.text_of("type").as_str() {
            "text" => Kind::Text,
            "thinking" => Kind::Reasoning,
            "compaction" => Kind::Compaction,
            "tool_use" => Kind::ToolCall {
                id: block.text_of("id"),
                name: block.text_of("name"),
            },
            _ => Kind::Opaque,
        };
        Some(block)
    }

    /// Text in the start event, if there is any.
    pub(super) fn first_text(&self) -> Option<String> {
        let text = match self.kind {
            Kind::Text => self.text_of("text"),
            Kind::Reasoning => self.text_of("thinking"),
            Kind::Compaction => self.text_of("content"),
            _ => return None,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    /// Adds a delta. Returns the text or the call arguments that it appends, if any.
    pub(super) fn add(&mut self, delta: &Value) -> Option<String> {
        let mut shown = None;
        for (name, value) in delta.as_object()? {
            match (name.as_str(), value) {
                ("type", _) => {}
                ("partial_json", Value::String(text)) => {
                    if matches!(self.kind, Kind::ToolCall { .. }) {
                        shown = Some(text.clone());
                    } else {
                        self.input.push_str(text);
                    }
                }
                ("citation", citation) => self.citations.push(citation.clone()),
                (name, Value::String(text)) => {
                    self.add_to(name, text);
                    if matches!(
                        (&self.kind, name),
                        (Kind::Text, "text")
                            | (Kind::Reasoning, "thinking")
                            | (Kind::Compaction, "content")
                    ) {
                        shown = Some(text.clone());
                    }
                }
                (name, value) => {
                    if let Ok(raw) = to_raw_value(value) {
                        self.members.insert(name.to_owned(), raw);
                    }
                }
            }
        }
        shown.filter(|text| !text.is_empty())
    }

    fn add_to(&mut self, name: &str, text: &str) {
        match self.texts.get_mut(name) {
            Some(whole) => whole.push_str(text),
            None => {
                let whole = self.text_of(name) + text;
                self.texts.insert(name.to_owned(), whole);
            }
        }
    }

    /// Arguments of a call that came in the start event.
    pub(super) fn input(&self) -> Option<String> {
        let input = self.members.get("input")?.get();
        let says = input.starts_with('{') && !input[1..].trim_start().starts_with('}');
        says.then(|| input.to_owned())
    }

    /// The block of a call with this id and these arguments as JSON, if it holds more than id, name and arguments.
    pub(super) fn opaque_call(mut self, id: &str, input: &str) -> Option<String> {
        input.clone_into(&mut self.input);
        // `caller` is sent back only if it is not the model itself.
        if self.value_of("caller")["type"] == "direct" {
            self.members.shift_remove("caller");
        }
        let id = to_raw_value(id).ok()?;
        self.members.insert("id".to_owned(), id);
        self.opaque()
    }

    /// The whole block as JSON, if it holds more than its text. A summary that says nothing is none.
    pub(super) fn opaque(mut self) -> Option<String> {
        self.assemble();
        let says = |name: &str| !self.text_of(name).trim().is_empty();
        if self.kind == Kind::Compaction && !says("content") && !says("encrypted_content") {
            return None;
        }
        let said: &[&str] = match &self.kind {
            Kind::Text => &["type", "text"],
            Kind::ToolCall { .. } => &["type", "id", "name", "input"],
            Kind::Reasoning | Kind::Compaction | Kind::Opaque => &[],
        };
        let more = self.members.iter().any(|(name, raw)| {
            !said.contains(&name.as_str()) && !matches!(raw.get(), "null" | "[]")
        });
        more.then(|| serde_json::to_string(&self.members).ok())
            .flatten()
    }

    /// Merges what deltas appended into the members.
    fn assemble(&mut self) {
        let mut set = |name: String, raw: Option<Box<RawValue>>| {
            if let Some(raw) = raw {
                self.members.insert(name, raw);
            }
        };
        for (name, text) in std::mem::take(&mut self.texts) {
            set(name, to_raw_value(&text).ok());
        }
        let input = std::mem::take(&mut self.input);
        if !input.trim().is_empty() {
            set("input".to_owned(), RawValue::from_string(input).ok());
        }
        if !self.citations.is_empty() {
            let all = to_raw_value(&std::mem::take(&mut self.citations));
            set("citations".to_owned(), all.ok());
        }
    }

    fn value_of(&self, name: &str) -> Value {
        let raw = self.members.get(name);
        raw.and_then(|raw| serde_json::from_str(raw.get()).ok())
            .unwrap_or_default()
    }

    fn text_of(&self, name: &str) -> String {
        self.value_of(name).as_str().unwrap_or_default().to_owned()
    }
}
