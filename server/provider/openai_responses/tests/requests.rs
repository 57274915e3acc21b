//! What requests say.

use serde_json::{Value, json};

use super::*;
use crate::{
    provider::{options::Keep, trial::json_sample},
    turn::{
        event::{Attachment, Event},
        inquiry::{CallResult, Message},
        response::{Feature, Finish, Usage},
        rules::ToolChoice,
    },
};

/// A sample as it is sent here. `text` says what is so anyway: that the answer is text, and of usual length.
fn expected(path: &str) -> Value {
    let mut body = json_sample(path);
    body.as_object_mut().unwrap().remove("text").unwrap();
    body
}

#[test]
fn the_first_request() {
    let mut trial = conversation(sol());
    trial.user("Where is retry_after parsed?");
    assert_eq!(
        trial.body(&API),
        expected("openai_responses/01_request_first_turn.json")
    );
}

#[test]
fn results_follow_what_the_model_gave() {
    let mut trial = called();
    trial.results(&[(0, "crates/a/src/error.rs:606", false)]);
    assert_eq!(
        trial.body(&API),
        expected("openai_responses/03_request_tool_output.json")
    );
}

#[test]
fn an_inquiry_adds_results_and_a_question() {
    let mut trial = called();
    let paused = "Tool paused: it needs an answer before it can continue.";
    let question = "[inquiry inq_7] fs_grep asks: follow symlinks?";
    trial.messages = vec![Message::User {
        results: vec![CallResult {
            id: "call_A1".into(),
            name: "fs_grep".into(),
            content: paused.into(),
            is_error: false,
        }],
        text: question.into(),
    }];
    trial.tool_choice = ToolChoice::Name("answer_inquiry".into());
    let mut expected = expected("openai_responses/09_request_inquiry_forced_tool.json");
    // A question is a message like any other.
    expected["input"][5]["role"] = "user".into();
    assert_eq!(trial.body(&API), expected);
    // A reply that was none goes back as it came.
    let reply = r#"{"id":"msg_9","type":"message","role":"assistant","content":[{"text":"Hm.","type":"output_text"}]}"#;
    let pieces = stream(&[
        &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{reply}}}"#),
        r#"{"type":"response.completed","response":{}}"#,
    ]);
    let mut response = crate::turn::response::Response::default();
    for piece in trial.decode(&API, pieces.as_bytes()).unwrap() {
        response.add(piece);
    }
    trial.messages.push(Message::Assistant(response.items));
    trial.messages.push(Message::User {
        results: Vec::new(),
        text: "Call answer_inquiry now.".into(),
    });
    let body = String::from_utf8(trial.bytes(&API)).unwrap();
    let end = format!(
        r#"{}]}},{reply},{{"type":"message","role":"user","content":[{{"type":"input_text","text":"Call answer_inquiry now."}}]}}]}}"#,
        r#""text":"[inquiry inq_7] fs_grep asks: follow symlinks?"}"#
    );
    assert!(body.ends_with(&end), "{body}");
}

