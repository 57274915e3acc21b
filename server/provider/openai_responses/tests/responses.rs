//! Tests of how responses are decoded.

use aside_turn::response::{Finish, Kind, Piece, Response};

use super::*;
use crate::{api::WireApi as _, options::CacheRetention, retry::ApiError, trial::json_sample};

/// The pieces of a response, one per line.
fn shown(body: &str) -> String {
    conversation(sol()).check_cuts(&API, body.as_bytes());
    shown_with(sol(), body)
}

fn shown_with(options: ModelOptions, body: &str) -> String {
    match conversation(options).decode(&API, body.as_bytes()) {
        Ok(pieces) => {
            let lines: Vec<String> = pieces.iter().filter_map(line).collect();
            lines.join("\n")
        }
        Err(error) => told(&error),
    }
}

fn line(piece: &Piece) -> Option<String> {
    Some(match piece {
        Piece::Open { slot, kind } => match kind {
            Kind::ToolCall { id, name } => format!("{slot} call {name} {id}"),
            kind => format!("{slot} {kind:?}"),
        },
        Piece::Delta { slot, text } => format!("{slot} + {text:?}"),
        Piece::Anew { slot, name, text } => format!("{slot} anew {name} {text:?}"),
        Piece::Close {
            slot,
            opaque,
            complete,
        } => {
            let kept = opaque.as_ref().map_or(String::new(), |opaque| {
                let item: serde_json::Value = serde_json::from_str(opaque).unwrap();
                format!(", kept {}", item["id"].as_str().unwrap_or("without an id"))
            });
            let cut = if *complete { "" } else { ", cut" };
            format!("{slot} end{cut}{kept}")
        }
        Piece::Usage(usage) => format!(
            "usage {}+{}r+{}w {} ${:.7}",
            usage.input,
            usage.cache_read,
            usage.cache_write,
            usage.output,
            usage.cost.unwrap_or_default()
        ),
        Piece::KeepAlive => return None,
        Piece::Finish(finish) => format!("{finish:?}"),
    })
}

fn told(error: &ApiError) -> String {
    let ApiError {
        kind,
        code,
        message,
        param,
        request_id,
        ..
    } = error;
    let id = request_id.as_deref().unwrap_or("-");
    format!("error {kind}/{code}/{param} of {id}: {message}")
}

#[test]
fn reasoning_text_and_a_call_are_decoded() {
    let expected = r#"
0 Reasoning
0 + "**Locating the parser**\n\n"
0 + "Search crates."
0 end, kept rs_01
1 Text
1 + "Look"
1 + "ing."
1 end, kept msg_01
2 call fs_grep call_A1
2 + "{\"path\":\"crates/a\","
2 + "\"pattern\":\"retry_after\"}"
2 end, kept fc_01
usage 3+4064r+20w 154 $0.0020024
ToolUse"#;
    assert_eq!(shown(&sample(CALL)), expected.trim_start());
}

#[test]
fn long_cache_writes_are_counted_separately() {
    let body = sample(CALL).replace(
        r#""ttl_30m_tokens":20,"ttl_12h_tokens":0"#,
        r#""ttl_30m_tokens":5,"ttl_12h_tokens":15"#,
    );
    let cost = |options: ModelOptions, body: &str| {
        let all = shown_with(options, body);
        let usage = all.lines().find(|line| line.starts_with("usage"));
        usage.unwrap().to_owned()
    };
    assert_eq!(cost(sol(), &body), "usage 3+4064r+20w 154 $0.0020399");
    // A server that does not state the lifetime is assumed to use the requested one.
    let silent = body.replace(
        r#","cache_write_tokens_details":{"ttl_30m_tokens":5,"ttl_12h_tokens":15}"#,
        "",
    );
    assert_ne!(silent, body);
    assert_eq!(cost(sol(), &silent), "usage 3+4064r+20w 154 $0.0020024");
    let long = ModelOptions {
        cache: CacheRetention::Long,
        ..sol()
    };
    assert_eq!(cost(long, &silent), "usage 3+4064r+20w 154 $0.0020524");
}

