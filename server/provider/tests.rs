//! Tests for every API.

mod forms;
mod mixed;

use std::{collections::HashSet, sync::Arc, time::Duration};

use aside_base::api::ApiKind;
use aside_model_server::{ServedApi as Wire, play::ModelReply};
use aside_turn::response::{Finish, Kind, Piece, Response};
use serde_json::json;

use super::{
    FindKey,
    api::WireApi,
    client::HttpClient,
    models::built_in,
    open::http,
    trial::{ProviderTrial, grep_tool, options},
};

const ALL: [(ApiKind, Wire); 5] = [
    (ApiKind::Anthropic, Wire::Anthropic),
    (ApiKind::OpenaiResponses, Wire::OpenaiResponses),
    (ApiKind::OpenaiChat, Wire::OpenaiChat),
    (ApiKind::Google, Wire::Gemini),
    (ApiKind::Ollama, Wire::Ollama),
];

/// A conversation with a model of this API.
fn talk(kind: ApiKind) -> (Arc<dyn WireApi>, ProviderTrial) {
    let options = options("p/m", built_in(kind, "m"));
    let no_key: FindKey = Arc::new(|| Box::pin(async { Ok(None) }));
    let http = http(kind, options, HttpClient::default(), no_key).unwrap();
    let mut trial = ProviderTrial::new(http.options, "", vec![grep_tool()]);
    trial.user("Go.");
    (http.api, trial)
}

