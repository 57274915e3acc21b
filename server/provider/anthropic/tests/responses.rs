//! Tests of how streams, errors and lists are decoded.

use aside_test_table::rows;
use aside_turn::response::{Kind, Piece};
use http::{HeaderMap, HeaderValue};
use serde_json::{Value, json};

use super::*;
use crate::{
    api::{ListedModel, WireApi},
    retry::ApiError,
    trial::json_sample,
};

/// The pieces of a response, one per line.
fn shown(trial: &ProviderTrial, body: &str) -> String {
    match trial.decode(&Anthropic, body.as_bytes()) {
        Ok(pieces) => pieces.iter().map(line).collect(),
        Err(error) => format!("{} {} {:?}\n", error.kind, error.message, error.request_id),
    }
}

fn line(piece: &Piece) -> String {
    let text = match piece {
        Piece::Open { slot, kind } => {
            let kind = match kind {
                Kind::ToolCall { id, name } => format!("call {id} {name}"),
                kind => format!("{kind:?}").to_lowercase(),
            };
            format!("{slot} {kind}")
        }
        Piece::Delta { slot, text } => format!("{slot} + {text}"),
        Piece::Anew { slot, name, text } => format!("{slot} anew {name} {text}"),
        Piece::Close {
            slot,
            opaque,
            complete,
        } => {
            let whole = if *complete { "." } else { "cut" };
            format!("{slot} {whole} {}", opaque.as_deref().unwrap_or_default())
        }
        Piece::Usage(usage) => format!(
            "usage {} {} {} {} ${:.5}",
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.output,
            usage.cost.unwrap_or_default()
        ),
        Piece::KeepAlive => "-".to_owned(),
        Piece::Finish(finish) => format!("{finish:?}"),
    };
    format!("{}\n", text.trim_end())
}

fn check(path: &str, expected: &str) {
    let (trial, body) = (trial(), sample(path));
    assert_eq!(shown(&trial, &body), expected, "{path}");
    trial.check_cuts(&Anthropic, body.as_bytes());
}

