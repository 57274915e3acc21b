use super::{LOCAL, OPENAI, OPENROUTER, deltas, shown, stream, talk};
use crate::{
    abilities::{Prices, Rates},
    retry::ApiError,
};

/// Checks the pieces of a sample, for every split of its bytes.
fn check(name: &str, expected: &str) {
    let (api, trial) = talk(LOCAL, "m");
    let body = stream(name);
    let pieces = trial.decode(&api, &body).unwrap();
    assert_eq!(shown(&pieces), expected.trim(), "{name}");
    trial.check_cuts(&api, &body);
}

#[test]
fn samples_of_openai_and_openrouter_are_decoded() {
    check(
        "02_stream_two_tools",
        r#"
0 call call_A1 fs_grep
0 + {"path":"crates/a",
0 + "pattern":"x"}
1 call call_B2 fs_grep
1 + {"path":"crates/b","pattern":"x"}
0 end
1 end
in 44 read 768 write 0 out 61
ToolUse"#,
    );
    check(
        "05_stream_openrouter",
        r#"
0 reasoning
0 + Search crates.
1 call call_A1 fs_grep
1 + {"path":".","pattern":"x"}
0 end [{"type":"reasoning.summary","summary":"Search crates.","format":"openai-responses-v1","index":0},{"type":"reasoning.encrypted","data":"gAAAAexample","id":"rs_01","format":"openai-responses-v1","index":0}]
1 end
in 72 read 0 write 0 out 112 $0.000242
ToolUse"#,
    );
}

#[test]
fn samples_of_local_servers_and_mistral_are_decoded() {
    check(
        "07_stream_llamacpp",
        r#"
0 reasoning
0 + Need
0 +  to search.
0 end "reasoning_content"
1 call abc123 fs_grep
1 + {
1 + "path":".","pattern":"x"}
1 end
in 27 read 3000 write 0 out 95
ToolUse"#,
    );
    check(
        "08_stream_vllm_reasoning",
        r#"
0 reasoning
0 + 9.11 < 9.8
0 end "reasoning"
1 text
1 + 9.8
1 end
Stop"#,
    );
    check(
        "09_stream_mistral_thinking",
        r#"
0 reasoning
0 + Search.
0 end {"type":"thinking","thinking":[{"type":"text","text":"Search."}],"signature":"sig-opaque","closed":true}
1 text
1 + Looking.
1 end
2 call D681PevKs fs_grep
2 + {"path": ".", "pattern": "x"}
2 end
in 90 read 0 write 0 out 40
ToolUse"#,
    );
}

#[test]
fn errors_end_the_stream() {
    let (api, trial) = talk(OPENROUTER, "m");
    let error = |name: &str| trial.decode(&api, &stream(name)).unwrap_err();
    assert_eq!(
        error("06_stream_openrouter_midstream_error"),
        ApiError {
            code: "502".into(),
            message: "Provider disconnected".into(),
            ..ApiError::default()
        }
    );
    assert_eq!(
        error("10_stream_inline_error"),
        ApiError {
            kind: "server_error".into(),
            message: "The server had an error".into(),
            ..ApiError::default()
        }
    );
    for name in [
        "06_stream_openrouter_midstream_error",
        "10_stream_inline_error",
    ] {
        trial.check_cuts(&api, &stream(name));
    }
    let bare = b"data: {\"object\":\"error\",\"message\":\"No room\",\"code\":400}\n\n";
    let error = trial.decode(&api, bare).unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.code.as_str()),
        ("No room", "400")
    );
}

/// Checks the pieces of deltas, without the last line (the finish).
fn check_deltas(parts: &[&str], finish: &str, expected: &str) {
    let (api, trial) = talk(LOCAL, "m");
    let body = deltas(parts, finish);
    let pieces = trial.decode(&api, &body).unwrap();
    assert_eq!(shown(&pieces), expected.trim());
    trial.check_cuts(&api, &body);
}

#[test]
fn whole_calls_are_separated() {
    // Without an index or all with the same one; arguments as an object.
    let whole = "
0 call a x
0 + {\"n\":1}
1 call b y
1 + {\"n\": 2}
0 end
1 end
ToolUse";
    check_deltas(
        &[
            r#"{"tool_calls":[{"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}]}"#,
            r#"{"tool_calls":[{"id":"b","function":{"name":"y","arguments":{"n": 2}}}]}"#,
        ],
        "stop",
        whole,
    );
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"name":"y","arguments":{"n": 2}}}]}"#,
        ],
        "tool_calls",
        whole,
    );
}

#[test]
fn calls_without_an_id_get_one() {
    check_deltas(
        &[
            r#"{"tool_calls":[{"function":{"name":"x","arguments":"{}"}},{"function":{"name":"x","arguments":"{}"}}]}"#,
        ],
        "function_call",
        "
0 call aside-0 x
0 + {}
1 call aside-1 x
1 + {}
0 end
1 end
ToolUse",
    );
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x"}},{"index":1,"id":"a","function":{"name":"x"}}]}"#,
        ],
        "tool_calls",
        "
0 call a x
0 end
ToolUse",
    );
}

