use aside_turn::{
    attachment::Attachment,
    inquiry::{CallResult, Message},
    record::Event,
    response::{Feature, Item, Kind, Usage},
};
use serde_json::{Value, json};

use super::{DEEPSEEK, LOCAL, MISTRAL, OPENAI, OPENROUTER, deltas, grep, model, stream, talk};
use crate::{
    api::WireApi,
    options::CacheRetention,
    trial::{ProviderTrial, json_sample},
};

fn call(id: &str, arguments: &str) -> Vec<u8> {
    let call = json!({"tool_calls": [{"index": 0, "id": id, "function": {"name": "fs_grep", "arguments": arguments}}]});
    deltas(&[&call.to_string()], "tool_calls")
}

fn messages(api: &dyn WireApi, trial: &ProviderTrial) -> Value {
    trial.body(api)["messages"].clone()
}

#[test]
fn results_match_the_sample() {
    let (api, mut trial) = talk(OPENAI, "gpt-6.1-sol");
    trial
        .user("Where?")
        .response(&api, &stream("02_stream_two_tools"))
        .results(&[(0, "error.rs:606", false), (1, "no such directory", true)]);
    let (body, sample) = (
        trial.body(&api),
        json_sample("openai_chat/03_request_tool_results.json"),
    );
    // The sample has no options.
    for member in ["model", "messages", "tools"] {
        assert_eq!(body[member], sample[member], "{member}");
    }
}