#[test]
fn thinking_text_and_calls_are_decoded_incrementally() {
    check(
        FIRST,
        r#"usage 12 0 3310 2 $0.01664
0 reasoning
-
0 + The user wants the parser.
0 + Search two places.
-
0 . {"type":"thinking","thinking":"The user wants the parser. Search two places.","signature":"EuMCexampleSignatureOpaqueBase64AAAA=="}
1 text
1 + Looking in both crates.
1 .
2 call toolu_01AAA fs_grep
-
2 + {"path": "crates/a"
2 + , "pattern": "retry_af
2 + ter"}
3 call toolu_01BBB fs_grep
-
3 + {"path": "crates/b", "pattern": "retry_after"}
usage 12 0 3310 231 $0.02122
2 .
3 .
ToolUse
"#,
    );
}

#[test]
fn redacted_thinking_is_kept_for_the_provider() {
    check(
        "anthropic/05_stream_omitted_and_redacted_thinking.sse",
        r#"usage 12 0 3310 2 $0.01664
0 reasoning
-
0 . {"type":"thinking","thinking":"","signature":"EuMCexampleSignatureOpaqueBase64AAAA=="}
1 opaque
1 . {"type":"redacted_thinking","data":"EmwKAhgBexampleRedacted=="}
2 text
2 + Done.
2 .
usage 4 3400 0 90 $0.00250
Stop
"#,
    );
}

#[test]
fn refusals_after_text_keep_their_usage() {
    check(
        "anthropic/06_stream_refusal_midway.sse",
        "usage 12 0 3310 2 $0.01664\n0 text\n0 + To begin\n0 .\nusage 12 0 3310 3 $0.01666\nRefusal\n",
    );
}

#[test]
fn errors_in_a_stream_are_reported() {
    check(
        "anthropic/07_stream_error_overloaded.sse",
        "overloaded_error Overloaded Some(\"req_011EX\")\n",
    );
}

#[test]
fn server_tool_blocks_are_kept_for_the_provider() {
    check(
        "anthropic/08_stream_server_tool_pause_turn.sse",
        r#"usage 12 0 3310 2 $0.01664
0 opaque
-
-
0 . {"type":"server_tool_use","id":"srvtoolu_01","name":"web_search","input":{"query": "sse spec"}}
1 opaque
1 . {"type":"web_search_tool_result","tool_use_id":"srvtoolu_01","content":[{"type":"web_search_result","title":"HTML Standard","url":"https://html.spec.whatwg.org/","encrypted_content":"Eq8Cexample","page_age":null}]}
2 opaque
-
2 . {"type":"server_tool_use","id":"srvtoolu_02","name":"web_search","input":{"query": "sse ping"}}
usage 12 0 3310 77 $0.01814
Pause
"#,
    );
}

#[test]
fn truncated_calls_are_incomplete() {
    check(
        "anthropic/09_stream_max_tokens_truncated_tool.sse",
        "usage 12 0 3310 2 $0.01664\n0 call toolu_01TRUNC fs_grep\n-\n0 + {\"path\": \"cra\n\
         usage 12 0 3310 64 $0.01788\n0 cut\nMaxTokens\n",
    );
}

#[test]
fn unknown_events_are_ignored_and_answers_can_be_empty() {
    check(
        "anthropic/10_stream_unknown_and_empty.sse",
        "usage 12 0 3310 2 $0.01664\n-\n-\nusage 12 0 3310 2 $0.01664\nStop\n",
    );
    check(
        "anthropic/11_stream_input_transformations.sse",
        "usage 12 0 3310 2 $0.01664\n0 text\n0 + ok\n0 .\nusage 12 0 3310 4 $0.01668\nStop\n",
    );
}

/// The items and the end of a response.
fn end(body: &str) -> String {
    let shown = shown(&trial(), body);
    let lines = shown.lines().filter(|line| !line.starts_with("usage"));
    lines.collect::<Vec<_>>().join("|")
}

#[test]
fn stop_reasons_determine_completeness() {
    let call = |input: &str| {
        let start = json!({"type": "tool_use", "id": "t", "name": "n", "input": {}});
        stream(&[
            json!({"type": "content_block_start", "index": 0, "content_block": start}),
            json!({"type": "content_block_delta", "index": 0,
                "delta": {"type": "input_json_delta", "partial_json": input}}),
            json!({"type": "content_block_stop", "index": 0}),
        ])
    };
    let ended = |reason: Value| {
        let delta = json!({"type": "message_delta", "delta": {"stop_reason": reason}});
        stream(&[delta, json!({"type": "message_stop"})])
    };
    let table = r#"
        # A call that is cut off before its first argument looks like one without arguments.
           | "max_tokens"                    | 0 call t n|-|0 cut|MaxTokens
           | "tool_use"                      | 0 call t n|-|0 .|ToolUse
           | null                            | 0 call t n|-|0 .|ToolUse
        {} | "max_tokens"                    | 0 call t n|0 + {}|0 cut|MaxTokens
        {} | "model_context_window_exceeded" | 0 call t n|0 + {}|0 cut|ContextFull
        {] | "tool_use"                      | 0 call t n|0 + {]|0 cut|MalformedCall
        {] | "end_turn"                      | 0 call t n|0 + {]|0 cut|MalformedCall
        {] | "refusal"                       | 0 call t n|0 + {]|0 cut|Refusal
        {} | "stop_sequence"                 | 0 call t n|0 + {}|0 .|StopSequence
        {} | "pause_turn"                    | 0 call t n|0 + {}|0 .|Pause
        {} | "new"                           | 0 call t n|0 + {}|0 .|Other("new")
    "#;
    for [input, reason, expected] in rows(table) {
        let body = call(input) + &ended(serde_json::from_str(reason).unwrap());
        assert_eq!(end(&body), expected, "{input} {reason}");
    }
}

#[test]
fn unended_blocks_are_incomplete() {
    let body = stream(&[
        json!({"type": "content_block_start", "index": 4, "content_block": text("So")}),
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
        json!({"type": "message_stop"}),
    ]);
    assert_eq!(end(&body), "0 text|0 + So|0 cut|Stop");
}

#[test]
fn data_beyond_the_neutral_form_is_kept() {
    let citation = json!({"type": "char_location", "cited_text": "x"});
    let table = [
        (json!({"type": "text", "text": "a", "citations": null}), ""),
        (
            json!({"type": "text", "text": "a", "citations": [citation]}),
            r#"{"type":"text","text":"a","citations":[{"type":"char_location","cited_text":"x"}]}"#,
        ),
        (
            json!({"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1.0}, "caller": {"type": "direct"}}),
            "",
        ),
        (
            json!({"type": "tool_use", "id": "t", "name": "n", "input": {"a": 1.0},
                "caller": {"type": "code_execution", "tool_id": "s"}}),
            r#"{"type":"tool_use","id":"t","name":"n","input":{"a":1.0},"caller":{"type":"code_execution","tool_id":"s"}}"#,
        ),
        (
            json!({"type": "compaction", "content": "c", "encrypted_content": "e"}),
            r#"{"type":"compaction","content":"c","encrypted_content":"e"}"#,
        ),
    ];
    for (block, opaque) in table {
        let pieces = trial()
            .decode(
                &Anthropic,
                response(std::slice::from_ref(&block), "end_turn").as_bytes(),
            )
            .unwrap();
        let closed = pieces.into_iter().find_map(|piece| match piece {
            Piece::Close { opaque, .. } => Some(opaque.unwrap_or_default()),
            _ => None,
        });
        assert_eq!(closed.as_deref(), Some(opaque), "{block}");
    }
}

#[test]
fn call_ids_are_present_and_unique() {
    let call = |id: &str| json!({"type": "tool_use", "id": id, "name": "n", "input": {"a": 1}});
    let body = response(&[call(""), call("t"), call("t"), call("")], "tool_use");
    assert_eq!(
        end(&body),
        "0 call aside-0 n|0 + {\"a\":1}|1 call t n|1 + {\"a\":1}|\
         2 call aside-2 n|2 + {\"a\":1}|0 .|1 .|2 .|ToolUse"
    );
    // Ids also differ between two responses of a conversation.
    let named = body.replace(r#""message":{"#, r#""message":{"id":"msg_7","#);
    assert!(end(&named).starts_with("0 call aside-msg7-0 n|"));
}

#[test]
fn long_cache_writes_are_counted_separately() {
    let usage = json!({"input_tokens": 1_000_000, "cache_creation_input_tokens": 3_000_000,
        "cache_creation": {"ephemeral_5m_input_tokens": 1_000_000, "ephemeral_1h_input_tokens": 2_000_000},
        "cache_read_input_tokens": null, "output_tokens": 0});
    let body = stream(&[
        json!({"type": "message_start", "message": {"usage": usage}}),
        json!({"type": "message_delta", "delta": {}, "usage": {"input_tokens": null, "output_tokens": 1_000_000}}),
        json!({"type": "message_stop"}),
    ]);
    assert_eq!(
        shown(&trial(), &body),
        "usage 1000000 0 3000000 0 $25.00000\nusage 1000000 0 3000000 1000000 $45.00000\nStop\n"
    );
    let mut free = trial();
    free.options.abilities.prices = None;
    let pieces = free.decode(&Anthropic, body.as_bytes()).unwrap();
    assert!(matches!(&pieces[0], Piece::Usage(usage) if usage.cost.is_none()));
}

#[test]
fn invalid_responses_are_errors() {
    let table = [
        ("", ApiError::cut()),
        (
            r#"{"type":"error","error":{"type":"api_error","message":"Broken"}}"#,
            ApiError {
                kind: "api_error".into(),
                message: "Broken".into(),
                ..ApiError::default()
            },
        ),
    ];
    for (body, expected) in table {
        assert_eq!(
            trial().decode(&Anthropic, body.as_bytes()),
            Err(expected),
            "{body}"
        );
    }
    for body in [
        "data: [1\n\n",
        "data: {\"type\":\"error\"}\n\n",
        "data: {\"type\":\"content_block_start\",\"content_block\":7}\n\n",
    ] {
        let error = trial().decode(&Anthropic, body.as_bytes()).unwrap_err();
        assert!(error.is_garbled(), "{body}");
    }
}

/// The error of a sample on one line.
fn error(path: &str) -> String {
    let sample = sample(path);
    let (head, body) = sample.split_once("\n\n").unwrap();
    let mut lines = head.lines();
    let status = lines
        .next()
        .and_then(|line| line.split(' ').nth(1))
        .unwrap();
    let mut headers = HeaderMap::new();
    for line in lines {
        let (name, value) = line.split_once(": ").unwrap();
        let name: http::HeaderName = name.parse().unwrap();
        headers.insert(name, HeaderValue::from_str(value).unwrap());
    }
    let error = Anthropic.error(status.parse().unwrap(), &headers, body.as_bytes());
    let (words, _) = error.message.split_at(error.message.len().min(40));
    format!(
        "{:?} {} [{}] {:?} {:?} {:?} {words}",
        error.status,
        error.kind,
        error.code,
        error.retry_after,
        error.should_retry,
        error.request_id
    )
}

#[test]
fn error_messages_match() {
    let table = r#"
        anthropic/12_error_429_rate_limit.http     | Some(429) rate_limit_error [] Some(17s) Some(true) Some("req_011EX") This request would exceed your organizat
        anthropic/13_error_429_spend_limit.http    | Some(429) rate_limit_error [enforced_spend_limit_reached] None None Some("req_011EX") Spend limit reached.
        anthropic/14_error_529.http                | Some(529) overloaded_error [] None Some(true) Some("req_011EX") Overloaded
        anthropic/15_error_400_prefix_binding.http | Some(400) invalid_request_error [] None None Some("req_011EX") messages.1.content.0: Invalid `signature
        anthropic/16_error_400_tool_pairing.http   | Some(400) invalid_request_error [] None None Some("req_011EX") messages.2: `tool_use` ids were found wi
    "#;
    for [path, expected] in rows(table) {
        assert_eq!(error(path), expected, "{path}");
    }
}

#[test]
fn retry_after_is_read() {
    // Milliseconds, and the headers.
    let table = "
        1500  | retry-after-ms: 1500; retry-after: 9
        9000  | retry-after-ms: soon; retry-after: 9
        500   | retry-after: 0.5
        -     | retry-after: -1
        -     | retry-after: 1e300
        30000 | retry-after: Sun, 22 Nov 2026 10:00:30 GMT; date: Sun, 22 Nov 2026 10:00:00 GMT
        0     | retry-after: Sun, 22 Nov 2026 09:00:00 GMT; date: Sun, 22 Nov 2026 10:00:00 GMT
        -     | retry-after: Sun, 22 Nov 2026 10:00:30 GMT
        -     |
    ";
    for [expected, list] in rows(table) {
        let mut headers = HeaderMap::new();
        for header in list.split("; ").filter(|header| !header.is_empty()) {
            let (name, value) = header.split_once(": ").unwrap();
            headers.insert(
                name.parse::<http::HeaderName>().unwrap(),
                value.parse().unwrap(),
            );
        }
        let wait = Anthropic.error(429, &headers, b"").retry_after;
        let expected = expected.parse().ok().map(std::time::Duration::from_millis);
        assert_eq!(wait, expected, "{list}");
    }
}

#[test]
fn foreign_bodies_are_quoted_in_part() {
    let body = format!("<html>\u{7}\n{}", "x".repeat(500));
    let error = Anthropic.error(502, &HeaderMap::new(), body.as_bytes());
    assert_eq!(error.message, format!("<html>{}", "x".repeat(194)));
    let told = |body: &[u8]| Anthropic.error(400, &HeaderMap::new(), body).message;
    assert_eq!(told(br#"{"error":"no such model"}"#), "no such model");
    assert_eq!(told(br#"{"error":null}"#), r#"{"error":null}"#);
}

#[test]
fn lists_state_abilities() {
    let mut page = json_sample("anthropic/23_models_list.json");
    let (listed, next) = Anthropic.models(&page).unwrap();
    let [ListedModel { model, abilities }] = &listed[..] else {
        panic!("{listed:?}");
    };
    assert_eq!((model.as_str(), next), ("claude-opus-5-5", None));
    let mut known = Abilities::default();
    known.take(abilities);
    let expected = Abilities {
        forced_tools: ForcedToolSupport::Yes,
        system_messages: false,
        prices: None,
        ..super::abilities()
    };
    assert_eq!(known, expected);

    page["has_more"] = json!(true);
    let (_, next) = Anthropic.models(&page).unwrap();
    assert_eq!(
        Anthropic.models_path(next.as_deref()),
        "/v1/models?limit=1000&after_id=claude-opus-5-5"
    );
    assert_eq!(Anthropic.models_path(None), "/v1/models?limit=1000");

    page["data"][0]["capabilities"] = json!(null);
    let (listed, _) = Anthropic.models(&page).unwrap();
    assert_eq!(listed[0].abilities.context_window, Some(1_000_000));
    assert_eq!(listed[0].abilities.reasoning, None);
    assert!(Anthropic.models(&json!([])).is_err());
}

#[test]
fn a_summary_is_whole_at_once_and_its_tokens_are_told_apart() {
    let block =
        json!({"type": "compaction", "content": "## Goal", "signature": "ErX", "tool_changes": []});
    let iteration = json!({
        "type": "compaction",
        "input_tokens": 40,
        "cache_read_input_tokens": 149_100,
        "cache_creation_input_tokens": 900,
        "output_tokens": 3_900,
    });
    let usage = json!({"input_tokens": 0, "output_tokens": 0, "iterations": [iteration]});
    let body = stream(&[
        json!({"type": "message_start", "message": {"usage": {"input_tokens": 0}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": block}),
        json!({"type": "content_block_stop", "index": 0}),
        json!({"type": "message_delta", "delta": {"stop_reason": "compaction"}, "usage": usage}),
        json!({"type": "message_stop"}),
    ]);
    let told = shown(&trial(), &body);
    for part in [
        "0 compaction\n",
        "0 + ## Goal\n",
        &format!("0 . {block}\n"),
        "usage 40 149100 900 3900 $0.11248\n",
        "Stop",
    ] {
        assert!(told.contains(part), "{part}: {told}");
    }
}