#[test]
fn what_the_provider_gave_goes_back_byte_for_byte() {
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
fn another_model_is_told_what_was_said_and_not_what_was_thought() {
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
fn ids_of_other_providers_are_made_fit_alike_for_call_and_result() {
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
                call: crate::turn::event::CallKey(0),
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

/// The model says this; `None`: the user cancelled it.
fn said(trial: &mut Trial, events: &[Event], finish: Option<Finish>) {
    for event in events {
        trial.transcript.push(event);
    }
    trial.transcript.push(&Event::ResponseEnd {
        finish,
        usage: Usage::default(),
    });
}

#[test]
fn reasoning_stays_out_where_what_it_led_to_does_not_follow() {
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
            "m2",
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

/// The input, a line an item.
fn lines(trial: &Trial) -> String {
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
fn who_says_what() {
    let mut trial = conversation(sol());
    trial.transcript.push(&Event::UserMessage {
        text: "Why?".into(),
        attachments: vec![Attachment {
            name: "a.rs".into(),
            text: "fn main() {}".into(),
        }],
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
fn a_server_that_takes_no_developer_message_amid_the_conversation_hears_the_user() {
    let told = |options: Options, without: &[Feature]| {
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
fn how_much_it_reasons() {
    let table = [
        // words, can be off, configured, asked for, refused: effort.
        ("low medium high xhigh", false, None, true, None, ""),
        (
            "low medium high xhigh",
            false,
            Some(Effort::Off),
            true,
            None,
            "low",
        ),
        (
            "low medium high xhigh",
            false,
            Some(Effort::Low),
            true,
            None,
            "low",
        ),
        (
            "low medium high xhigh",
            false,
            Some(Effort::High),
            true,
            None,
            "high",
        ),
        (
            "low medium high xhigh",
            false,
            Some(Effort::Max),
            true,
            None,
            "xhigh",
        ),
        (
            "low medium high xhigh",
            false,
            Some(Effort::High),
            false,
            None,
            "high",
        ),
        ("none minimal low high max", true, None, true, None, ""),
        ("none minimal low high max", true, None, false, None, "none"),
        (
            "none minimal low high max",
            true,
            Some(Effort::Off),
            false,
            None,
            "none",
        ),
        (
            "none minimal low high max",
            true,
            Some(Effort::Off),
            false,
            Some(Feature::ReasoningOff),
            "minimal",
        ),
        (
            "none minimal low high max",
            true,
            Some(Effort::Medium),
            true,
            None,
            "low",
        ),
        (
            "none minimal low high max",
            true,
            Some(Effort::Max),
            true,
            None,
            "max",
        ),
        (
            "none minimal low high max",
            true,
            Some(Effort::Max),
            true,
            Some(Feature::Reasoning),
            "nothing",
        ),
        ("", true, Some(Effort::Max), true, None, "high"),
    ];
    for (row, (efforts, reasoning_off, configured, asked, refused, expected)) in
        table.into_iter().enumerate()
    {
        let mut options = sol();
        options.abilities.efforts = words(efforts);
        options.abilities.reasoning_off = reasoning_off;
        options.reasoning = configured;
        let mut trial = conversation(options);
        trial.reasoning = asked;
        trial.without.extend(refused);
        trial.user("Why?");
        let body = trial.body(&API);
        let expected = match expected {
            "nothing" => Value::Null,
            "none" => json!({"effort": "none"}),
            "" => json!({"summary": "auto", "context": "all_turns"}),
            effort => json!({"effort": effort, "summary": "auto", "context": "all_turns"}),
        };
        assert_eq!(body["reasoning"], expected, "row {row}");
        assert_eq!(
            body.get("include").is_some(),
            !expected.is_null(),
            "row {row}"
        );
    }
    let mut plain = sol();
    plain.abilities.reasoning = ReasoningKind::None;
    let mut trial = conversation(plain);
    trial.user("Why?");
    let body = trial.body(&API);
    assert!(body.get("reasoning").is_none() && body.get("include").is_none());
}

#[test]
fn every_body_goes_on_from_the_one_before() {
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
    // All that a request may vary stands before.
    let at = |name: &str| String::from_utf8_lossy(&before).find(name).unwrap();
    assert!(at("\"prompt_cache_options\":") < at("\"instructions\":"));
    assert!(at("\"instructions\":") < at("\"tools\":[") && at("\"tools\":[") < at("\"input\":["));
}

#[test]
fn how_long_the_prefix_is_kept() {
    let table = [
        (Keep::Off, false, json!([null, {"mode": "explicit"}])),
        (
            Keep::Short,
            false,
            json!(["conv-5f1c", {"mode": "implicit", "ttl": "30m"}]),
        ),
        (
            Keep::Long,
            false,
            json!(["conv-5f1c", {"mode": "implicit", "ttl": "12h"}]),
        ),
        (Keep::Off, true, json!([null, null])),
        (Keep::Long, true, json!([null, null])),
    ];
    for (cache, refused, expected) in table {
        let mut trial = conversation(Options { cache, ..sol() });
        trial.without.extend(refused.then_some(Feature::CacheHint));
        trial.user("Why?");
        let body = trial.body(&API);
        assert_eq!(
            json!([body["prompt_cache_key"], body["prompt_cache_options"]]),
            expected
        );
    }
}

#[test]
fn what_is_forced() {
    for (choice, expected) in [
        (ToolChoice::Auto, json!("auto")),
        (ToolChoice::None, json!("none")),
        (ToolChoice::Required, json!("required")),
        (
            ToolChoice::Name("fs_grep".into()),
            json!({"type": "function", "name": "fs_grep"}),
        ),
    ] {
        let mut trial = conversation(sol());
        trial.tool_choice = choice;
        trial.user("Why?");
        let body = trial.body(&API);
        assert_eq!(body["tool_choice"], expected);
        assert_eq!(
            body["tools"].as_array().unwrap().len(),
            2,
            "the tools stay, and with them the cache"
        );
    }
}

#[test]
fn without_tools_nothing_is_said_of_tools() {
    let mut plain = sol();
    plain.abilities.tools = false;
    let mut unable = conversation(plain);
    let mut none = Trial::new(sol(), "", Vec::new());
    for trial in [&mut unable, &mut none] {
        trial.user("Why?");
        let body = trial.body(&API);
        for member in ["tools", "tool_choice", "parallel_tool_calls"] {
            assert!(body.get(member).is_none(), "{member}");
        }
    }
    assert!(none.body(&API).get("instructions").is_none());
}

#[test]
fn tools_are_strict_where_they_can_be_and_it_is_said_where_not() {
    let optional = ToolSpec {
        parameters: json!({"type": "object", "properties": {"a": {"const": 1}}}),
        strict: true,
        ..grep_tool()
    };
    let strict = |options: Options, without: &[Feature], tool: ToolSpec| {
        let mut trial = Trial::new(options, "", vec![tool.clone(), tool]);
        trial.without.extend(without);
        trial.user("Why?");
        let body = trial.body(&API);
        assert_eq!(body["tools"].as_array().unwrap().len(), 1, "each name once");
        body["tools"][0].clone()
    };
    let tool = strict(sol(), &[], answer_tool());
    assert_eq!(
        (&tool["strict"], &tool["parameters"]),
        (&json!(true), &answer_tool().parameters)
    );
    assert_eq!(strict(sol(), &[], grep_tool())["strict"], false);
    let tool = strict(sol(), &[], optional.clone());
    assert_eq!(
        (&tool["strict"], &tool["parameters"]),
        (&json!(false), &optional.parameters)
    );
    assert!(
        strict(sol(), &[Feature::Strict], answer_tool())
            .get("strict")
            .is_none()
    );
    let mut loose = sol();
    loose.abilities.strict = false;
    assert!(strict(loose, &[], answer_tool()).get("strict").is_none());
}

#[test]
fn an_answer_by_schema() {
    let format = |schema: Value, without: Option<Feature>| {
        let mut trial = conversation(sol());
        trial.schema = Some(schema);
        trial.without.extend(without);
        trial.user("Why?");
        trial.body(&API)["text"].clone()
    };
    let fits = json!({"type": "object", "properties": {"answer": {"const": "yes"}}, "required": ["answer"]});
    assert_eq!(
        format(fits.clone(), None),
        json!({"format": {"type": "json_schema", "name": "answer", "strict": true, "schema": {
            "type": "object",
            "properties": {"answer": {"type": "string", "enum": ["yes"]}},
            "required": ["answer"],
            "additionalProperties": false,
        }}})
    );
    let open = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert_eq!(
        format(open.clone(), None),
        json!({"format": {"type": "json_schema", "name": "answer", "strict": false, "schema": open}})
    );
    assert_eq!(format(fits, Some(Feature::Schema)), Value::Null);
}

#[test]
fn what_a_server_refuses_is_left_out() {
    let has = |without: Option<Feature>, member: &str| {
        let mut trial = conversation(sol());
        trial.without.extend(without);
        trial.user("Why?");
        trial.body(&API).get(member).is_some()
    };
    for (feature, member) in [
        (Feature::ParallelCalls, "parallel_tool_calls"),
        (Feature::StreamUsage, "stream_options"),
        (Feature::CacheHint, "prompt_cache_key"),
        (Feature::Reasoning, "reasoning"),
    ] {
        assert!(has(None, member) && !has(Some(feature), member), "{member}");
    }
}
