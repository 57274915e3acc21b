//! Tests of how the history is encoded.

use aside_turn::{
    attachment::Attachment,
    record::{CallKey, Event},
    response::{Feature, Finish, Usage},
};

use super::*;
use crate::{SharedBody, options::CacheRetention, trial::json_sample};

/// The messages of the next request, without breakpoints.
fn messages(trial: &mut ProviderTrial) -> Value {
    trial.options.cache = CacheRetention::Off;
    trial.body(&Anthropic)["messages"].clone()
}

/// One message per line: its role, then its blocks in short form.
fn brief(trial: &mut ProviderTrial) -> String {
    let block = |block: &Value| match block["type"].as_str().unwrap() {
        "text" => block["text"].as_str().unwrap().to_owned(),
        "tool_result" => format!(
            "<{} {}>",
            block["tool_use_id"].as_str().unwrap(),
            block["content"]
        ),
        "tool_use" => format!("({} {})", block["id"].as_str().unwrap(), block["input"]),
        other => format!("[{other}]"),
    };
    let message = |message: &Value| {
        let content = match &message["content"] {
            Value::Array(blocks) => blocks.iter().map(block).collect::<Vec<_>>().join(" | "),
            text => text.as_str().unwrap().to_owned(),
        };
        format!("{}: {content}\n", message["role"].as_str().unwrap())
    };
    messages(trial)
        .as_array()
        .unwrap()
        .iter()
        .map(message)
        .collect()
}

fn answer(trial: &mut ProviderTrial, blocks: &[Value]) {
    trial.response(&Anthropic, response(blocks, "end_turn").as_bytes());
}