#[test]
fn truncated_calls_are_incomplete() {
    let expected = r#"
0 call fs_grep call_A1
0 + "{\"pat"
0 end, cut
usage 3+4064r+20w 154 $0.0020024
MaxTokens"#;
    let body = sample("openai_responses/04_stream_incomplete.sse");
    assert_eq!(shown(&body), expected.trim_start());
    for (reason, finish) in [
        ("content_filter", "ContentFilter"),
        ("max_messages", "Other(\"max_messages\")"),
        ("a new one", "Other(\"a new one\")"),
    ] {
        let other = body.replace(
            r#"{"reason":"max_output_tokens"}"#,
            &format!(r#"{{"reason":"{reason}"}}"#),
        );
        assert_eq!(shown(&other).lines().last(), Some(finish));
    }
    let silent = body.replace(r#"{"reason":"max_output_tokens"}"#, "null");
    assert_eq!(shown(&silent).lines().last(), Some("Other(\"incomplete\")"));
}

#[test]
fn refusals_finish_as_refused() {
    let expected = r#"
0 Text
0 + "I can't help with that."
0 end, kept msg_02
usage 3+4064r+20w 154 $0.0020024
Refusal"#;
    let body = sample("openai_responses/07_stream_refusal.sse");
    assert_eq!(shown(&body), expected.trim_start());
}

#[test]
fn responses_in_the_last_event_are_decoded() {
    let expected = r#"
0 Text
0 + "Looking."
0 end, kept msg_01
usage 3+4064r+20w 154 $0.0020024
Stop"#;
    let body = sample("openai_responses/13_stream_transforms_and_cache_miss.sse");
    assert_eq!(shown(&body), expected.trim_start());
}

#[test]
fn errors_in_a_stream_are_reported() {
    let table = [
        (
            sample("openai_responses/05_stream_failed.sse"),
            "error /server_error/ of resp_01: The model failed to generate a response.",
        ),
        (
            sample("openai_responses/06_stream_error_event.sse"),
            "error /rate_limit_exceeded/ of resp_01: Rate limit reached.",
        ),
        (
            stream(&[
                r#"{"error":{"message":"No.","type":"invalid_request_error","param":"tools","code":7}}"#,
            ]),
            "error invalid_request_error/7/tools of -: No.",
        ),
        (
            stream(&[
                r#"{"type":"error","error":{"message":"Busy.","type":"server_error","code":null}}"#,
            ]),
            "error server_error// of -: Busy.",
        ),
        (
            stream(&[r#"{"error":"out of memory"}"#]),
            "error // of -: out of memory",
        ),
        (
            "{\"error\": {\"message\": \"No events at all.\"}}\n".to_owned(),
            "error // of -: No events at all.",
        ),
        (
            stream(&[r#"{"type":"response.failed","response":{"error":null}}"#]),
            "error // of -: the response failed, and the server gives no reason",
        ),
        (stream(&["[DONE]"]), "error aside.cut// of -: "),
        (String::new(), "error aside.cut// of -: "),
        (
            stream(&[
                r#"{"type":"response.created","response":{"id":"r"}}"#,
                "[DONE]",
            ]),
            "error aside.cut// of -: ",
        ),
    ];
    for (body, expected) in table {
        let error = conversation(sol())
            .decode(&API, body.as_bytes())
            .unwrap_err();
        assert_eq!(told(&error), expected, "{body}");
    }
    let garbled = stream(&["{\"type\":"]) + &stream(&["{}"]);
    let error = conversation(sol())
        .decode(&API, garbled.as_bytes())
        .unwrap_err();
    assert!(error.is_garbled(), "{error:?}");
}

#[test]
fn reasoning_parts_become_paragraphs_and_message_parts_are_joined() {
    let body = stream(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"reasoning","status":null,"summary":[]}}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"One"}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":0,"delta":"."}"#,
        r#"{"type":"response.reasoning_summary_text.delta","output_index":0,"summary_index":1,"delta":"Two."}"#,
        r#"{"type":"response.reasoning_text.delta","output_index":0,"content_index":0,"delta":"Three."}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"message","content":[]}}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":0,"delta":"Four."}"#,
        r#"{"type":"response.output_text.delta","output_index":1,"content_index":1,"delta":"Five."}"#,
        r#"{"type":"response.completed","response":{"output":null,"usage":null}}"#,
    ]);
    let expected = r#"
0 Reasoning
0 + "One"
0 + "."
0 + "\n\nTwo."
0 + "\n\nThree."
1 Text
1 + "Four."
1 + "Five."
0 end, cut
1 end, cut
Stop"#;
    assert_eq!(shown(&body), expected.trim_start());
}

#[test]
fn unknown_items_are_kept_and_unknown_events_ignored() {
    let body = stream(&[
        r#"{"type":"response.queued","response":{"id":null}}"#,
        r#"{"type":"response.quantum.delta","delta":{"spin":1},"output_index":"up"}"#,
        r#"{"type":"response.output_item.added","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"in_progress"}}"#,
        r#"{"type":"response.web_search_call.searching","output_index":0,"item_id":"ws_1"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"id":"ws_1","type":"web_search_call","status":"completed","action":{"type":"search"}}}"#,
        r#"{"type":"response.output_item.done","output_index":1,"item":{"id":"cmp_1","type":"compaction","encrypted_content":"x"}}"#,
        r#"{"type":"response.completed","response":{"output":[{"id":"ws_1","type":"web_search_call"}],"usage":"none","surprise":[]}}"#,
    ]);
    let expected = "0 Opaque\n0 end, kept ws_1\n1 Compaction\n1 end, kept cmp_1\nStop";
    assert_eq!(shown(&body), expected);
}

#[test]
fn partial_event_sequences_are_decoded() {
    // No index, no deltas, no end of the second item; ids missing or repeated.
    let call = r#"{"type":"response.output_item.done","item":{"type":"function_call","call_id":"","name":"fs_grep","arguments":"{}"}}"#;
    let body = stream(&[
        r#"{"type":"response.created","response":{"id":"resp_7"}}"#,
        r#"{"type":"response.output_item.added","item":{"type":"message","content":null}}"#,
        r#"{"type":"response.output_item.done","item":{"id":"m","type":"message","content":[{"type":"output_text","text":"Hm."}]}}"#,
        r#"{"type":"response.output_item.added","output_index":1,"item":{"type":"function_call","call_id":"c","name":"fs_grep"}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":1,"delta":"{\"a\":"}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":9,"delta":"{"}"#,
        r#"{"type":"response.output_item.added","output_index":2,"item":{"type":"function_call","call_id":"c","name":"fs_grep"}}"#,
        r#"{"type":"response.output_item.done","output_index":2,"item":{"type":"function_call","call_id":"c","name":"fs_grep","arguments":"{}"}}"#,
        call,
        r#"{"type":"response.completed","response":{"output":[{"type":"message"},{"type":"function_call","id":"f","call_id":"c","name":"fs_grep","arguments":"{\"a\":1}"}],"usage":{"input_tokens":5,"output_tokens":6,"input_tokens_details":null}}}"#,
    ]);
    let expected = r#"
0 Text
0 + "Hm."
0 end, kept m
1 call fs_grep c
1 + "{\"a\":"
2 call fs_grep aside-resp7-1
2 + "{}"
1 + "1}"
3 call fs_grep aside-resp7-2
3 + "{}"
1 end, kept f
3 end
2 end
usage 5+0r+0w 6 $0.0000700
ToolUse"#;
    assert_eq!(shown(&body), expected.trim_start());
    // An invalid item.
    let body = stream(&[
        r#"{"type":"response.output_item.done","output_index":0,"item":null}"#,
        r#"{"type":"response.completed","response":{}}"#,
    ]);
    assert_eq!(shown(&body), "0 Opaque\n0 end\nStop");
    // Text without an item.
    let body = stream(&[
        r#"{"type":"response.output_item.done","item":{"id":"r","type":"reasoning","encrypted_content":"x"}}"#,
        r#"{"type":"response.output_text.delta","delta":"Hi."}"#,
        r#"{"type":"response.completed","response":{}}"#,
    ]);
    assert_eq!(
        shown(&body),
        "0 Reasoning\n0 end, kept r\n1 Text\n1 + \"Hi.\"\n1 end, cut\nStop"
    );
}

#[test]
fn the_final_arguments_replace_streamed_ones() {
    let body = stream(&[
        r#"{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","call_id":"c","name":"fs_grep"}}"#,
        r#"{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"a\":1}"}"#,
        r#"{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"c","name":"fs_grep","arguments":"{\"a\": 2}"}}"#,
        r#"{"type":"response.completed","response":{}}"#,
    ]);
    assert_eq!(
        shown(&body),
        "0 call fs_grep c\n0 + \"{\\\"a\\\":1}\"\n0 anew fs_grep \"{\\\"a\\\": 2}\"\n0 end, kept without an id\nToolUse"
    );
}

#[test]
fn reasoning_without_encrypted_content_is_not_kept() {
    let table = [
        (r#""encrypted_content":"x""#, "0 end, kept r"),
        (r#""encrypted_content":null"#, "0 end"),
        (r#""summary":[]"#, "0 end"),
        (
            r#""status":"incomplete","encrypted_content":"x""#,
            "0 end, cut",
        ),
        (
            r#""content":[{"type":"reasoning_text","text":""}]"#,
            "0 end, kept r",
        ),
    ];
    for (members, expected) in table {
        let item = format!(r#"{{"id":"r","type":"reasoning",{members}}}"#);
        let body = stream(&[
            &format!(r#"{{"type":"response.output_item.done","output_index":0,"item":{item}}}"#),
            r#"{"type":"response.completed","response":{}}"#,
        ]);
        assert_eq!(shown(&body), format!("0 Reasoning\n{expected}\nStop"));
    }
}

#[test]
fn error_bodies_are_parsed_and_others_quoted() {
    let read = |path: &str| {
        let text = sample(path);
        let (head, body) = text.split_once("\n\n").unwrap();
        let mut headers = http::HeaderMap::new();
        for line in head.lines().skip(1) {
            let (name, value) = line.split_once(": ").unwrap();
            let name: http::HeaderName = name.parse().unwrap();
            headers.insert(name, value.parse().unwrap());
        }
        API.error(429, &headers, body.as_bytes())
    };
    let error = read("openai_responses/10_error_429.http");
    assert_eq!(
        told(&error),
        "error tokens/rate_limit_exceeded/ of req_abc: Rate limit reached for gpt-6.1-sol."
    );
    assert_eq!(
        (error.status, error.retry_after),
        (Some(429), Some(std::time::Duration::from_millis(5800)))
    );
    let error = read("openai_responses/11_error_429_quota.http");
    assert_eq!(
        told(&error),
        "error insufficient_quota/insufficient_quota/ of req_abd: You exceeded your current quota."
    );
    assert_eq!(error.retry_after, None);
    let foreign = API.error(502, &http::HeaderMap::new(), b"<html>\x1b[1mBad\r\ngateway");
    assert_eq!(told(&foreign), "error // of -: <html>[1mBadgateway");
}

#[test]
fn model_lists_are_parsed() {
    let (listed, next) = API
        .models(&json_sample("openai_responses/12_models_list.json"))
        .unwrap();
    let names: Vec<&str> = listed.iter().map(|listed| listed.model.as_str()).collect();
    assert_eq!((names, next), (vec!["gpt-6.1-sol"], None));
    assert_eq!(
        API.models(&serde_json::json!({"object": "list"})),
        Err("the list of models has no models in it".to_owned())
    );
}

#[test]
fn finish_is_the_last_piece() {
    let pieces = conversation(sol())
        .decode(&API, sample(CALL).as_bytes())
        .unwrap();
    let finishes = pieces
        .iter()
        .filter(|piece| matches!(piece, Piece::Finish(_)));
    assert_eq!(finishes.count(), 1);
    assert_eq!(pieces.last(), Some(&Piece::Finish(Finish::ToolUse)));
}

/// llama.cpp numbers nothing and ends all items together.
#[test]
fn unnumbered_items_are_matched_by_id() {
    let item = |state: &str, kind: &str, id: &str, rest: &str| {
        format!(
            "data: {{\"type\":\"response.output_item.{state}\",\"item\":{{\"type\":\"{kind}\",\"id\":\"{id}\"{rest}}}}}\n\n"
        )
    };
    let delta = |kind: &str, id: &str, text: &str| {
        format!(
            "data: {{\"type\":\"response.{kind}.delta\",\"item_id\":\"{id}\",\"delta\":\"{text}\"}}\n\n"
        )
    };
    let named = |id: &str| format!(r#","call_id":"{id}","name":"fs_grep""#);
    let whole = |id: &str| format!(r#"{},"arguments":"{{\"a\":1}}""#, named(id));
    let said = r#","content":[{"type":"output_text","text":"Look."}]"#;
    let body = [
        item("added", "message", "m", ""),
        delta("output_text", "m", "Look."),
        item("added", "function_call", "f1", &named("c1")),
        item("added", "function_call", "f2", &named("c2")),
        delta("function_call_arguments", "f2", r#"{\"a\":1}"#),
        delta("function_call_arguments", "f1", r#"{\"a\":1}"#),
        item("done", "message", "m", said),
        item("done", "function_call", "f1", &whole("c1")),
        item("done", "function_call", "f2", &whole("c2")),
        "data: {\"type\":\"response.completed\",\"response\":{}}\n\n".to_owned(),
    ];
    let mut response = Response::default();
    for piece in conversation(sol())
        .decode(&API, body.concat().as_bytes())
        .unwrap()
    {
        response.add(piece);
    }
    assert_eq!(response.text(), "Look.");
    let calls: Vec<_> = response.complete_calls().collect();
    assert_eq!(calls.len(), 2, "{calls:#?}");
    for (call, id) in calls.iter().zip(["c1", "c2"]) {
        let expected = Kind::ToolCall {
            id: id.into(),
            name: "fs_grep".into(),
        };
        assert_eq!((&call.kind, call.text.as_str()), (&expected, r#"{"a":1}"#));
    }
}
