//! Events that the program appended, as they can be compared with those of version 0.1.0.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value, json};

use super::lines::event;

/// What is called otherwise in each world: as it is here, and as it is compared.
#[derive(Clone)]
pub(super) struct Names(pub(super) Vec<(String, String)>);

/// What version 0.1.0 wrote of each type of event besides its frame. A newer version may write more, which older
/// ones pass over; only what they knew is compared. Times, and what differs from run to run, is left out.
const MEMBERS: [(&str, &[&str]); 21] = [
    ("turn_start", &["options"]),
    ("user_message", &["text", "attachments"]),
    ("directive", &["text"]),
    ("steer", &["text"]),
    ("request_sent", &["cycle"]),
    ("text", &["text", "opaque"]),
    ("reasoning", &["text", "opaque"]),
    ("tool_call", &["call", "id", "name", "arguments", "opaque"]),
    ("response_end", &["finish", "usage"]),
    ("call_started", &["call", "run", "title"]),
    (
        "prompt_opened",
        &["prompt", "call", "kind", "inquiry", "hash", "diff", "title"],
    ),
    (
        "prompt_closed",
        &[
            "prompt", "outcome", "answer", "reason", "new_text", "note", "why", "client",
        ],
    ),
    (
        "inquiry_request",
        &["id", "source", "question", "call", "live"],
    ),
    (
        "inquiry_response",
        &[
            "id", "outcome", "answer", "by", "reason", "remember", "note", "why", "client",
            "model", "strategy", "tries", "usage", "call",
        ],
    ),
    ("late_answer", &["prompt"]),
    (
        "tool_result",
        &["call", "status", "content", "held", "details"],
    ),
    ("edit", &["call", "path", "before", "after", "mode"]),
    ("undone", &["undone", "files"]),
    ("renamed", &["title"]),
    ("learned", &["model", "refuses"]),
    ("notice", &["level", "text"]),
];

/// Also of every type: how a turn ends.
const END: &[&str] = &[
    "outcome",
    "answer",
    "structured",
    "error",
    "usage",
    "refusals",
];

/// What requests begin with: texts and tools of the program, which may be others in each version.
const HEADS: [&str; 2] = ["conversation", "changed"];

/// What was appended to a log.
pub(super) struct Appended {
    pub(super) events: Vec<Value>,
    /// The calls of all prompts of the log.
    calls: BTreeMap<String, u64>,
}

impl Appended {
    /// The events of a log from this line on.
    pub(super) fn read(folder: &Path, from: usize) -> Self {
        let bytes = std::fs::read(folder.join("events.jsonl")).unwrap();
        let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
        let opened = lines.iter().filter_map(|line| event(line));
        let opened = opened.filter(|it| it["type"] == "prompt_opened");
        let calls = opened.map(|it| (it["prompt"].to_string(), it["call"].as_u64().unwrap()));
        let calls = calls.collect();
        let events = lines[from..]
            .iter()
            .map(|line| event(line).expect("a line as it was written"));
        let events = events.filter(|it| !HEADS.contains(&it["type"].as_str().unwrap()));
        Self {
            events: events.collect(),
            calls,
        }
    }

    /// The events as they can be compared, a line each. Where calls run side by side, those of one call stand together.
    pub(super) fn lines(&self, names: &Names) -> Vec<String> {
        let mut part = 0;
        let mut placed: Vec<((usize, u64), String)> = Vec::new();
        for event in &self.events {
            let of_prompt = self.calls.get(&event["prompt"].to_string()).copied();
            let call = event["call"].as_u64().or(of_prompt);
            part += usize::from(call.is_none());
            placed.push(((part, call.unwrap_or_default()), names.line(&known(event))));
        }
        placed.sort_by_key(|(place, _)| *place);
        placed.into_iter().map(|(_, line)| line).collect()
    }
}

/// What version 0.1.0 knew of an event.
fn known(event: &Value) -> Value {
    let kind = event["type"].as_str().unwrap();
    let members = MEMBERS.iter().find(|(of, _)| *of == kind);
    let members = members.map_or(END, |(_, members)| members);
    let mut kept = Map::new();
    for name in ["turn", "type"].iter().chain(members) {
        if let Some(value) = event.get(*name) {
            kept.insert((*name).to_owned(), value.clone());
        }
    }
    if matches!(kind, "response_end" | "turn_end") {
        kept.entry("usage").or_insert_with(|| json!({}));
    }
    // What was not used it wrote as 0.
    if let Some(Value::Object(usage)) = kept.get_mut("usage") {
        for name in ["input", "cache_read", "cache_write", "output"] {
            usage.entry(name).or_insert_with(|| json!(0));
        }
    }
    Value::Object(kept)
}

impl Names {
    /// A value in one line, its members in order of their names.
    pub(super) fn line(&self, value: &Value) -> String {
        self.text(&sorted(value).to_string())
    }

    /// A text with the names that it has everywhere.
    pub(super) fn text(&self, text: &str) -> String {
        let all = self.0.iter();
        all.fold(text.to_owned(), |text, (here, everywhere)| {
            text.replace(here, everywhere)
        })
    }

    /// Also for the prompts that were opened for the first time: side by side, they may be numbered either way.
    pub(super) fn with_new_prompts(&self, before: &[Vec<u8>], appended: &[Value]) -> Self {
        let before = String::from_utf8_lossy(&before.concat()).into_owned();
        let mut names = self.0.clone();
        let mut count: BTreeMap<u64, usize> = BTreeMap::new();
        for event in appended.iter().filter(|it| it["type"] == "prompt_opened") {
            let id = event["prompt"].to_string();
            let is_named = names.iter().any(|(here, _)| *here == id);
            if !before.contains(&id) && !is_named {
                let call = event["call"].as_u64().unwrap();
                let number = count.entry(call).or_default();
                *number += 1;
                names.push((id, format!("\"new prompt {number} of call {call}\"")));
            }
        }
        Self(names)
    }
}

/// Members in order of their names, but the one that says what it is before all others.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| {
                (!matches!(name.as_str(), "type" | "kind" | "role"), *name)
            });
            let fields = fields
                .into_iter()
                .map(|(name, value)| (name.clone(), sorted(value)));
            Value::Object(fields.collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}