#[test]
fn five_thousand_calls_keep_distinct_ids() {
    let calls = 5_000 - 5_000_usize.div_ceil(3) + 1;
    for (kind, wire) in ALL {
        let (api, mut trial) = talk(kind);
        let mut play = ModelReply::new("m");
        for at in 0..5_000 {
            // Every third call has a unique id, and every third none. The others are one call, said again and again.
            let id = [format!("call_{at}"), "again".into(), String::new()][at % 3].clone();
            play = play.call(&id, "no_such_tool", r#"{"a":1}"#);
        }
        let body = play.stream(wire);
        let mut response = Response::default();
        let mut finish = None;
        for piece in trial.decode(api.as_ref(), &body).unwrap() {
            if let Piece::Finish(end) = &piece {
                finish = Some(end.clone());
            }
            response.add(piece);
        }
        assert_eq!(finish, Some(Finish::ToolUse), "{kind:?}");
        let ids: HashSet<&str> = response
            .complete_calls()
            .filter_map(|item| match &item.kind {
                Kind::ToolCall { id, .. } => Some(id.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(ids.len(), calls, "{kind:?}");
        trial.response(api.as_ref(), &body).request();
        let sent = trial.body(api.as_ref()).to_string();
        assert_eq!(sent.matches("no_such_tool").count(), calls, "{kind:?}");
    }
}

/// Quadratic work would take minutes.
#[test]
fn decoding_time_is_linear() {
    for (kind, wire) in ALL {
        let (api, trial) = talk(kind);
        // Split into twenty thousand pieces.
        let text = "0123456789abcdef".repeat(20_000);
        let body = ModelReply::new("m").text(text).stream(wire);
        let before = std::time::Instant::now();
        let found = trial.decode(api.as_ref(), &body).unwrap();
        let words = found.iter().filter_map(|piece| match piece {
            Piece::Delta { text, .. } => Some(text.len()),
            _ => None,
        });
        assert_eq!(words.sum::<usize>(), 320_000, "{kind:?}");
        assert!(before.elapsed() < Duration::from_secs(30), "{kind:?}");
    }
}

/// One document instead of a stream: text, a call and a finish reason.
#[test]
fn unstreamed_responses_are_decoded() {
    let anthropic = r#"{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"text","text":"Look."},
        {"type":"tool_use","id":"a","name":"x","input":{"p":1}}],"stop_reason":"tool_use","usage":{"input_tokens":5,"output_tokens":6}}"#;
    let responses = r#"{"object":"response","id":"resp_1","status":"completed","output":[
        {"type":"message","id":"m","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Look."}]},
        {"type":"function_call","id":"f","call_id":"a","name":"x","arguments":"{\"p\":1}","status":"completed"}],
        "usage":{"input_tokens":5,"output_tokens":6}}"#;
    let chat = r#"{"id":"c1","object":"chat.completion","choices":[{"index":0,"finish_reason":"tool_calls","message":
        {"role":"assistant","content":"Look.","tool_calls":[{"id":"a","type":"function","function":{"name":"x","arguments":"{\"p\":1}"}}]}}],
        "usage":{"prompt_tokens":5,"completion_tokens":6}}"#;
    let gemini = r#"[{"candidates":[{"content":{"role":"model","parts":[{"text":"Look."},
        {"functionCall":{"id":"a","name":"x","args":{"p":1}}}]},"finishReason":"STOP"}],
        "usageMetadata":{"promptTokenCount":5,"candidatesTokenCount":6}}]"#;
    let ollama = r#"{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"Look.","tool_calls":[{"id":"a","function":{"name":"x","arguments":{"p":1}}}]},"done":true,"done_reason":"stop","prompt_eval_count":5,"eval_count":6}"#;
    for ((kind, _), document) in ALL
        .into_iter()
        .zip([anthropic, responses, chat, gemini, ollama])
    {
        let (api, trial) = talk(kind);
        let pieces = trial.decode(api.as_ref(), document.as_bytes());
        let pieces = pieces.unwrap_or_else(|error| panic!("{kind:?}: {error:?}"));
        assert_eq!(
            pieces.last(),
            Some(&Piece::Finish(Finish::ToolUse)),
            "{kind:?}"
        );
        let mut response = Response::default();
        pieces.into_iter().for_each(|piece| response.add(piece));
        assert_eq!(response.text(), "Look.", "{kind:?}");
        let calls: Vec<_> = response.complete_calls().collect();
        let [call] = calls[..] else {
            panic!("{kind:?}: {calls:?}");
        };
        let expected = Kind::ToolCall {
            id: "a".into(),
            name: "x".into(),
        };
        assert_eq!((&call.kind, call.text.as_str()), (&expected, r#"{"p":1}"#));
        assert_eq!((response.usage.input, response.usage.output), (5, 6));
    }
}

/// Text of the model, and the reasoning and text that it is separated into.
const TAGGED: [(&str, &str, &str); 4] = [
    (
        "<think>\nHm. €</think>\n\nLook <think> twice.",
        "Hm. €",
        "Look <think> twice.",
    ),
    ("<think>All.</think>", "All.", ""),
    ("Say <think>this</think>.", "", "Say <think>this</think>."),
    ("<thin ice", "", "<thin ice"),
];

#[test]
fn think_tags_are_separated_in_all_apis_of_llamacpp() {
    for (kind, wire) in &ALL[..3] {
        for (text, reasoning, words) in TAGGED {
            let (api, mut trial) = talk(*kind);
            let play = ModelReply::new("m").text(text);
            let body = play
                .call("call_1", "fs_grep", r#"{"path":"a"}"#)
                .stream(*wire);
            let mut response = Response::default();
            for piece in trial.decode(api.as_ref(), &body).unwrap() {
                response.add(piece);
            }
            let of = |wanted: Kind| -> String {
                let items = response.items.iter().filter(|item| item.kind == wanted);
                items.map(|item| item.text.as_str()).collect()
            };
            assert_eq!(
                (of(Kind::Reasoning).as_str(), response.text().as_str()),
                (reasoning, words),
                "{kind:?}"
            );
            let call = response.complete_calls().next().unwrap();
            assert_eq!(call.text, r#"{"path":"a"}"#, "{kind:?}");
            // Reasoning is not part of the history that the model receives.
            trial
                .response(api.as_ref(), &body)
                .results(&[(0, "Found.", false)]);
            let sent = trial.body(api.as_ref()).to_string();
            assert_eq!(
                sent.contains("think>"),
                words.contains("think>"),
                "{kind:?}: {sent}"
            );
        }
    }
}

#[test]
fn context_windows_are_read_in_every_list_format() {
    for (said, expected) in [
        (
            json!({"id": "m", "meta": {"n_ctx": 4096, "n_ctx_train": 131_072}}),
            Some(4096),
        ),
        (json!({"id": "m", "max_input_tokens": 32_768}), Some(32_768)),
        (json!({"id": "m", "max_model_len": 8192}), Some(8192)),
        (json!({"id": "m", "meta": null}), None),
    ] {
        for (kind, _) in &ALL[..3] {
            let (api, _) = talk(*kind);
            let (listed, _) = api.models(&json!({"data": [said]})).unwrap();
            assert_eq!(
                listed[0].abilities.context_window, expected,
                "{kind:?}: {said}"
            );
        }
    }
}

/// Any bytes of a server are decoded or rejected.
#[test]
fn fuzzed_responses_are_decoded_or_rejected() {
    for (kind, wire) in ALL {
        let folder = format!("tests/model_server/wire/{}", wire.name());
        let mut read = 0;
        for (path, bytes) in aside_test_fuzz::corpus(&folder, &[".sse", ".ndjson"]) {
            let (api, trial) = talk(kind);
            for damaged in aside_test_fuzz::damaged(&bytes, 150) {
                let decoded = trial.decode(api.as_ref(), &damaged);
                let pieces = decoded.unwrap_or_default();
                let mut response = Response::default();
                for piece in pieces {
                    response.add(piece);
                }
                read += usize::from(!response.items.is_empty());
            }
            assert!(read > 0, "{}: nothing is left to read", path.display());
        }
    }
}
