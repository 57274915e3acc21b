//! Forms in which servers send calls, and the calls that each amounts to.

use aside_base::api::ApiKind;
use aside_turn::response::{Kind, Response};
use serde_json::{Value, json};

use super::{super::trial::ProviderTrial, talk};
use crate::api::WireApi;

/// What a server says of a call: its index, its id, the tool's name and text of the arguments. `-` is not said.
pub(super) type Said = (&'static str, &'static str, &'static str, &'static str);

/// A form: its name, what the server says, the calls that this is, and the APIs that have it (`WHOLE` or fewer).
type Form = (
    &'static str,
    &'static [Said],
    &'static [(&'static str, &'static str)],
    &'static [ApiKind],
);

const P: &str = r#"{"p":1}"#;
const Q: &str = r#"{"q":[2]}"#;

/// The APIs that say calls whole.
const WHOLE: &[ApiKind] = &[
    ApiKind::OpenaiChat,
    ApiKind::Anthropic,
    ApiKind::OpenaiResponses,
    ApiKind::Google,
    ApiKind::Ollama,
];
/// The APIs that say calls in fragments.
const CUT: &[ApiKind] = &[
    ApiKind::OpenaiChat,
    ApiKind::Anthropic,
    ApiKind::OpenaiResponses,
];
const CHAT: &[ApiKind] = &[ApiKind::OpenaiChat];