#[test]
fn deepseek_reasoning_is_sent_back() {
    let (api, mut trial) = talk(DEEPSEEK, "deepseek-v4-pro");
    let first = deltas(
        &[
            r#"{"reasoning_content":"Search"}"#,
            r#"{"reasoning_content":"."}"#,
            r#"{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"fs_grep","arguments":"{\"path\":\".\",\"pattern\":\"x\"}"}}]}"#,
        ],
        "tool_calls",
    );
    trial
        .user("Where?")
        .response(&api, &first)
        .results(&[(0, "error.rs:606", false)]);
    let (body, sample) = (
        trial.body(&api),
        json_sample("openai_chat/11_request_deepseek_followup.json"),
    );
    for member in ["model", "messages", "tools", "stream"] {
        assert_eq!(body[member], sample[member], "{member}");
    }
    // Foreign reasoning is omitted, but DeepSeek requires the member.
    trial.transcript.change();
    trial.response(&api, &deltas(&[r#"{"content":"There."}"#], "stop"));
    trial.user("Thanks.");
    let messages = messages(&api, &trial);
    assert_eq!(messages[1]["reasoning_content"], " ");
    assert_eq!(
        messages[3],
        json!({"role": "assistant", "content": "There.", "reasoning_content": " "})
    );
}

#[test]
fn provider_data_is_sent_verbatim() {
    let (api, mut trial) = talk(OPENROUTER, "openai/gpt-6.1-sol");
    trial
        .user("Where?")
        .response(&api, &stream("05_stream_openrouter"))
        .results(&[(0, "a", false)]);
    let details = r#""reasoning_details":[{"type":"reasoning.summary","summary":"Search crates.","format":"openai-responses-v1","index":0},{"type":"reasoning.encrypted","data":"gAAAAexample","id":"rs_01","format":"openai-responses-v1","index":0}],"tool_calls""#;
    let text =
        |trial: &ProviderTrial, api: &dyn WireApi| String::from_utf8(trial.bytes(api)).unwrap();
    assert!(text(&trial, &api).contains(details));
    trial.transcript.change();
    trial.user("On.");
    assert!(!text(&trial, &api).contains("reasoning"));

    let (api, mut trial) = talk(MISTRAL, "magistral");
    trial
        .user("Where?")
        .response(&api, &stream("09_stream_mistral_thinking"))
        .results(&[(0, "a", false)]);
    let content = r#""content":[{"type":"thinking","thinking":[{"type":"text","text":"Search."}],"signature":"sig-opaque","closed":true},{"type":"text","text":"Looking."}],"tool_calls":[{"id":"D681PevKs","#;
    assert!(text(&trial, &api).contains(content));
    trial.transcript.change();
    trial.user("On.");
    assert!(text(&trial, &api).contains(r#""content":"Looking.","tool_calls""#));
}

#[test]
fn reasoning_goes_back_in_the_member_in_which_it_came() {
    for (name, member, text) in [
        ("07_stream_llamacpp", "reasoning_content", "Need to search."),
        ("08_stream_vllm_reasoning", "reasoning", "9.11 < 9.8"),
    ] {
        let (api, mut trial) = talk(LOCAL, "m");
        trial.user("Where?").response(&api, &stream(name));
        trial.user("On.");
        let said = |trial: &ProviderTrial| messages(&api, trial)[1].clone();
        assert_eq!(said(&trial)[member], text, "{name}");
        trial.without.insert(Feature::ReasoningText);
        assert!(!said(&trial).to_string().contains("reasoning"), "{name}");
        // A server that insists gets it in the member that it names.
        trial.without = [Feature::Unreasoned].into();
        assert_eq!(said(&trial)["reasoning_content"], text, "{name}");
        trial.without.clear();
        trial.transcript.change();
        trial.user("On again.");
        assert!(!said(&trial).to_string().contains("reasoning"), "{name}");
        trial.without = [Feature::Unreasoned].into();
        assert_eq!(said(&trial)["reasoning_content"], " ", "{name}");
    }
}

#[test]
fn each_body_extends_the_previous_one() {
    for (base, name) in [
        (OPENAI, "gpt-6.1-sol"),
        (OPENROUTER, "anthropic/claude-opus-5-5"),
        (DEEPSEEK, "deepseek-v4-pro"),
        (MISTRAL, "magistral"),
        (LOCAL, "m"),
    ] {
        let (api, mut options) = model(base, name);
        // Only breakpoints move.
        options.cache = CacheRetention::Off;
        let mut trial = ProviderTrial::new(options, "You are a coding agent.", vec![grep()]);
        let samples = [
            "02_stream_two_tools",
            "05_stream_openrouter",
            "07_stream_llamacpp",
            "08_stream_vllm_reasoning",
            "09_stream_mistral_thinking",
        ];
        let mut before = trial.user("Where?").bytes(&api);
        let mut calls = 0;
        for round in 0..40 {
            let sample = stream(samples[round % samples.len()]);
            let new = String::from_utf8_lossy(&sample).matches("\"name\"").count() as u32;
            trial.response(&api, &sample);
            let results: Vec<(u32, &str, bool)> = (calls..calls + new)
                .map(|call| (call, "a", false))
                .collect();
            calls += new;
            match new {
                0 => trial.user("And then?"),
                _ => trial.steer("Go on.").results(&results),
            };
            let after = trial.bytes(&api);
            let history = before.strip_suffix(b"]}").unwrap();
            assert!(after.starts_with(history), "{base} in round {round}");
            before = after;
        }
        let body: Value = serde_json::from_slice(&before).unwrap();
        let messages = body["messages"].as_array().unwrap();
        assert!(messages.len() > 100, "{} messages", messages.len());
    }
}

#[test]
fn user_messages_follow_the_results() {
    let (api, mut trial) = talk(OPENAI, "m");
    trial.transcript.push(&Event::UserMessage {
        text: "Why?".into(),
        attachments: vec![Attachment::text("a \"b\".txt", "One.")],
    });
    trial.request();
    trial.response(&api, &stream("02_stream_two_tools"));
    trial.steer("Quick.").directive("Be brief.").steer("");
    trial.results(&[(1, "", false), (0, "a", false)]);
    let expected = |role: &str| {
        let mut rest = match role {
            "user" => vec![json!({"role": "user", "content": "Quick.\n\nBe brief."})],
            _ => vec![
                json!({"role": "user", "content": "Quick."}),
                json!({"role": role, "content": "Be brief."}),
            ],
        };
        let mut all = vec![
            json!({"role": "tool", "tool_call_id": "call_A1", "content": "a"}),
            json!({"role": "tool", "tool_call_id": "call_B2", "content": ""}),
        ];
        all.append(&mut rest);
        all
    };
    let body = trial.body(&api);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(
        messages[0]["content"],
        "<attachment name=\"a &quot;b&quot;.txt\">\nOne.\n</attachment>\nWhy?"
    );
    assert_eq!(messages[2..], expected("user"));
    // A model that accepts system messages anywhere.
    let again = |trial: &mut ProviderTrial| {
        trial.transcript.change();
        trial.body(&api)["messages"].as_array().unwrap()[2..].to_vec()
    };
    trial.options.abilities.system_messages = true;
    assert_eq!(again(&mut trial), expected("developer"));
    trial.without.insert(Feature::SystemMessage);
    assert_eq!(again(&mut trial), expected("user"));
}

#[test]
fn empty_responses_are_omitted() {
    let (api, mut trial) = talk(LOCAL, "m");
    trial.user("Hm?");
    trial.response(&api, &deltas(&[r#"{"reasoning":"Hm"}"#], "stop"));
    trial.user("Well?");
    // Cancelled before any output.
    trial.transcript.push(&Event::ResponseEnd {
        finish: None,
        usage: Usage::default(),
    });
    trial.user("So?");
    trial.response(&api, &deltas(&[r#"{"content":"\n\n"}"#], "stop"));
    trial.user("Hello?");
    assert_eq!(
        messages(&api, &trial),
        json!([
            {"role": "user", "content": "Hm?"},
            {"role": "user", "content": "Well?"},
            {"role": "assistant", "content": "[interrupted]"},
            {"role": "user", "content": "So?"},
            {"role": "user", "content": "Hello?"},
        ])
    );
}

#[test]
fn object_arguments_are_sent_unchanged() {
    for (arguments, expected) in [
        ("{\"n\": 1.0}", "{\"n\": 1.0}"),
        ("", "{}"),
        ("{\"n\":", r#"{"INVALID_JSON":"{\"n\":"}"#),
        ("[1]", r#"{"INVALID_JSON":"[1]"}"#),
    ] {
        let (api, mut trial) = talk(LOCAL, "m");
        trial
            .user("Hm?")
            .response(&api, &call("a", arguments))
            .results(&[(0, "a", false)]);
        let call = messages(&api, &trial)[1]["tool_calls"][0].clone();
        assert_eq!(call["function"]["arguments"], expected);
    }
}

#[test]
fn call_ids_fit_the_server() {
    let sent = |base: &str, id: &str| {
        let (api, mut trial) = talk(base, "m");
        trial
            .user("Hm?")
            .response(&api, &call(id, "{}"))
            .results(&[(0, "a", false)]);
        let messages = messages(&api, &trial);
        let sent = messages[1]["tool_calls"][0]["id"].as_str().unwrap();
        assert_eq!(messages[2]["tool_call_id"], sent);
        sent.to_owned()
    };
    let long = "x".repeat(41);
    assert_eq!(sent(OPENAI, "functions.fs_grep:0"), "functions.fs_grep:0");
    assert!(sent(OPENAI, &long).starts_with("call_"));
    assert_eq!(sent(OPENAI, &long), sent(LOCAL, &long));
    assert_eq!(sent(MISTRAL, "D681PevKs"), "D681PevKs");
    let ids: Vec<String> = ["call_A1", "call_B2", "D681Pev-s", &long]
        .map(|id| sent(MISTRAL, id))
        .to_vec();
    for (at, id) in ids.iter().enumerate() {
        assert!(id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric()));
        assert!(!ids[..at].contains(id), "{id} twice");
    }
    assert_eq!(sent(MISTRAL, "call_A1"), ids[0]);
}

#[test]
fn mistral_gets_an_assistant_message_between_result_and_user() {
    let (api, mut trial) = talk(MISTRAL, "m");
    trial
        .user("Hm?")
        .response(&api, &call("a12345678", "{}"))
        .steer("Quick.")
        .results(&[(0, "a", false)]);
    let body = trial.body(&api);
    let messages = body["messages"].as_array().unwrap();
    assert_eq!(messages[1]["content"], "");
    assert_eq!(
        messages[2..],
        [
            json!({"role": "tool", "tool_call_id": "a12345678", "content": "a"}),
            json!({"role": "assistant", "content": "OK."}),
            json!({"role": "user", "content": "Quick."}),
        ]
    );
}

#[test]
fn inquiries_append_questions_and_replies() {
    let (api, mut trial) = talk(LOCAL, "m");
    trial.user("Hm?");
    trial.response(&api, &call("a", "{}"));
    let result = |id: &str, content: &str| CallResult {
        id: id.into(),
        name: "fs_grep".into(),
        content: content.into(),
        is_error: false,
    };
    trial.messages = vec![
        Message::User {
            results: vec![result("a", "Tool paused.")],
            text: "Which?".into(),
        },
        Message::Assistant(vec![Item {
            kind: Kind::ToolCall {
                id: "b".into(),
                name: "answer_inquiry".into(),
            },
            text: "{}".into(),
            opaque: None,
            complete: true,
        }]),
        Message::User {
            results: vec![result("b", "Not yet.")],
            text: "Again.".into(),
        },
    ];
    let body = trial.body(&api);
    assert_eq!(
        body["messages"].as_array().unwrap()[2..],
        [
            json!({"role": "tool", "tool_call_id": "a", "content": "Tool paused."}),
            json!({"role": "user", "content": "Which?"}),
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": "b", "type": "function", "function": {"name": "answer_inquiry", "arguments": "{}"}},
            ]}),
            json!({"role": "tool", "tool_call_id": "b", "content": "Not yet."}),
            json!({"role": "user", "content": "Again."}),
        ]
    );
}

#[test]
fn breakpoints_are_on_texts_if_supported() {
    let (api, options) = model(OPENROUTER, "anthropic/claude-opus-5-5");
    let mut trial = ProviderTrial::new(options, "Be good.", vec![grep()]);
    trial
        .user("Hm?")
        .response(&api, &call("a", "{}"))
        .results(&[(0, "b", false)]);
    let short = json!({"type": "ephemeral"});
    let marks = |trial: &ProviderTrial| {
        let body = trial.body(&api);
        let messages = body["messages"].as_array().unwrap();
        let mark = |message: &Value| message["content"][0]["cache_control"].clone();
        messages.iter().map(mark).collect::<Vec<_>>()
    };
    let all = [short.clone(), short.clone(), Value::Null, short.clone()];
    assert_eq!(marks(&trial), all);
    trial.options.cache = CacheRetention::Long;
    assert_eq!(marks(&trial)[3], json!({"type": "ephemeral", "ttl": "1h"}));
    trial.without.insert(Feature::CacheHint);
    assert_eq!(marks(&trial), vec![Value::Null; 4]);
    let (api, options) = model(OPENROUTER, "openai/gpt-6.1-sol");
    let mut trial = ProviderTrial::new(options, "Be good.", vec![]);
    trial.user("Hm?");
    assert_eq!(
        messages(&api, &trial),
        json!([{"role": "system", "content": "Be good."}, {"role": "user", "content": "Hm?"}])
    );
}