#[test]
fn fragments_of_a_call_are_joined() {
    // The id changes and no name comes: the index identifies the call.
    check_deltas(
        &[
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":""}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"b","function":{"arguments":"{\"n\":"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"c","function":{"arguments":"1}"}}]}"#,
            r#"{"tool_calls":[{"index":0,"id":"d","function":{"arguments":""}}]}"#,
        ],
        "tool_calls",
        "
0 call a x
0 + {\"n\":
0 + 1}
0 end
ToolUse",
    );
    // Fragments without an index, and a late name.
    check_deltas(
        &[
            r#"{"tool_calls":[{"id":"a","function":{"arguments":"{"}}]}"#,
            r#"{"tool_calls":[{"function":{"name":"x","arguments":"\"n\":"}}]}"#,
            r#"{"tool_calls":[{"id":"a","function":{"name":null,"arguments":"1}"}}]}"#,
        ],
        "tool_calls",
        "
0 call a x
0 + {
0 + \"n\":
0 + 1}
0 end
ToolUse",
    );
}

#[test]
fn truncated_responses_have_no_partial_call() {
    check_deltas(
        &[
            r#"{"content":"I look"}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{\"n\":1}"}}]}"#,
            r#"{"tool_calls":[{"index":1,"id":"b","function":{"name":"x","arguments":"{\"n\":"}}]}"#,
        ],
        "length",
        "
0 text
0 + I look
0 end
1 call a x
1 + {\"n\":1}
2 call b x
2 + {\"n\":
1 end
2 torn
MaxTokens",
    );
    check_deltas(
        &[r#"{"reasoning_details":[{"type":"reasoning.text","text":"Hm","index":0}]}"#],
        "length",
        "
0 reasoning
0 + Hm
0 torn
MaxTokens",
    );
    // A call without a name is ignored.
    check_deltas(
        &[r#"{"tool_calls":[{"index":0,"id":"a","function":{"arguments":"{}"}}]}"#],
        "tool_calls",
        "
0 call a
0 + {}
0 torn
ToolUse",
    );
}

#[test]
fn reasoning_is_read_once_under_every_name() {
    check_deltas(
        &[
            r#"{"reasoning":"Hm","reasoning_content":"Hm"}"#,
            r#"{"reasoning":null,"reasoning_content":", so","content":""}"#,
            r#"{"content":[{"type":"text","text":"Yes"},{"type":"reference","reference_ids":[1]}]}"#,
            r#"{"content":"."}"#,
        ],
        "stop",
        r#"
0 reasoning
0 + Hm
0 + , so
0 end "reasoning_content"
1 text
1 + Yes
1 + .
1 end
Stop"#,
    );
    check_deltas(
        &[
            r#"{"content":"<thi"}"#,
            r#"{"content":"nk>\nHm</"}"#,
            r#"{"content":"think>\n\nYes </think>"}"#,
        ],
        "stop",
        "
0 reasoning
0 + Hm
0 end
1 text
1 + Yes </think>
1 end
Stop",
    );
    // Fragments of a text form one element, and the signature may follow the first fragments.
    check_deltas(
        &[
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"H","format":"f","index":0}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"m","format":"f","index":0}]}"#,
            r#"{"content":"Yes"}"#,
            r#"{"reasoning_details":[{"type":"reasoning.text","signature":"s1","index":0}]}"#,
            r#"{"content":"."}"#,
            r#"{"reasoning_details":[{"type":"reasoning.text","text":"n","index":0}]}"#,
        ],
        "stop",
        r#"
0 reasoning
0 + H
0 + m
1 text
1 + Yes
1 + .
1 end
0 + n
0 end [{"type":"reasoning.text","text":"Hm","format":"f","index":0,"signature":"s1"},{"type":"reasoning.text","text":"n","index":0}]
Stop"#,
    );
}

#[test]
fn blank_text_before_a_call_keeps_its_place() {
    check_deltas(
        &[
            r#"{"content":"\n"}"#,
            r#"{"tool_calls":[{"index":0,"id":"a","function":{"name":"x","arguments":"{}"}}]}"#,
        ],
        "tool_calls",
        "
0 text
0 +
0 end
1 call a x
1 + {}
1 end
ToolUse",
    );
}

