//! Tests of how the history is encoded.

use aside_turn::{
    attachment::Attachment,
    record::{CallKey, Event},
    response::{Feature, Finish, Usage},
};
use serde_json::{Value, json};

use super::*;

#[test]
fn native_items_are_sent_verbatim() {
    let items = [
        r#"{ "id":"rs_1","type":"reasoning", "summary":[],"encrypted_content":"\u0041=="}"#,
        r#"{"type":"message","phase":"final_answer","id":"msg_1","content":[{"type":"output_text","text":"A\/B","logprobs":[]}],"x":1.50}"#,
        r#"{"id":"ws_1","type":"web_search_call","status":"completed"}"#,
        r#"{"call_id":"call_1","type":"function_call","arguments":"{ \"path\" : \"a\"}","name":"fs_grep","id":"fc_1","namespace":null}"#,
    ];
    let mut events: Vec<String> = items
        .iter()
        .enumerate()
        .map(|(at, item)| {
            format!(r#"{{"type":"response.output_item.done","output_index":{at},"item":{item}}}"#)
        })
        .collect();
    events.push(r#"{"type":"response.completed","response":{}}"#.into());
    let events: Vec<&str> = events.iter().map(String::as_str).collect();
    let mut trial = conversation(sol());
    trial
        .user("Go.")
        .response(&API, stream(&events).as_bytes())
        .results(&[(0, "Nothing.", false)]);
    let body = String::from_utf8(trial.bytes(&API)).unwrap();
    assert!(body.contains(&items.join(",")), "{body}");
}

#[test]
fn foreign_models_receive_text_without_reasoning() {
    let mut trial = called();
    trial.results(&[(0, "crates/a/src/error.rs:606", false)]);
    trial.transcript.change();
    let body = trial.body(&API);
    let expected = json!([
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where is retry_after parsed?"}]},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Looking."}]},
        {"type": "function_call", "call_id": "call_A1", "name": "fs_grep",
         "arguments": "{\"path\":\"crates/a\",\"pattern\":\"retry_after\"}"},
        {"type": "function_call_output", "call_id": "call_A1", "output": "crates/a/src/error.rs:606"},
    ]);
    assert_eq!(body["input"], expected);
}

#[test]
fn foreign_ids_are_adapted_equally_in_calls_and_results() {
    for (id, fits) in [
        ("toolu_01-A", true),
        ("", false),
        ("fs.grep:0", false),
        (&"x".repeat(65), false),
    ] {
        let mut trial = conversation(sol());
        trial.user("Go.");
        said(
            &mut trial,
            &[Event::ToolCall {
                call: CallKey(0),
                id: id.into(),
                name: "fs_grep".into(),
                arguments: " ".into(),
                opaque: None,
            }],
            Some(Finish::ToolUse),
        );
        trial.results(&[(0, "", true)]);
        trial.transcript.change();
        let input = trial.body(&API)["input"].clone();
        let call = input[1]["call_id"].as_str().unwrap();
        assert_eq!(call == id, fits, "{id:?}");
        assert!((1..=64).contains(&call.len()), "{call}");
        assert_eq!(input[1]["arguments"], "{}", "no arguments are none");
        assert_eq!(
            input[2],
            json!({"type": "function_call_output", "call_id": call, "output": ""})
        );
    }
}

/// Records a response of the model; `None` if the user cancelled it.
fn said(trial: &mut ProviderTrial, events: &[Event], finish: Option<Finish>) {
    for event in events {
        trial.transcript.push(event);
    }
    trial.transcript.push(&Event::ResponseEnd {
        finish,
        usage: Usage::default(),
    });
}