#[test]
fn blocks_are_sent_verbatim_in_order() {
    let path = "anthropic/08_stream_server_tool_pause_turn.sse";
    let (mut trial, mut redacted) = (called(), called());
    trial.results(&[(0, "a", false), (1, "b", false)]);
    trial.response(&Anthropic, sample(path).as_bytes());
    let body = String::from_utf8(trial.bytes(&Anthropic)).unwrap();
    let result = sample(path)
        .lines()
        .find_map(|line| {
            line.split_once(r#""index":1,"content_block":"#)?
                .1
                .strip_suffix('}')
                .map(str::to_owned)
        })
        .unwrap();
    for block in [
        r#"{"type":"thinking","thinking":"The user wants the parser. Search two places.","signature":"EuMCexampleSignatureOpaqueBase64AAAA=="},{"type":"text","text":"Looking in both crates."}"#,
        r#""name":"fs_grep","input":{"path": "crates/a", "pattern": "retry_after"}}"#,
        r#"[{"type":"server_tool_use","id":"srvtoolu_01","name":"web_search","input":{"query": "sse spec"}},"#,
        &result,
        r#"{"type":"server_tool_use","id":"srvtoolu_02","name":"web_search","input":{"query": "sse ping"}}]}]}"#,
    ] {
        assert!(body.contains(block), "{block}\n{body}");
    }
    let path = "anthropic/05_stream_omitted_and_redacted_thinking.sse";
    redacted.results(&[(0, "a", false), (1, "b", false)]);
    redacted
        .response(&Anthropic, sample(path).as_bytes())
        .user("Go on.");
    let blocks = &messages(&mut redacted)[3]["content"];
    let expected = json!([
        {"type": "thinking", "thinking": "", "signature": "EuMCexampleSignatureOpaqueBase64AAAA=="},
        {"type": "redacted_thinking", "data": "EmwKAhgBexampleRedacted=="},
        {"type": "text", "text": "Done."},
    ]);
    assert_eq!(blocks, &expected);
}

#[test]
fn requests_only_append() {
    let mut trial = trial();
    trial.user("Go.");
    let mut before = Vec::new();
    for round in 0..60 {
        trial.options.cache = if round % 2 == 0 {
            CacheRetention::Off
        } else {
            CacheRetention::Short
        };
        let body = String::from_utf8(trial.bytes(&Anthropic)).unwrap();
        let bare = body.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
        let body = bare.strip_suffix("]}").unwrap().as_bytes().to_vec();
        assert!(body.starts_with(&before), "round {round}");
        assert!(body.len() > before.len(), "round {round}");
        before = body;
        if round % 3 == 0 {
            trial.directive("Be brief.").steer("And quick.");
        }
        match round % 4 {
            3 => {
                let path = "anthropic/05_stream_omitted_and_redacted_thinking.sse";
                trial
                    .response(&Anthropic, sample(path).as_bytes())
                    .user("More.");
            }
            _ => {
                let call = round - round / 4;
                trial.response(&Anthropic, sample(FIRST).as_bytes());
                trial.results(&[(2 * call, "a", false), (2 * call + 1, "b", true)]);
            }
        }
    }
}

#[test]
fn restored_conversations_encode_identically() {
    let mut trial = trial();
    for turn in 0..20 {
        trial.user(&format!("Question {turn}"));
        trial.bytes(&Anthropic);
        answer(&mut trial, &[text("An answer.")]);
    }
    trial.user("The last question");
    let grown = trial.bytes(&Anthropic);
    trial.shared = SharedBody::new("conv-5f1c");
    let read = trial.bytes(&Anthropic);
    assert_eq!(
        String::from_utf8_lossy(&read),
        String::from_utf8_lossy(&grown)
    );
}

#[test]
fn foreign_history_is_sent_in_neutral_form() {
    let mut trial = called();
    trial.results(&[(0, "a", false), (1, "b", true)]);
    let path = "anthropic/05_stream_omitted_and_redacted_thinking.sse";
    trial.response(&Anthropic, sample(path).as_bytes());
    trial.transcript.change();
    trial.user("Go on.");
    assert_eq!(
        brief(&mut trial),
        r#"user: Where is retry_after parsed?
assistant: Looking in both crates. | (toolu_01AAA {"path":"crates/a","pattern":"retry_after"}) | (toolu_01BBB {"path":"crates/b","pattern":"retry_after"})
user: <toolu_01AAA "a"> | <toolu_01BBB [{"type":"text","text":"b"}]>
assistant: Done.
user: Go on.
"#
    );
}

/// Adds a response of another provider with these calls: ids and arguments.
fn foreign(trial: &mut ProviderTrial, calls: &[(&str, &str)]) {
    for (call, (id, arguments)) in (0..).zip(calls) {
        trial.transcript.push(&Event::ToolCall {
            call: CallKey(call),
            id: (*id).into(),
            name: "a tool".into(),
            arguments: (*arguments).into(),
            opaque: Some("{}".into()),
        });
    }
    trial.transcript.push(&Event::ResponseEnd {
        finish: Some(Finish::ToolUse),
        usage: Usage::default(),
    });
    trial.transcript.change();
}

#[test]
fn foreign_calls_get_valid_ids_and_names() {
    let mut trial = trial();
    trial.user("Go.");
    let calls = [
        ("fc:1", r#"{"a": 1}"#),
        ("fc.1", "[1]"),
        ("call_1", "{"),
        ("", " "),
    ];
    foreign(&mut trial, &calls);
    trial.results(&[
        (0, "a", false),
        (1, "b", false),
        (2, "c", false),
        (3, "d", false),
    ]);
    assert_eq!(
        brief(&mut trial),
        r#"user: Go.
assistant: (fc_1_01efdcf9 {"a":1}) | (fc_1_2f410bac {"INVALID_JSON":"[1]"}) | (call_1 {"INVALID_JSON":"{"}) | (_00000000 {})
user: <fc_1_01efdcf9 "a"> | <fc_1_2f410bac "b"> | <call_1 "c"> | <_00000000 "d">
"#
    );
    assert_eq!(messages(&mut trial)[1]["content"][0]["name"], "a_tool");
}

#[test]
fn directives_become_system_messages_if_supported() {
    let last = |system_messages, without: &[Feature], build: &dyn Fn(&mut ProviderTrial)| {
        let mut trial = called();
        trial.options.abilities.system_messages = system_messages;
        trial.without = without.iter().copied().collect();
        trial
            .directive("Be brief.")
            .steer("And quick.")
            .directive("Now.");
        trial.results(&[(1, "b", false), (0, "a", false)]);
        build(&mut trial);
        let all = brief(&mut trial);
        let (_, last) = all
            .split_once("(toolu_01BBB")
            .and_then(|(_, rest)| rest.split_once('\n'))
            .unwrap();
        last.to_owned()
    };
    let results = r#"user: <toolu_01AAA "a"> | <toolu_01BBB "b">"#;
    let as_text = format!("{results} | Be brief. | And quick. | Now.\n");
    assert_eq!(last(false, &[], &|_| {}), as_text);
    assert_eq!(last(true, &[Feature::SystemMessage], &|_| {}), as_text);
    let system = format!("{results} | And quick.\nsystem: Be brief.\n\nNow.\n");
    assert_eq!(last(true, &[], &|_| {}), system);
    // The request was never answered.
    let failed = last(true, &[], &|trial| {
        trial.user("Again.");
    });
    assert_eq!(
        failed,
        format!("{system}assistant: [no answer]\nuser: Again.\n")
    );
    let answered = last(true, &[], &|trial| {
        answer(trial, &[text("Yes.")]);
        trial.user("More.");
    });
    assert_eq!(answered, format!("{system}assistant: Yes.\nuser: More.\n"));
    // Without results there is no user message before it.
    let alone = last(true, &[], &|trial| {
        answer(trial, &[text("Yes.")]);
        trial.directive("Go on.").request();
    });
    assert_eq!(alone, format!("{system}assistant: Yes.\nuser: Go on.\n"));
    let twice = last(true, &[], &|trial| {
        trial.directive("Go on.").request();
    });
    assert_eq!(
        twice,
        format!("{system}assistant: [no answer]\nuser: Go on.\n")
    );
}

#[test]
fn system_messages_match_the_sample() {
    let mut trial = called();
    let sample = json_sample("anthropic/21_messages_system_midconversation.json");
    let said = sample[1]["content"].as_str().unwrap();
    trial.directive(said).results(&[(0, "ok", false)]);
    let messages = messages(&mut trial);
    assert_eq!(messages[2], sample[0]);
    // The other members of the sample require a beta header.
    assert_eq!(messages[3], json!({"role": "system", "content": said}));
}

#[test]
fn blank_text_is_omitted() {
    let thinking = json!({"type": "thinking", "thinking": "So.", "signature": "s"});
    let call = json!({"type": "tool_use", "id": "t", "name": "n", "input": {}});
    let table: [(&[Value], &str); 7] = [
        (&[text("")], ""),
        (&[text(" \n")], ""),
        (&[text("Yes."), text(" "), text("")], "assistant: Yes.\n"),
        (&[text(" "), text("Yes.")], "assistant: Yes.\n"),
        (
            &[thinking.clone(), text("\n"), call],
            "assistant: [thinking] | (t {})\n",
        ),
        // A message must not end in thinking.
        (std::slice::from_ref(&thinking), ""),
        (&[thinking.clone(), text(" ")], ""),
    ];
    for (blocks, expected) in table {
        let mut trial = trial();
        trial.user("Go.");
        answer(&mut trial, blocks);
        assert_eq!(
            brief(&mut trial),
            format!("user: Go.\n{expected}"),
            "{blocks:?}"
        );
    }
}

#[test]
fn cancelled_responses_keep_their_text() {
    let mut trial = trial();
    let cancelled = |trial: &mut ProviderTrial, text: &str| {
        trial.transcript.push(&Event::Text {
            text: text.into(),
            opaque: None,
        });
        trial.transcript.push(&Event::ResponseEnd {
            finish: None,
            usage: Usage::default(),
        });
    };
    trial.user("Go.");
    cancelled(&mut trial, "Well, I");
    trial.user("Stop. Go.");
    cancelled(&mut trial, "");
    trial.user("Go on.");
    assert_eq!(
        brief(&mut trial),
        "user: Go.\nassistant: Well, I\nuser: Stop. Go.\nassistant: [interrupted]\nuser: Go on.\n"
    );
}

#[test]
fn empty_results_are_sent_and_empty_errors_get_text() {
    let mut trial = called();
    trial.results(&[(0, "", false), (1, " ", true)]);
    assert_eq!(
        messages(&mut trial)[2]["content"],
        json!([
            {"type": "tool_result", "tool_use_id": "toolu_01AAA"},
            {"type": "tool_result", "tool_use_id": "toolu_01BBB", "is_error": true,
                "content": [{"type": "text", "text": "The tool failed."}]},
        ])
    );
}

#[test]
fn attachments_precede_the_text() {
    let mut trial = trial();
    let attachment = |name: &str, text: &str| Attachment::text(name, text);
    trial.transcript.push(&Event::UserMessage {
        text: "Why?".into(),
        attachments: vec![attachment("a.rs", "fn a() {}\n"), attachment("\"b\"", "")],
    });
    trial.request();
    let expected = "user: <attachment name=\"a.rs\">\nfn a() {}\n</attachment>\n\
                    <attachment name=\"&quot;b&quot;\">\n\n</attachment>\nWhy?\n";
    assert_eq!(brief(&mut trial), expected);
}

#[test]
fn breakpoints_are_on_the_last_eligible_block() {
    let marked = |trial: &ProviderTrial| -> Vec<String> {
        let body = trial.body(&Anthropic);
        let messages = body["messages"].as_array().unwrap().iter().enumerate();
        messages
            .flat_map(|(at, message)| {
                let blocks = message["content"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .enumerate();
                blocks
                    .filter(|(_, block)| block.get("cache_control").is_some())
                    .map(move |(place, _)| format!("{at}.{place}"))
            })
            .collect()
    };
    let mut trial = called();
    assert_eq!(marked(&trial), ["0.0", "1.3"]);
    trial
        .directive("Be brief.")
        .results(&[(0, "a", false), (1, "b", false)]);
    assert_eq!(marked(&trial), ["1.3", "2.1"], "a system message has none");
    let search = json!({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {}});
    let caller =
        json!({"type": "tool_use", "id": "t", "name": "n", "input": {}, "caller": {"type": "x"}});
    let found = json!({"type": "web_search_tool_result", "tool_use_id": "s", "content": []});
    answer(
        &mut trial,
        &[text("Well."), search.clone(), caller, found.clone()],
    );
    assert_eq!(marked(&trial), ["2.1", "4.2"]);
    trial.results(&[(2, "c", false)]);
    answer(&mut trial, &[search, found]);
    assert_eq!(
        marked(&trial),
        ["5.0"],
        "nothing in the last message takes one"
    );
}
