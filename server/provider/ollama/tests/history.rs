use aside_model_server as model_server;
use model_server::check::{CheckedRequest, EarlierReplies, check};

use super::*;

#[test]
fn foreign_reasoning_is_omitted() {
    let mut trial = trial(qwen());
    trial.response(&Ollama, sample(CALLS).as_bytes());
    trial.results(&[(0, "x", false), (1, "no such directory", true)]);
    trial.transcript.change();
    trial.response(
        &Ollama,
        (line(json!({"content": "There."})) + &done("stop")).as_bytes(),
    );
    let call = |at: u32, id: &str, path: &str| {
        json!({"id": id, "function": {
            "index": at, "name": "fs_grep", "arguments": {"path": path, "pattern": "x"},
        }})
    };
    let result = |id: &str, what: &str| {
        json!({
            "role": "tool", "tool_name": "fs_grep", "tool_call_id": id, "content": what,
        })
    };
    let calls = [
        call(0, "call_8k2", "crates/a"),
        call(1, "call_9m1", "crates/b"),
    ];
    let expected = json!([
        {"role": "system", "content": "You are a coding agent."},
        {"role": "user", "content": "Where?"},
        {"role": "assistant", "content": "", "tool_calls": calls},
        result("call_8k2", "x"),
        result("call_9m1", "no such directory"),
        {"role": "assistant", "content": "There."},
    ]);
    assert_eq!(trial.body(&Ollama)["messages"], expected);
}

#[test]
fn results_precede_user_text() {
    let table = [
        (false, None, "user"),
        (true, None, "system"),
        (true, Some(Feature::SystemMessage), "user"),
    ];
    for (system_messages, without, role) in table {
        let mut trial = trial(qwen());
        trial.options.abilities.system_messages = system_messages;
        trial.without.extend(without);
        trial.response(&Ollama, sample(CALLS).as_bytes());
        trial.directive("Hurry.").steer("Also b.").steer("");
        trial.results(&[(1, "y", false), (0, "x", false)]);
        let body = trial.body(&Ollama);
        let said: Vec<String> = body["messages"].as_array().unwrap()[3..]
            .iter()
            .map(|message| format!("{} {}", message["role"], message["content"]).replace('"', ""))
            .collect();
        let directive = format!("{role} Hurry.");
        assert_eq!(said, ["tool x", "tool y", &directive, "user Also b."]);
    }
}

#[test]
fn arguments_are_sent_unchanged() {
    let raw = r#"{"b": 1.0e2,  "a":[ ]}"#;
    let call = format!(
        r#"{{"message":{{"tool_calls":[{{"id":"c","function":{{"name":"f","arguments":{raw}}}}}]}}}}"#
    );
    let mut trial = trial(qwen());
    trial.response(&Ollama, format!("{call}\n{}", done("stop")).as_bytes());
    trial.results(&[(0, "x", false)]);
    let bytes = String::from_utf8(trial.bytes(&Ollama)).unwrap();
    assert!(bytes.contains(&format!("\"arguments\":{raw}")), "{bytes}");
}

#[test]
fn inquiries_append_to_the_history() {
    let mut trial = trial(qwen());
    trial.response(&Ollama, sample(CALLS).as_bytes());
    let main = trial.bytes(&Ollama);
    let result = |id: &str| CallResult {
        id: id.into(),
        name: "fs_grep".into(),
        content: "Tool still running.".into(),
        is_error: false,
    };
    trial.messages = vec![Message::User {
        results: vec![result("call_8k2"), result("call_9m1")],
        text: "May I?".into(),
    }];
    let fork = trial.bytes(&Ollama);
    let shared = main.len() - "]}".len();
    assert_eq!(fork[..shared], main[..shared]);
    let body = trial.body(&Ollama);
    let messages = &body["messages"].as_array().unwrap()[3..];
    assert_eq!(messages[1]["tool_call_id"], "call_9m1");
    assert_eq!(messages[2], json!({"role": "user", "content": "May I?"}));
}

/// Each request begins with the bytes of the previous one, up to the end of its history.
#[test]
fn each_request_extends_the_previous_one() {
    let mut trial = trial(qwen());
    let answer =
        line(json!({"thinking": "Hm."})) + &line(json!({"content": "There."})) + &done("stop");
    let mut before: Vec<u8> = Vec::new();
    for round in 0..60 {
        let bytes = trial.bytes(&Ollama);
        assert!(bytes.starts_with(&before), "in round {round}");
        assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
        before = bytes[..bytes.len() - "]}".len()].to_vec();
        if round % 2 == 0 {
            trial.response(&Ollama, sample(CALLS).as_bytes());
            trial
                .steer("More.")
                .results(&[(round, "x", false), (round + 1, "y", true)]);
        } else {
            trial.response(&Ollama, answer.as_bytes()).user("Go on.");
        }
    }
}

/// A long conversation follows the rules of the API, in native form and after a change of model.
#[test]
fn long_conversations_follow_the_rules() {
    let mut trial = trial(qwen());
    let anonymous =
        line(json!({"tool_calls": [{"function": {"name": "fs_grep", "arguments": {}}}]}));
    for round in 0..9 {
        let body = trial.body(&Ollama);
        let request = CheckedRequest::new(model_server::ServedApi::Ollama, &body);
        assert_eq!(
            check(&request, &EarlierReplies::default()),
            Vec::<String>::new(),
            "round {round}: {body}"
        );
        let calls = round / 3 * 3;
        match round % 3 {
            0 => {
                trial.response(&Ollama, sample(CALLS).as_bytes());
                trial
                    .steer("More.")
                    .results(&[(calls, "x", false), (calls + 1, "y", true)]);
            }
            1 => {
                trial.response(&Ollama, (anonymous.clone() + &done("stop")).as_bytes());
                trial.results(&[(calls + 2, "z", false)]);
            }
            _ => {
                let answer = line(json!({"content": "There."})) + &done("stop");
                trial
                    .response(&Ollama, answer.as_bytes())
                    .user("Go on. Reply as JSON.");
            }
        }
        if round == 4 {
            trial.transcript.change();
        }
    }
    trial.schema = Some(json!({"type": "object", "properties": {"answer": {"const": true}}}));
    let body = trial.body(&Ollama);
    let request = CheckedRequest::new(model_server::ServedApi::Ollama, &body);
    assert_eq!(
        check(&request, &EarlierReplies::default()),
        Vec::<String>::new()
    );
}
