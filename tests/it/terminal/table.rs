//! Calls that ask, one after another in one turn, as a page for people: what the screen showed, what was typed,
//! what went on record, what the model was told.

use serde_json::{Value, json};

use super::{person::PtyPerson, screen::settled};
use crate::world::{EventLog, TestWorld};

/// A call, and what is typed wherever something is to be typed for it.
pub(super) struct TerminalCase {
    pub(super) name: String,
    pub(super) tool: &'static str,
    pub(super) arguments: Value,
    pub(super) keys: Vec<String>,
}

impl TerminalCase {
    pub(super) fn new(
        name: impl Into<String>,
        tool: &'static str,
        arguments: Value,
        keys: &[&str],
    ) -> Self {
        Self {
            name: name.into(),
            tool,
            arguments,
            keys: keys.iter().map(ToString::to_string).collect(),
        }
    }
}

/// Begins the header of a prompt.
const HEADER: &str = "\n── ";

/// A script that makes one call after another, and then an end of it.
pub(super) fn script(cases: &[TerminalCase]) -> String {
    let call = |(step, case): (usize, &TerminalCase)| {
        let (id, step) = (call_id(step), step + 1);
        json!({
            "when": {"step": step},
            "say": [{"call": case.tool, "id": id, "arguments": case.arguments}],
        })
    };
    let mut replies: Vec<Value> = cases.iter().enumerate().map(call).collect();
    replies.push(json!({"say": [{"text": "Done."}]}));
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

fn call_id(step: usize) -> String {
    format!("call_{}", step + 1)
}

/// Types all that is to be typed, and gives the page.
#[track_caller]
pub(super) fn page(world: &TestWorld, mut person: PtyPerson, cases: &[TerminalCase]) -> String {
    // What is on the screen before the first prompt, and from the first prompt of each case that has one.
    let mut screens = vec![String::new()];
    for case in cases {
        for (place, keys) in case.keys.iter().enumerate() {
            let mut shown = person.is_asked();
            if place == 0 {
                let now = shown.split_off(shown.rfind(HEADER).unwrap());
                *screens.last_mut().unwrap() += &shown;
                screens.push(now);
            } else {
                *screens.last_mut().unwrap() += &shown;
            }
            person.types(keys);
        }
    }
    *screens.last_mut().unwrap() += &person.ends(0);
    let log = world.log();
    let mut screens = screens.iter().map(|screen| {
        assert!(!screen.contains('\x1b'), "{screen:?}");
        settled(world, screen).trim_start_matches('\n').to_owned()
    });
    let mut page = screens.next().unwrap();
    for (step, case) in cases.iter().enumerate() {
        let id = call_id(step);
        page += &format!("\n=== {} ===\n", case.name);
        if !case.keys.is_empty() {
            let screen = screens.next().unwrap();
            page += &format!("typed: {}\n\n{screen}\n", typed(&case.keys));
        }
        for record in records(&log, &id) {
            page += &format!("on record: {}\n", settled_record(record));
        }
        let result = result(&log, &id);
        let (status, told) = (&result["status"], result["content"].as_str().unwrap());
        let told = format!("the model is told, {}: {told}", status.as_str().unwrap());
        page += &settled(world, &told);
    }
    page
}

fn typed(keys: &[String]) -> String {
    let keys: Vec<_> = keys.iter().map(|keys| format!("{keys:?}")).collect();
    keys.join(", ")
}

fn call_of<'a>(log: &'a EventLog, id: &str) -> &'a Value {
    let calls = log.all("tool_call");
    &calls.iter().find(|call| call["id"] == id).unwrap()["call"]
}

/// What came of a call. A result that was held back first is on record twice.
fn result<'a>(log: &'a EventLog, id: &str) -> &'a Value {
    let call = call_of(log, id);
    let mut results = log.all("tool_result").into_iter();
    let last = results.rfind(|result| result["call"] == *call).unwrap();
    assert_eq!(last["held"], Value::Null);
    last
}

/// How the questions and other prompts of a call ended.
fn records<'a>(log: &'a EventLog, id: &str) -> Vec<&'a Value> {
    let call = call_of(log, id);
    let opened = log.all("prompt_opened");
    let is_its = |event: &&Value| match event["type"].as_str() {
        Some("inquiry_response") => event["call"] == *call,
        Some("prompt_closed") => opened
            .iter()
            .any(|it| it["prompt"] == event["prompt"] && it["call"] == *call),
        _ => false,
    };
    log.events().iter().filter(is_its).collect()
}

/// An event as it is in the log, without what differs from run to run.
fn settled_record(record: &Value) -> String {
    let mut record = record.as_object().unwrap().clone();
    for frame in [
        "v", "seq", "time", "turn", "type", "id", "call", "prompt", "crc",
    ] {
        record.shift_remove(frame);
    }
    if let Some(Value::Object(showing)) = record.get_mut("shown") {
        let client = showing["client"].as_object_mut().unwrap();
        let version = client.shift_remove("version");
        assert_eq!(version, Some(env!("CARGO_PKG_VERSION").into()));
        let shown = showing.shift_remove("shown_at").unwrap();
        let answered = showing.shift_remove("answered_at").unwrap();
        assert!(shown.as_u64() <= answered.as_u64(), "{shown} {answered}");
    }
    Value::from(record).to_string()
}