#[test]
fn think_tags_are_text_on_the_official_server() {
    let (api, trial) = talk(OPENAI, "m");
    let body = deltas(&[r#"{"content":"<think>"}"#], "stop");
    let pieces = trial.decode(&api, &body).unwrap();
    assert_eq!(shown(&pieces), "0 text\n0 + <think>\n0 end\nStop");
}

#[test]
fn finish_reasons_are_mapped() {
    let (api, trial) = talk(LOCAL, "m");
    for (finish, expected) in [
        ("stop", "Stop"),
        ("content_filter", "ContentFilter"),
        ("model_length", "ContextFull"),
        ("tool_calls", "Stop"),
        ("eos", "Other(\"eos\")"),
    ] {
        let body = deltas(&[r#"{"content":"a"}"#], finish);
        let pieces = trial.decode(&api, &body).unwrap();
        assert_eq!(
            shown(&pieces),
            format!("0 text\n0 + a\n0 end\n{expected}"),
            "{finish}"
        );
    }
}

#[test]
fn refusals_finish_as_refused() {
    let (api, trial) = talk(LOCAL, "m");
    let refused = deltas(&[r#"{"refusal":"I"}"#, r#"{"refusal":" won't."}"#], "stop");
    let pieces = trial.decode(&api, &refused).unwrap();
    assert_eq!(shown(&pieces), "0 text\n0 + I\n0 +  won't.\n0 end\nRefusal");
}

#[test]
fn responses_without_an_end_are_incomplete() {
    let (api, trial) = talk(LOCAL, "m");
    let decode = |text: &str| trial.decode(&api, text.as_bytes());
    let word = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n";
    let end = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    let usage =
        "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2}}\n\n";
    let whole = "0 text\n0 + a\n0 end\nStop";
    let counted = "0 text\n0 + a\n0 end\nin 1 read 0 write 0 out 2\nStop";
    // `[DONE]` without a finish reason, a reason without `[DONE]`, and usage at the end.
    for (text, expected) in [
        (format!("{word}data: [DONE]\n\n"), whole),
        (format!("{word}{end}"), whole),
        (format!("{word}{end}{usage}"), counted),
        (format!("{word}{usage}{end}"), counted),
        (format!("{word}{end}{usage}data: [DONE]\n\n"), counted),
    ] {
        assert_eq!(shown(&decode(&text).unwrap()), expected, "{text}");
    }
    assert_eq!(decode(word), Err(ApiError::cut()));
    assert_eq!(decode(""), Err(ApiError::cut()));
    assert!(decode("data: {\"cho\n\n").unwrap_err().is_garbled());
    let error =
        format!("{word}data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"error\"}}]}}\n\n");
    for word in ["error", "abort", "insufficient_system_resource"] {
        let error = error.replace("\"error\"", &format!("\"{word}\""));
        assert_eq!(decode(&error).unwrap_err().kind, "server_error", "{word}");
    }
}

#[test]
fn unknown_data_is_ignored() {
    let (api, trial) = talk(LOCAL, "m");
    let text = "data: {\"choices\":\"none\",\"new\":{\"a\":[1]}}\n\ndata: []\n\ndata: 7\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":7,\"tool_calls\":{},\"audio\":{\"x\":1}}},{\"index\":1,\"delta\":{\"content\":\"no\"}}]}\n\n\
        data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}],\"usage\":7}\n\n";
    let pieces = trial.decode(&api, text.as_bytes()).unwrap();
    assert_eq!(shown(&pieces), "0 text\n0 + a\n0 end\nStop");
}

#[test]
fn unstreamed_responses_are_decoded() {
    let (api, trial) = talk(LOCAL, "m");
    let document = r#"{"choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,
  "tool_calls":[{"id":"a","function":{"name":"x","arguments":"{}"}}]}}],"usage":{"prompt_tokens":5,"completion_tokens":6}}"#;
    let pieces = trial.decode(&api, document.as_bytes()).unwrap();
    assert_eq!(
        shown(&pieces),
        "0 call a x\n0 + {}\n0 end\nin 5 read 0 write 0 out 6\nToolUse"
    );
    let failed = trial.decode(&api, b"{\n \"error\": \"no such model\"\n}\n");
    assert_eq!(failed.unwrap_err().message, "no such model");
    let half = &document.as_bytes()[..document.len() - 20];
    assert_eq!(trial.decode(&api, half), Err(ApiError::cut()));
}

#[test]
fn tokens_are_counted_by_price() {
    let (api, mut trial) = talk(LOCAL, "m");
    trial.options.abilities.prices = Some(Prices {
        rates: Rates {
            input: 1.0,
            output: 10.0,
            cache_read: Some(0.5),
            cache_write: Some(2.0),
            ..Rates::default()
        },
        ..Prices::default()
    });
    for (members, expected) in [
        (
            r#""usage":{"prompt_tokens":100,"completion_tokens":10,"prompt_tokens_details":{"cached_tokens":60,"cache_write_tokens":30}}"#,
            "in 10 read 60 write 30 out 10 $0.0002",
        ),
        (
            r#""usage":{"prompt_tokens":100,"completion_tokens":10,"prompt_cache_hit_tokens":60,"prompt_cache_miss_tokens":40}"#,
            "in 40 read 60 write 0 out 10 $0.00017",
        ),
        (
            r#""usage":{"prompt_tokens":100,"completion_tokens":10},"timings":{"cache_n":90,"prompt_n":10,"predicted_n":10}"#,
            "in 10 read 90 write 0 out 10 $0.000155",
        ),
        (
            r#""usage":{"prompt_tokens":5,"completion_tokens":10,"cost":0.25,"prompt_tokens_details":null}"#,
            "in 5 read 0 write 0 out 10 $0.25",
        ),
    ] {
        let text = format!(
            "data: {{\"choices\":[{{\"delta\":{{}},\"finish_reason\":\"stop\"}}],{members}}}\n\n"
        );
        let pieces = trial.decode(&api, text.as_bytes()).unwrap();
        assert_eq!(shown(&pieces), format!("{expected}\nStop"));
    }
}
