//! The samples keep all rules, and each listed change breaks the one that it should.
//!
//! A line of a table is `sample | edits | sentences`. Edits are separated by ` ; `:
//!
//! | edit | what it does |
//! |---|---|
//! | `set POINTER JSON` | replaces a value, or adds a member or an element (`-` is the end of an array) |
//! | `insert POINTER JSON` | puts an element before another one |
//! | `copy POINTER POINTER` | puts a copy of the first value before the second |
//! | `swap POINTER POINTER` | exchanges two values |
//! | `remove POINTER` | takes a value out |
//! | `header NAME VALUE` | sets `anthropic-version` or `anthropic-beta` |
//! | `model NAME` | asks another model, in the body or in the path |

use aside_test_table::rows;
use serde_json::{Value, json};

use super::{CheckedRequest, EarlierReplies, check};
use crate::ServedApi;

mod anthropic;
mod compaction;
mod gemini;
mod media;
mod ollama;
mod openai;
mod seen;

/// A request that a table changes before it is checked.
struct SentExample {
    api: ServedApi,
    model: String,
    body: Value,
    version: String,
    beta: String,
    counting: bool,
    context_known: bool,
}

impl SentExample {
    /// A sample by its folder and number, such as `gemini/04`.
    fn sample(name: &str) -> Self {
        let (folder, number) = name.split_once('/').unwrap();
        let api = ServedApi::ALL
            .into_iter()
            .find(|api| api.name() == folder)
            .unwrap();
        let mut sent = Self {
            api,
            model: String::new(),
            body: read(folder, number),
            version: "2026-10-21".to_owned(),
            beta: String::new(),
            counting: false,
            // These two do not set the context; a client sends them after it has asked for it.
            context_known: ["ollama/03", "ollama/05"].contains(&name),
        };
        match name {
            // The sample is the tail of the messages that answer the calls of 04.
            "anthropic/21" => {
                let tail = sent.body;
                sent.body = read(folder, "04");
                sent.body["messages"][1]["content"]
                    .as_array_mut()
                    .unwrap()
                    .truncate(3);
                sent.body["messages"][2] = tail[0].clone();
                sent.body["messages"]
                    .as_array_mut()
                    .unwrap()
                    .push(tail[1].clone());
                sent.beta = "mid-conversation-output-config-2026-07-01,\
                    mid-conversation-system-clear-at-2026-08-21"
                    .to_owned();
            }
            "anthropic/22" => {
                sent.body = sent.body["request"]["body"].take();
                sent.counting = true;
            }
            _ => {}
        }
        sent.model = match api {
            ServedApi::Gemini => "gemini-4-argon".to_owned(),
            _ => sent.body["model"].as_str().unwrap().to_owned(),
        };
        sent
    }

    fn edited(mut self, edits: &str) -> Self {
        for edit in edits.split(" ; ").filter(|edit| !edit.is_empty()) {
            self.edit(edit);
        }
        self
    }

    fn edit(&mut self, edit: &str) {
        let (verb, rest) = edit.split_once(' ').unwrap();
        let (first, second) = rest.split_once(' ').unwrap_or((rest, ""));
        let parsed = || serde_json::from_str(second).unwrap_or_else(|_| panic!("no JSON: {edit}"));
        match verb {
            "set" => put(&mut self.body, first, parsed(), false),
            "insert" => put(&mut self.body, first, parsed(), true),
            "copy" => {
                let copied = self.body.pointer(first).expect(edit).clone();
                put(&mut self.body, second, copied, true);
            }
            "swap" => {
                let one = self.body.pointer(first).expect(edit).clone();
                let other = std::mem::replace(self.body.pointer_mut(second).expect(edit), one);
                *self.body.pointer_mut(first).unwrap() = other;
            }
            "remove" => remove(&mut self.body, first),
            "header" if first == "anthropic-version" => self.version = second.to_owned(),
            "header" if first == "anthropic-beta" => self.beta = second.to_owned(),
            "model" => {
                self.model = first.to_owned();
                if self.api != ServedApi::Gemini {
                    self.body["model"] = json!(first);
                }
            }
            _ => panic!("no such edit: {edit}"),
        }
    }

    fn request(&self) -> CheckedRequest<'_> {
        CheckedRequest {
            version: &self.version,
            beta: &self.beta,
            counting: self.counting,
            context_known: self.context_known,
            ..CheckedRequest::to(self.api, &self.model, &self.body)
        }
    }
}

fn read(folder: &str, number: &str) -> Value {
    let folder = format!("{}/wire/{folder}", env!("CARGO_MANIFEST_DIR"));
    let mut files = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap());
    let file = files
        .find(|file| file.file_name().to_string_lossy().starts_with(number))
        .unwrap();
    serde_json::from_slice(&std::fs::read(file.path()).unwrap()).unwrap()
}

/// What holds the value at a pointer, and its last step there.
fn holder<'a, 'p>(body: &'a mut Value, pointer: &'p str) -> (&'a mut Value, &'p str) {
    let (before, last) = pointer.rsplit_once('/').unwrap();
    (
        body.pointer_mut(before)
            .unwrap_or_else(|| panic!("nothing at {before}")),
        last,
    )
}

fn put(body: &mut Value, pointer: &str, value: Value, insert: bool) {
    match holder(body, pointer) {
        (Value::Array(items), "-") => items.push(value),
        (Value::Array(items), at) if insert => items.insert(at.parse().unwrap(), value),
        (holder, last) => match last.parse::<usize>() {
            Ok(at) if holder.is_array() => holder[at] = value,
            _ => holder[last] = value,
        },
    }
}

fn remove(body: &mut Value, pointer: &str) {
    let removed = match holder(body, pointer) {
        (Value::Array(items), at) => Some(items.remove(at.parse().unwrap())),
        (Value::Object(members), name) => members.shift_remove(name),
        _ => None,
    };
    assert!(removed.is_some(), "nothing at {pointer}");
}

/// Holds a table against the checker.
fn holds(table: &str) {
    holds_after(&EarlierReplies::default(), table);
}

/// Holds a table against the checker, after these replies. All lines that differ are shown at once.
fn holds_after(seen: &EarlierReplies, table: &str) {
    let mut different = String::new();
    for [sample, edits, expected] in rows(table) {
        let sent = SentExample::sample(sample).edited(edits);
        let found = check(&sent.request(), seen).join("; ");
        if found != expected {
            different +=
                &format!("\n{sample} | {edits}\n  expected {expected}\n  found    {found}");
        }
    }
    assert!(different.is_empty(), "{different}");
}

#[test]
fn every_sample_keeps_the_rules() {
    let samples = "anthropic/02 anthropic/04 anthropic/17 anthropic/19 anthropic/21 anthropic/22 \
        openai_responses/01 openai_responses/03 openai_responses/08 openai_responses/09 \
        openai_chat/01 openai_chat/03 openai_chat/04 openai_chat/11 \
        gemini/02 gemini/04 gemini/09 gemini/10 ollama/01 ollama/03 ollama/05";
    for sample in samples.split_whitespace() {
        let found = check(
            &SentExample::sample(sample).request(),
            &EarlierReplies::default(),
        );
        assert_eq!(found, [] as [&str; 0], "{sample}");
    }
}
