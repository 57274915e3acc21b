//! Reasoning to send back to the provider, reassembled from its deltas.

use serde_json::{Map, Value, value::RawValue};

/// Reasoning of the response so far.
#[derive(Debug)]
pub(super) struct Reasoned {
    pub(super) slot: u32,
    details: Vec<Detail>,
    chunk: Option<Map<String, Value>>,
    /// The member in which the text came.
    member: Option<&'static str>,
}

/// Members of a message in which servers send reasoning as text. It goes back in the one in which it came.
pub(super) const CONTENT: &str = "reasoning_content";
pub(super) const REASONING: &str = "reasoning";
pub(super) const TEXT: &str = "reasoning_text";

/// The member in which the text of this reasoning goes back; none if it did not come in one.
pub(super) fn member_of(opaque: &str) -> Option<&'static str> {
    let name: String = serde_json::from_str(opaque).ok()?;
    let mut members = [CONTENT, REASONING, TEXT].into_iter();
    members.find(|member| *member == name)
}

/// An element of `reasoning_details`.
#[derive(Debug)]
struct Detail {
    /// The element as received; `None` once it was reassembled.
    raw: Option<String>,
    value: Value,
}

/// Members with text, which arrives in deltas.
const TEXTS: [&str; 2] = ["text", "summary"];

impl Reasoned {
    pub(super) fn new(slot: u32) -> Self {
        Self {
            slot,
            details: Vec::new(),
            chunk: None,
            member: None,
        }
    }

    /// Takes the member in which the text came.
    pub(super) fn came_in(&mut self, member: Option<&'static str>) {
        self.member = self.member.or(member);
    }

    /// Whether there are details. More of them may come after other items began.
    pub(super) fn has_details(&self) -> bool {
        !self.details.is_empty()
    }

    pub(super) fn take_details(&mut self, details: &[&RawValue]) {
        for raw in details {
            let Ok(value) = serde_json::from_str::<Value>(raw.get()) else {
                continue;
            };
            match self.details.last_mut() {
                Some(last) if goes_on(&last.value, &value) => last.add(value),
                _ => self.details.push(Detail {
                    raw: Some(raw.get().to_owned()),
                    value,
                }),
            }
        }
    }

    /// Merges a chunk of content: text is appended, other members are replaced.
    pub(super) fn take_chunk(&mut self, chunk: Value) {
        let Value::Object(members) = chunk else {
            return;
        };
        let Some(known) = &mut self.chunk else {
            self.chunk = Some(members);
            return;
        };
        for (name, value) in members {
            match (known.get_mut(&name), value) {
                (_, Value::Null) => {}
                (Some(Value::Array(known)), Value::Array(more)) => {
                    for part in more {
                        match known.last_mut() {
                            Some(last) if last["type"] == "text" && part["type"] == "text" => {
                                add(&mut last["text"], &part["text"]);
                            }
                            _ => known.push(part),
                        }
                    }
                }
                (_, value) => {
                    known.insert(name, value);
                }
            }
        }
    }

    /// The reasoning in the form that the provider needs back.
    pub(super) fn opaque(&self) -> Option<String> {
        if let Some(chunk) = &self.chunk {
            return serde_json::to_string(chunk).ok();
        }
        let details = self.details.iter().map(|detail| match &detail.raw {
            Some(raw) => raw.clone(),
            None => detail.value.to_string(),
        });
        let details: Vec<String> = details.collect();
        if details.is_empty() {
            return self.member.map(|member| Value::from(member).to_string());
        }
        Some(format!("[{}]", details.join(",")))
    }
}

impl Detail {
    fn add(&mut self, more: Value) {
        let Value::Object(more) = more else { return };
        self.raw = None;
        for (name, value) in more {
            if TEXTS.contains(&name.as_str()) {
                add(&mut self.value[&name], &value);
            } else if !value.is_null() {
                self.value[&name] = value;
            }
        }
    }
}

/// Whether `next` continues `last`: both are text with the same index and id.
fn goes_on(last: &Value, next: &Value) -> bool {
    let is_text = matches!(
        last["type"].as_str(),
        Some("reasoning.text" | "reasoning.summary")
    );
    let same =
        |name: &str| last[name] == next[name] || last[name].is_null() || next[name].is_null();
    // A signed element is complete.
    is_text
        && last["type"] == next["type"]
        && last["index"] == next["index"]
        && same("id")
        && last["signature"].is_null()
}

fn add(text: &mut Value, more: &Value) {
    match (text, more) {
        (Value::String(text), Value::String(more)) => text.push_str(more),
        (text @ Value::Null, more) => *text = more.clone(),
        _ => {}
    }
}

/// The readable text of details.
pub(super) fn text_of(details: &[&RawValue]) -> String {
    let texts = details.iter().filter_map(|raw| {
        let value: Value = serde_json::from_str(raw.get()).ok()?;
        let text = TEXTS.iter().find_map(|name| value[name].as_str())?;
        Some(text.to_owned())
    });
    texts.collect()
}

/// The text of a thinking chunk.
pub(super) fn thought(chunk: &Value) -> String {
    match &chunk["thinking"] {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}