#[rustfmt::skip]
const FORMS: &[Form] = &[
    ("once", &[("0", "a", "x", P)], &[("x", P)], WHOLE),
    ("twice", &[("0", "a", "x", P), ("0", "a", "x", P)], &[("x", P)], WHOLE),
    ("three times", &[("0", "a", "x", P), ("0", "a", "x", P), ("0", "a", "x", P)], &[("x", P)], WHOLE),
    ("twice, spaced otherwise", &[("0", "a", "x", P), ("0", "a", "x", r#"{ "p": 1 }"#)], &[("x", P)], WHOLE),
    ("twice, with another index", &[("0", "a", "x", P), ("1", "a", "x", P)], &[("x", P)], WHOLE),
    ("more from time to time", &[("0", "a", "x", P), ("0", "a", "x", r#"{"p":1,"q":2}"#)], &[("x", r#"{"p":1,"q":2}"#)], WHOLE),
    ("other arguments", &[("0", "a", "x", P), ("0", "a", "x", Q)], &[("x", Q)], WHOLE),
    ("nothing, then arguments", &[("0", "a", "x", "{}"), ("0", "a", "x", P)], &[("x", P)], WHOLE),
    ("equal calls with two ids", &[("0", "a", "x", P), ("1", "b", "x", P)], &[("x", P), ("x", P)], WHOLE),
    ("equal calls with two ids and one index", &[("0", "a", "x", P), ("0", "b", "x", P)], &[("x", P), ("x", P)], WHOLE),
    ("one id and two names", &[("0", "a", "x", P), ("0", "a", "y", P)], &[("x", P), ("y", P)], WHOLE),
    ("one id for two calls", &[("0", "a", "x", P), ("1", "a", "x", Q)], &[("x", P), ("x", Q)], WHOLE),
    ("no ids", &[("0", "-", "x", P), ("1", "-", "x", P)], &[("x", P), ("x", P)], WHOLE),
    ("no ids and one index", &[("0", "-", "x", P), ("0", "-", "x", Q)], &[("x", P), ("x", Q)], WHOLE),
    ("two, and both again", &[("0", "a", "x", P), ("1", "b", "y", Q), ("0", "a", "x", P), ("1", "b", "y", Q)], &[("x", P), ("y", Q)], WHOLE),
    ("two, and the first again", &[("0", "a", "x", P), ("1", "b", "y", Q), ("0", "a", "x", P)], &[("x", P), ("y", Q)], WHOLE),
    ("two, and the first again in the place of the second", &[("0", "a", "x", P), ("0", "b", "y", Q), ("0", "a", "x", P)], &[("x", P), ("y", Q)], WHOLE),
    ("no arguments, twice", &[("0", "a", "x", "{}"), ("0", "a", "x", "{}")], &[("x", "{}")], WHOLE),
    ("in pieces", &[("0", "a", "x", ""), ("0", "-", "-", r#"{"p"#), ("0", "-", "-", r#"":1}"#)], &[("x", P)], CUT),
    ("in pieces, then whole", &[("0", "a", "x", ""), ("0", "-", "-", P), ("0", "a", "x", P)], &[("x", P)], CUT),
    ("in pieces, then other arguments", &[("0", "a", "x", ""), ("0", "-", "-", P), ("0", "a", "x", Q)], &[("x", Q)], CUT),
    ("each piece with its id", &[("0", "a", "x", r#"{"p"#), ("0", "a", "x", r#"":1}"#)], &[("x", P)], CUT),
    ("the arguments once more", &[("0", "a", "x", ""), ("0", "-", "-", P), ("0", "-", "-", P)], &[("x", P)], CUT),
    ("the pieces once more", &[("0", "a", "x", ""), ("0", "-", "-", r#"{"p"#), ("0", "-", "-", r#"":1}"#), ("0", "-", "-", r#"{"p"#), ("0", "-", "-", r#"":1}"#)], &[("x", P)], CUT),
    ("a part of the pieces once more", &[("0", "a", "x", r#"{"p"#), ("0", "-", "-", r#"":1}"#), ("0", "a", "x", r#"{"p"#)], &[("x", P)], CUT),
    ("each piece twice", &[("0", "a", "x", r#"{"p"#), ("0", "-", "-", r#"{"p"#), ("0", "-", "-", r#"":1}"#), ("0", "-", "-", r#"":1}"#)], &[("x", P)], CUT),
    ("all so far each time", &[("0", "a", "x", r#"{"p"#), ("0", "a", "x", r#"{"p":1"#), ("0", "a", "x", P)], &[("x", P)], CUT),
    ("two in pieces with one index", &[("0", "a", "x", ""), ("0", "-", "-", P), ("0", "b", "x", ""), ("0", "-", "-", Q)], &[("x", P), ("x", Q)], CUT),
    ("two whole with one index", &[("0", "a", "x", P), ("0", "b", "x", Q)], &[("x", P), ("x", Q)], CUT),
    ("the first without arguments, one index", &[("0", "a", "x", ""), ("0", "b", "y", ""), ("0", "-", "-", Q)], &[("x", ""), ("y", Q)], CUT),
    ("two in pieces, in turn", &[("0", "a", "x", ""), ("1", "b", "y", ""), ("0", "-", "-", r#"{"p"#), ("1", "-", "-", r#"{"q":"#), ("0", "-", "-", r#"":1}"#), ("1", "-", "-", "[2]}")], &[("x", P), ("y", Q)], CUT),
    ("an object within, as a piece", &[("0", "a", "x", r#"{"p":"#), ("0", "-", "-", P), ("0", "-", "-", "}")], &[("x", r#"{"p":{"p":1}}"#)], CUT),
    ("equal pieces that belong there", &[("0", "a", "x", r#"{"p":""#), ("0", "-", "-", "ha"), ("0", "-", "-", "ha"), ("0", "-", "-", r#""}"#)], &[("x", r#"{"p":"haha"}"#)], CUT),
    ("a brace in a string, and an escape", &[("0", "a", "x", r#"{"p":"}\"#), ("0", "-", "-", r#""{"}"#)], &[("x", r#"{"p":"}\"{"}"#)], CUT),
    ("no object after all", &[("0", "a", "x", r#"{"q":"#), ("0", "-", "-", P)], &[("x", r#"{"q":{"p":1}"#)], CHAT),
    ("a line end behind", &[("0", "a", "x", P), ("0", "-", "-", "\n")], &[("x", P)], CUT),
    ("two in pieces with one index, by id", &[("0", "a", "x", ""), ("0", "b", "y", ""), ("0", "a", "-", P), ("0", "b", "-", Q)], &[("x", P), ("y", Q)], CHAT),
    ("no index", &[("-", "a", "x", ""), ("-", "-", "-", P), ("-", "b", "x", ""), ("-", "-", "-", Q)], &[("x", P), ("x", Q)], CHAT),
    ("no index, whole, twice", &[("-", "a", "x", P), ("-", "a", "x", P), ("-", "b", "x", P)], &[("x", P), ("x", P)], CHAT),
    ("neither index nor id", &[("-", "-", "x", ""), ("-", "-", "-", P), ("-", "-", "x", ""), ("-", "-", "-", Q)], &[("x", P), ("x", Q)], CHAT),
    ("an index from the second piece on", &[("-", "a", "x", ""), ("0", "-", "-", P)], &[("x", P)], CHAT),
    ("the id late", &[("0", "-", "x", ""), ("0", "a", "-", P), ("0", "a", "x", P)], &[("x", P)], CHAT),
    ("another id with each piece", &[("0", "a", "x", ""), ("0", "b", "-", r#"{"p"#), ("0", "c", "-", r#"":1}"#)], &[("x", P)], CHAT),
    ("the name with each piece", &[("0", "-", "x", ""), ("0", "-", "x", r#"{"p"#), ("0", "-", "x", r#"":1}"#), ("0", "-", "x", "")], &[("x", P)], CHAT),
    ("the name in pieces", &[("0", "a", "fs_", ""), ("0", "-", "grep", ""), ("0", "-", "-", P)], &[("fs_grep", P)], CHAT),
    ("the name in pieces, all so far each time", &[("0", "a", "fs_", ""), ("0", "a", "fs_grep", ""), ("0", "-", "-", P)], &[("fs_grep", P)], CHAT),
    ("another index with the same id, in pieces", &[("0", "a", "x", P), ("1", "a", "x", ""), ("1", "-", "-", r#"{"p"#), ("1", "-", "-", r#"":1}"#)], &[("x", P)], CHAT),
    ("other arguments without an id", &[("0", "a", "x", P), ("0", "-", "-", Q)], &[("x", r#"{"p":1}{"q":[2]}"#)], CHAT),
];

/// The body of a response that says this.
pub(super) fn body(kind: ApiKind, said: &[(Option<u64>, &str, &str, &str)]) -> Vec<u8> {
    let events = match kind {
        ApiKind::OpenaiChat => chat(said),
        ApiKind::Anthropic => anthropic(said),
        ApiKind::OpenaiResponses => responses(said),
        ApiKind::Google => gemini(said),
        ApiKind::Rehearsal => panic!("a script is no stream"),
        ApiKind::Ollama => {
            let lines = ollama(said);
            return lines
                .iter()
                .flat_map(|it| format!("{it}\n").into_bytes())
                .collect();
        }
    };
    let events = events
        .iter()
        .map(|it| format!("data: {it}\n\n").into_bytes());
    events.flatten().collect()
}

fn chat(said: &[(Option<u64>, &str, &str, &str)]) -> Vec<Value> {
    let choice = |delta: Value, finish: Value| json!({"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]});
    let fragment = |(index, id, name, text): &(Option<u64>, &str, &str, &str)| {
        let mut call = json!({"function": {"arguments": text}});
        if let Some(index) = index {
            call["index"] = json!(index);
        }
        if !id.is_empty() {
            call["id"] = json!(id);
        }
        if !name.is_empty() {
            call["function"]["name"] = json!(name);
        }
        choice(json!({"tool_calls": [call]}), Value::Null)
    };
    let mut events: Vec<Value> = said.iter().map(fragment).collect();
    events.push(choice(json!({}), json!("tool_calls")));
    events
}

fn anthropic(said: &[(Option<u64>, &str, &str, &str)]) -> Vec<Value> {
    let mut events = vec![json!({"type": "message_start", "message": {"id": "m"}})];
    let mut open = Vec::new();
    for (index, id, name, text) in said {
        if !name.is_empty() {
            let block = json!({"type": "tool_use", "id": id, "name": name, "input": {}});
            events.push(
                json!({"type": "content_block_start", "index": index, "content_block": block}),
            );
            open.retain(|it| it != index);
            open.push(*index);
        }
        if !text.is_empty() {
            let delta = json!({"type": "input_json_delta", "partial_json": text});
            events.push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
    }
    for index in open {
        events.push(json!({"type": "content_block_stop", "index": index}));
    }
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}));
    events.push(json!({"type": "message_stop"}));
    events
}

fn responses(said: &[(Option<u64>, &str, &str, &str)]) -> Vec<Value> {
    let mut events = vec![json!({"type": "response.created", "response": {"id": "r"}})];
    for (index, id, name, text) in said {
        if !name.is_empty() {
            let item =
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": ""});
            events.push(
                json!({"type": "response.output_item.added", "output_index": index, "item": item}),
            );
        }
        if !text.is_empty() {
            events.push(json!({"type": "response.function_call_arguments.delta", "output_index": index, "delta": text}));
        }
    }
    events.push(
        json!({"type": "response.completed", "response": {"id": "r", "status": "completed"}}),
    );
    events
}

/// Consecutive calls whose index rises come together.
fn together<'a>(
    said: &'a [(Option<u64>, &'a str, &'a str, &'a str)],
) -> impl Iterator<Item = &'a [(Option<u64>, &'a str, &'a str, &'a str)]> {
    said.chunk_by(|one, next| one.0 < next.0)
}

fn gemini(said: &[(Option<u64>, &str, &str, &str)]) -> Vec<Value> {
    let part = |(_, id, name, text): &(Option<u64>, &str, &str, &str)| {
        let args: Value = serde_json::from_str(text).unwrap();
        let mut call = json!({"name": name, "args": args});
        if !id.is_empty() {
            call["id"] = json!(id);
        }
        json!({ "functionCall": call })
    };
    let chunk = |calls: &[(Option<u64>, &str, &str, &str)]| {
        let parts: Vec<Value> = calls.iter().map(part).collect();
        json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
    };
    let mut events: Vec<Value> = together(said).map(chunk).collect();
    events.push(json!({"candidates": [{"finishReason": "STOP"}]}));
    events
}

fn ollama(said: &[(Option<u64>, &str, &str, &str)]) -> Vec<Value> {
    let call = |(_, id, name, text): &(Option<u64>, &str, &str, &str)| {
        let arguments: Value = serde_json::from_str(text).unwrap();
        let mut call = json!({"function": {"name": name, "arguments": arguments}});
        if !id.is_empty() {
            call["id"] = json!(id);
        }
        call
    };
    let line = |calls: &[(Option<u64>, &str, &str, &str)]| {
        let calls: Vec<Value> = calls.iter().map(call).collect();
        json!({"message": {"role": "assistant", "content": "", "tool_calls": calls}, "done": false})
    };
    let mut lines: Vec<Value> = together(said).map(line).collect();
    lines.push(json!({"message": {"role": "assistant", "content": ""}, "done": true, "done_reason": "stop"}));
    lines
}

/// The complete calls of a response: name and arguments, as JSON if they are.
pub(super) fn calls(api: &dyn WireApi, trial: &ProviderTrial, body: &[u8]) -> Vec<(String, Value)> {
    let pieces = trial.decode(api, body).unwrap();
    let mut response = Response::default();
    pieces.into_iter().for_each(|piece| response.add(piece));
    let calls = response.complete_calls();
    let calls = calls.map(|item| match &item.kind {
        Kind::ToolCall { name, .. } => (name.clone(), read(&item.text)),
        kind => panic!("{kind:?}"),
    });
    calls.collect()
}

pub(super) fn read(arguments: &str) -> Value {
    serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments))
}

#[test]
fn each_form_amounts_to_its_calls() {
    let mut rows = 0;
    let mut wrong = Vec::new();
    for (form, said, expected, apis) in FORMS {
        let unsaid = |text: &'static str| if text == "-" { "" } else { text };
        let said: Vec<_> = said
            .iter()
            .map(|(index, id, name, text)| (index.parse().ok(), unsaid(id), unsaid(name), *text))
            .collect();
        let expected: Vec<(String, Value)> = expected
            .iter()
            .map(|(name, text)| ((*name).to_owned(), read(text)))
            .collect();
        for kind in *apis {
            rows += 1;
            let (api, trial) = talk(*kind);
            let found = calls(api.as_ref(), &trial, &body(*kind, &said));
            if found != expected {
                wrong.push(format!("{kind:?}, {form}: {found:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "of {rows} rows:\n{}", wrong.join("\n"));
    assert!(rows >= 60, "{rows}");
}
