use aside_model_server as model_server;
use model_server::check::{CheckedRequest, EarlierReplies, check};

use super::*;

/// Items from the provider are sent back byte for byte.
#[test]
fn signed_parts_are_sent_verbatim() {
    let odd =
        r#"{"text" : "b\u00e9", "thoughtSignature":"s/+=", "partMetadata": {"z":1.0e2,"a":[ ]}}"#;
    let stream = format!(
        "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{{\"text\":\"a\"}},{odd},{{\"text\":\"c\"}}]}},\
         \"finishReason\":\"STOP\"}}]}}\n\n"
    );
    let mut trial = trial(argon());
    trial.response(&Google, stream.as_bytes()).user("And?");
    let bytes = String::from_utf8(trial.bytes(&Google)).unwrap();
    let expected = format!(r#"{{"role":"model","parts":[{{"text":"a"}},{odd},{{"text":"c"}}]}}"#);
    assert!(bytes.contains(&expected), "{bytes}");
}

#[test]
fn foreign_models_receive_neither_reasoning_nor_signatures() {
    let mut trial = trial(argon());
    trial.response(&Google, sample(CALLS).as_bytes());
    trial.results(&[(0, "x", false), (1, "y", false)]);
    trial.response(&Google, sample(SIGNED).as_bytes());
    trial.transcript.change();
    trial.user("And?");
    let call = |id: &str, path: &str| json!({"id": id, "name": "fs_grep", "args": {"path": path, "pattern": "retry_after"}});
    let result = |id: &str, what: &str| json!({"functionResponse": {"id": id, "name": "fs_grep", "response": {"output": what}}});
    let expected = json!([
        {"role": "user", "parts": [{"text": "Where is retry_after parsed?"}]},
        {"role": "model", "parts": [
            {"functionCall": call("fc-1", "crates/a"), "thoughtSignature": "skip_thought_signature_validator"},
            {"functionCall": call("fc-2", "crates/b")},
        ]},
        {"role": "user", "parts": [result("fc-1", "x"), result("fc-2", "y")]},
        {"role": "model", "parts": [{"text": "It is in error.rs."}]},
        {"role": "user", "parts": [{"text": "And?"}]},
    ]);
    assert_eq!(trial.body(&Google)["contents"], expected);
}

#[test]
fn generated_ids_are_not_sent() {
    let calls = parts(
        json!([{"functionCall": {"name": "fs_grep", "args": {}}}]),
        "STOP",
    );
    let expected = |call: Value| {
        json!([
            {"role": "user", "parts": [{"text": "Where is retry_after parsed?"}]},
            {"role": "model", "parts": [call]},
            {"role": "user", "parts": [{"functionResponse": {"name": "fs_grep", "response": {"output": "x"}}}]},
        ])
    };
    let mut trial = trial(argon());
    trial
        .response(&Google, calls.as_bytes())
        .results(&[(0, "x", false)]);
    let call = json!({"functionCall": {"name": "fs_grep", "args": {}}});
    assert_eq!(trial.body(&Google)["contents"], expected(call.clone()));
    trial.transcript.change();
    let mut signed = call;
    signed["thoughtSignature"] = "skip_thought_signature_validator".into();
    assert_eq!(trial.body(&Google)["contents"], expected(signed));
}

#[test]
fn paused_responses_continue_with_their_token() {
    let paused = json!({"candidates": [{
        "content": {"parts": [{"text": "long"}]}, "finishReason": "CONTINUATION", "continuationToken": "t/1\"",
    }]});
    let mut trial = trial(argon());
    trial
        .response(&Google, chunks(&[paused]).as_bytes())
        .request();
    let body = trial.body(&Google);
    assert_eq!(body["continuationToken"], "t/1\"");
    assert_eq!(
        body["contents"][1],
        json!({"role": "model", "parts": [{"text": "long"}]})
    );
    trial.response(
        &Google,
        parts(json!([{"text": " output"}]), "STOP").as_bytes(),
    );
    trial.user("And?");
    let body = trial.body(&Google);
    assert!(body.get("continuationToken").is_none(), "{body}");
    assert_eq!(
        body["contents"][2],
        json!({"role": "model", "parts": [{"text": " output"}]})
    );
}

#[test]
fn results_precede_user_text_in_a_separate_content() {
    let mut trial = trial(argon());
    trial.response(&Google, sample(CALLS).as_bytes());
    trial.directive("Hurry.").steer("Also b.");
    trial.results(&[(1, "y", false), (0, "", true)]);
    let body = trial.body(&Google);
    let result = |id: &str, response: Value| json!({"functionResponse": {"id": id, "name": "fs_grep", "response": response}});
    assert_eq!(
        body["contents"][2]["parts"],
        json!([
            result("fc-1", json!({"error": ""})),
            result("fc-2", json!({"output": "y"})),
        ])
    );
    let said = json!({"role": "user", "parts": [{"text": "Hurry."}, {"text": "Also b."}]});
    assert_eq!(body["contents"][3], said);
    assert_eq!(body["contents"].as_array().unwrap().len(), 4);
}

#[test]
fn inquiries_append_to_the_history() {
    let mut trial = trial(argon());
    trial.response(&Google, sample(CALLS).as_bytes());
    let main = trial.bytes(&Google);
    let result = |id: &str| CallResult {
        id: id.into(),
        name: "fs_grep".into(),
        content: "Tool still running.".into(),
        is_error: false,
    };
    let reply = Item {
        kind: Kind::Text,
        text: String::new(),
        opaque: Some(r#"{"text":"Yes?","thoughtSignature":"q"}"#.into()),
        complete: true,
    };
    trial.messages = vec![
        Message::User {
            results: vec![result("fc-1"), result("fc-2")],
            text: "May I?".into(),
        },
        Message::Assistant(vec![reply]),
        Message::User {
            results: Vec::new(),
            text: "Call it.".into(),
        },
    ];
    let fork = trial.bytes(&Google);
    let shared = main.len() - "]}".len();
    assert_eq!(fork[..shared], main[..shared]);
    let body = trial.body(&Google);
    let shown: Vec<String> = body["contents"].as_array().unwrap()[2..]
        .iter()
        .map(Value::to_string)
        .collect();
    let expected = [
        r#"{"role":"user","parts":[{"functionResponse":{"id":"fc-1","name":"fs_grep","response":{"output":"Tool still running."}}},{"functionResponse":{"id":"fc-2","name":"fs_grep","response":{"output":"Tool still running."}}}]}"#,
        r#"{"role":"user","parts":[{"text":"May I?"}]}"#,
        r#"{"role":"model","parts":[{"text":"Yes?","thoughtSignature":"q"}]}"#,
        r#"{"role":"user","parts":[{"text":"Call it."}]}"#,
    ];
    assert_eq!(shown, expected);
}

/// Each request begins with the bytes of the previous one, up to the end of its history.
#[test]
fn each_request_extends_the_previous_one() {
    let mut trial = trial(argon());
    let mut before: Vec<u8> = Vec::new();
    let without = parts(json!([{"functionCall": {"name": "fs_grep"}}]), "STOP");
    for round in 0..60 {
        let bytes = trial.bytes(&Google);
        assert!(bytes.starts_with(&before), "in round {round}");
        assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
        before = bytes[..bytes.len() - "]}".len()].to_vec();
        let calls = round / 3 * 3;
        match round % 3 {
            0 => {
                trial.response(&Google, sample(CALLS).as_bytes());
                trial.results(&[(calls, "x", false), (calls + 1, "y", true)]);
            }
            1 => {
                trial.response(&Google, without.as_bytes());
                trial.steer("More.").results(&[(calls + 2, "z", false)]);
            }
            _ => {
                trial
                    .response(&Google, sample(SIGNED).as_bytes())
                    .user("Go on.");
            }
        }
    }
}

/// The parts of a response that must be sent back verbatim.
fn given(stream: &str) -> Vec<Value> {
    let chunks = stream
        .lines()
        .filter_map(|line| line.strip_prefix("data: "));
    let parts = chunks.flat_map(|chunk| {
        let mut chunk: Value = serde_json::from_str(chunk).unwrap();
        let parts = chunk["candidates"][0]["content"]["parts"].take();
        parts.as_array().cloned().unwrap_or_default()
    });
    let kept = |part: &Value| part.get("text").is_none() || part.get("thoughtSignature").is_some();
    parts.filter(kept).collect()
}

/// A long conversation follows the rules of the API, in native form and after a change of model.
#[test]
fn long_conversations_follow_the_rules() {
    let mut trial = trial(argon());
    let anonymous = json!([{"functionCall": {"name": "fs_grep"}, "thoughtSignature": "s3"}]);
    let streams = [sample(CALLS), parts(anonymous, "STOP"), sample(SIGNED)];
    let mut seen = EarlierReplies::default();
    for (round, stream) in (0..12).zip(streams.iter().cycle()) {
        let body = trial.body(&Google);
        let request = CheckedRequest::to(model_server::ServedApi::Gemini, "gemini-4-argon", &body);
        let wrong = check(&request, &seen);
        assert!(wrong.is_empty(), "round {round}: {wrong:?} {body}");
        seen.response(&request, &given(stream));
        trial.response(&Google, stream.as_bytes());
        if round == 7 {
            // The results of earlier calls arrive after the change.
            trial.transcript.change();
        }
        let calls = round / 3 * 3;
        match round % 3 {
            0 => trial
                .directive("Hurry.")
                .results(&[(calls, "x", false), (calls + 1, "y", true)]),
            1 => trial.steer("More.").results(&[(calls + 2, "z", false)]),
            _ => trial.user("Go on."),
        };
    }
    let answer = json!({"const": "yes", "pattern": "a"});
    trial.schema = Some(json!({"type": "object", "properties": {"answer": answer}}));
    let body = trial.body(&Google);
    let request = CheckedRequest::to(model_server::ServedApi::Gemini, "gemini-4-argon", &body);
    assert_eq!(check(&request, &seen), Vec::<String>::new());
}