#[test]
fn reasoning_without_its_following_item_is_omitted() {
    let reasoning = |id: &str| Event::Reasoning {
        text: "Hm.".into(),
        opaque: Some(format!(r#"{{"id":"{id}","type":"reasoning"}}"#)),
    };
    let words = |text: &str, id: Option<&str>| Event::Text {
        text: text.into(),
        opaque: id.map(|id| format!(r#"{{"id":"{id}","type":"message"}}"#)),
    };
    let table = [
        (vec![reasoning("r1"), words("A", Some("m1"))], "r1 m1"),
        (
            vec![reasoning("r1"), reasoning("r2"), words("A", Some("m1"))],
            "r1 r2 m1",
        ),
        (
            vec![reasoning("r1"), words("", Some("m1")), reasoning("r2")],
            "r1 m1",
        ),
        (vec![reasoning("r1"), words("A", None)], "assistant"),
        (
            vec![reasoning("r1"), words("", None), words("B", Some("m2"))],
            "assistant",
        ),
        (
            vec![
                reasoning("r1"),
                words("A", None),
                words("B", Some("m2")),
                reasoning("r2"),
                words("C", Some("m3")),
            ],
            "assistant assistant r2 m3",
        ),
        (vec![reasoning("r1")], ""),
    ];
    for (events, expected) in table {
        let mut trial = conversation(sol());
        trial.user("Go.");
        said(&mut trial, &events, Some(Finish::Stop));
        trial.user("On.");
        let body = trial.body(&API);
        let input = body["input"].as_array().unwrap();
        let name = |item: &Value| {
            item.get("id")
                .unwrap_or(&item["role"])
                .as_str()
                .unwrap()
                .to_owned()
        };
        let names: Vec<String> = input[1..input.len() - 1].iter().map(name).collect();
        assert_eq!(names.join(" "), expected, "{events:?}");
    }
}

/// The input, one item per line.
fn lines(trial: &ProviderTrial) -> String {
    let body = trial.body(&API);
    let line = |item: &Value| match item["type"].as_str() {
        Some("message") => {
            let part = &item["content"][0];
            format!(
                "{} {}: {}",
                item["role"].as_str().unwrap(),
                part["type"].as_str().unwrap(),
                part["text"]
            )
        }
        Some("function_call_output") => {
            format!("{} = {}", item["call_id"].as_str().unwrap(), item["output"])
        }
        kind => kind.unwrap().to_owned(),
    };
    let lines: Vec<String> = body["input"].as_array().unwrap().iter().map(line).collect();
    lines.join("\n")
}

#[test]
fn authors_of_messages() {
    let mut trial = conversation(sol());
    trial.transcript.push(&Event::UserMessage {
        text: "Why?".into(),
        attachments: vec![Attachment::text("a.rs", "fn main() {}")],
    });
    trial.directive("Be brief.").request();
    trial.response(&API, sample(CALL).as_bytes());
    trial.steer("Only in src.").directive("Call a tool.");
    trial.results(&[(0, "None.", true)]);
    said(
        &mut trial,
        &[Event::Text {
            text: "There is".into(),
            opaque: None,
        }],
        None,
    );
    trial.user("Go on.");
    said(&mut trial, &[], None);
    trial.user("").user("Well?");
    let expected = r#"
user input_text: "<attachment name=\"a.rs\">\nfn main() {}\n</attachment>\nWhy?"
developer input_text: "Be brief."
reasoning
assistant output_text: "Looking."
function_call
call_A1 = "None."
user input_text: "Only in src."
developer input_text: "Call a tool."
assistant output_text: "There is"
user input_text: "Go on."
assistant output_text: "[interrupted]"
user input_text: "Well?""#;
    assert_eq!(lines(&trial), expected.trim_start());
}

#[test]
fn directives_become_user_messages_if_developer_messages_are_refused() {
    let told = |options: ModelOptions, without: &[Feature]| {
        let mut trial = conversation(options);
        trial.without.extend(without);
        trial.directive("Be brief.").user("Why?");
        lines(&trial).lines().next().unwrap().to_owned()
    };
    assert_eq!(told(sol(), &[]), r#"developer input_text: "Be brief.""#);
    let user = r#"user input_text: "Be brief.""#;
    assert_eq!(told(sol(), &[Feature::SystemMessage]), user);
    let mut plain = sol();
    plain.abilities.system_messages = false;
    assert_eq!(told(plain, &[]), user);
}

#[test]
fn each_body_extends_the_previous_one() {
    let mut trial = conversation(sol());
    trial.user("Where is retry_after parsed?");
    let mut before = trial.bytes(&API);
    for at in 0..300 {
        trial.response(&API, sample(CALL).as_bytes());
        trial.results(&[(at, "crates/a/src/error.rs:606", at % 3 == 0)]);
        let body = trial.bytes(&API);
        let shared = before.len() - 2;
        assert_eq!(&before[shared..], b"]}");
        assert!(body.starts_with(&before[..shared]), "request {at}");
        assert_eq!(trial.bytes(&API), body, "the same again");
        before = body;
    }
    // All members that may vary precede the history.
    let at = |name: &str| String::from_utf8_lossy(&before).find(name).unwrap();
    assert!(at("\"prompt_cache_options\":") < at("\"instructions\":"));
    assert!(at("\"instructions\":") < at("\"tools\":[") && at("\"tools\":[") < at("\"input\":["));
}
