//! Tests of the bodies of requests.

use aside_test_table::rows;
use aside_turn::{
    Event,
    inquiry::{CallResult, Message},
    record::NativeSummary,
    response::{Feature, Usage},
    rules::ToolChoice,
};
use serde_json::{Value, json};

use super::*;
use crate::{options::CacheRetention, trial::json_sample};

/// A sample as Aside sends it: without `text` where it states the defaults.
fn expected(path: &str) -> Value {
    let mut body = json_sample(path);
    body.as_object_mut().unwrap().remove("text").unwrap();
    body
}

#[test]
fn first_request_matches_the_sample() {
    let mut trial = conversation(sol());
    trial.user("Where is retry_after parsed?");
    assert_eq!(
        trial.body(&API),
        expected("openai_responses/01_request_first_turn.json")
    );
}

#[test]
fn results_follow_the_response() {
    let mut trial = called();
    trial.results(&[(0, "crates/a/src/error.rs:606", false)]);
    assert_eq!(
        trial.body(&API),
        expected("openai_responses/03_request_tool_output.json")
    );
}

#[test]
fn inquiries_append_results_and_a_question() {
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
    // A question is an ordinary message.
    expected["input"][5]["role"] = "user".into();
    assert_eq!(trial.body(&API), expected);
    // An invalid reply is sent back unchanged.
    let reply = r#"{"id":"msg_9","type":"message","role":"assistant","content":[{"text":"Hm.","type":"output_text"}]}"#;
    let pieces = stream(&[
        &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{reply}}}"#),
        r#"{"type":"response.completed","response":{}}"#,
    ]);
    let mut response = aside_turn::response::Response::default();
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
fn reasoning_options_of_requests() {
    // Columns of `ProviderTrial::reasons`, and the effort in the request.
    let table = "
        effort | no  | low medium high xhigh     | -      | yes | -             | summary
        effort | no  | low medium high xhigh     | off    | yes | -             | low
        effort | no  | low medium high xhigh     | low    | yes | -             | low
        effort | no  | low medium high xhigh     | high   | yes | -             | high
        effort | no  | low medium high xhigh     | max    | yes | -             | xhigh
        effort | no  | low medium high xhigh     | high   | no  | -             | high
        effort | yes | none minimal low high max | -      | yes | -             | summary
        effort | yes | none minimal low high max | -      | no  | -             | none
        effort | yes | none minimal low high max | off    | no  | -             | none
        effort | yes | none minimal low high max | off    | no  | reasoning_off | minimal
        effort | yes | none minimal low high max | medium | yes | -             | low
        effort | yes | none minimal low high max | max    | yes | -             | max
        effort | yes | none minimal low high max | max    | yes | reasoning     | nothing
        effort | yes |                           | max    | yes | -             | high
    ";
    for [kind, off, efforts, effort, asked, refused, expected] in rows(table) {
        let mut trial = conversation(sol());
        trial.reasons([kind, off, efforts, effort, asked, refused]);
        trial.user("Why?");
        let body = trial.body(&API);
        let expected = match expected {
            "nothing" => Value::Null,
            "none" => json!({"effort": "none"}),
            "summary" => json!({"summary": "auto", "context": "all_turns"}),
            effort => json!({"effort": effort, "summary": "auto", "context": "all_turns"}),
        };
        assert_eq!(
            body["reasoning"], expected,
            "{efforts} {off} {effort} {asked} {refused}"
        );
        assert_eq!(
            body.get("include").is_some(),
            !expected.is_null(),
            "{efforts} {off} {effort} {asked} {refused}"
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
fn schema_inquiries_share_the_prefix() {
    let schema = Some(json!({"type": "object", "properties": {"answer": {"type": "string"}}}));
    let none = Value::Null;
    let there = json!({"mode": "explicit"});
    let table = [
        (CacheRetention::Short, false, schema.clone(), &there),
        (CacheRetention::Long, false, schema.clone(), &there),
        (CacheRetention::Off, false, schema.clone(), &none),
        (CacheRetention::Short, true, schema, &none),
        (CacheRetention::Short, false, None, &none),
    ];
    for (cache, refused, schema, expected) in table {
        let mut trial = conversation(ModelOptions { cache, ..sol() });
        trial.without.extend(refused.then_some(Feature::CacheHint));
        trial.schema = schema;
        trial.user("The conversation so far.");
        trial.messages = vec![Message::User {
            results: Vec::new(),
            text: "Which one?".into(),
        }];
        let body = trial.body(&API);
        let marks = ["/input/0", "/input/1"].map(|place| {
            let part = body.pointer(place).map(|item| &item["content"][0]);
            part.map(|part| part["prompt_cache_breakpoint"].clone())
        });
        assert_eq!(
            marks,
            [Some(expected.clone()), Some(Value::Null)],
            "{cache:?}"
        );
    }
}

#[test]
fn cache_lifetime_of_the_prefix() {
    let table = [
        (
            CacheRetention::Off,
            false,
            json!([null, {"mode": "explicit"}]),
        ),
        (
            CacheRetention::Short,
            false,
            json!(["conv-5f1c", {"mode": "implicit", "ttl": "30m"}]),
        ),
        (
            CacheRetention::Long,
            false,
            json!(["conv-5f1c", {"mode": "implicit", "ttl": "12h"}]),
        ),
        (CacheRetention::Off, true, json!([null, null])),
        (CacheRetention::Long, true, json!([null, null])),
    ];
    for (cache, refused, expected) in table {
        let mut trial = conversation(ModelOptions { cache, ..sol() });
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
fn forced_tool_choices() {
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
fn requests_without_tools_have_no_tool_members() {
    let mut plain = sol();
    plain.abilities.tools = false;
    let mut unable = conversation(plain);
    let mut none = ProviderTrial::new(sol(), "", Vec::new());
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
fn tools_are_strict_if_their_schema_allows_it() {
    let optional = ToolDeclaration {
        parameters: json!({"type": "object", "properties": {"a": {"const": 1}}}),
        strict: true,
        ..grep_tool()
    };
    let strict = |options: ModelOptions, without: &[Feature], tool: ToolDeclaration| {
        let mut trial = ProviderTrial::new(options, "", vec![tool.clone(), tool]);
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
fn answer_schema_is_sent() {
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
fn refused_features_are_omitted() {
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

const SUMMARY: &str = r#"{"type":"compaction","id":"cmp_1","encrypted_content":"gAAAAABsum"}"#;

#[test]
fn a_summary_is_asked_for_at_the_end_and_is_first_from_then_on() {
    let mut trial = called();
    trial.results(&[(0, "crates/a/src/error.rs:606", false)]);
    let sent = String::from_utf8(trial.bytes(&API)).unwrap();
    trial.compacts = true;
    let asks = String::from_utf8(trial.bytes(&API)).unwrap();
    let before = sent.strip_suffix("]}").unwrap();
    assert_eq!(
        asks,
        format!(r#"{before},{{"type":"compaction_trigger"}}]}}"#)
    );

    trial.compacts = false;
    trial.transcript.push(&Event::Compacted {
        number: 1,
        asked: false,
        summary: String::new(),
        native: Some(NativeSummary {
            model: trial.options.id(),
            opaque: SUMMARY.into(),
        }),
        ledger: "Ledger.".into(),
        before: 9,
        usage: Usage::default(),
    });
    trial.user("Go on.");
    let body = String::from_utf8(trial.bytes(&API)).unwrap();
    let part = |text: &str| {
        format!(
            r#"{{"type":"message","role":"user","content":[{{"type":"input_text","text":"{text}"}}]}}"#
        )
    };
    let input = format!(
        r#""input":[{SUMMARY},{},{}]}}"#,
        part("Ledger."),
        part("Go on.")
    );
    assert!(body.ends_with(&input), "{body}");
}
