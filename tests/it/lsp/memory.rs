//! The Language Server in this process, on pipes in memory, with a tool that asks each kind of question.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, answer, initialize};
use crate::{
    asker::Asker,
    world::{Log, World, conversations},
};

/// Four calls at once, each with its question.
const SCRIPT: &str = r#"
    [[reply]]
    when = { step = 1 }
    say = [
        { call = "asker", id = "boolean", arguments = { questions = [{ id = "a", text = "Push?", answer_type = { type = "boolean" } }] } },
        { call = "asker", id = "select", arguments = { questions = [{ id = "b", text = "Which?", answer_type = { type = "select", options = ["one", "two"] } }] } },
        { call = "asker", id = "text", arguments = { questions = [{ id = "c", text = "Why?", answer_type = { type = "text" } }] } },
        { call = "asker", id = "secret", arguments = { questions = [{ id = "d", text = "Password?", answer_type = { type = "secret" } }] } },
    ]
    [[reply]]
    say = [{ text = "Done." }]
"#;
const SECRET: &str = "correct horse battery";
const NOBODY: &str = "asker cannot run because no interactive client is attached. Do not retry this tool call in this \
                      turn; continue without user input or explain what information is missing.";

/// A client with these capabilities of a server with the asking tool. State is kept in the world.
fn client(world: &World, capabilities: Value) -> Client {
    let mut client = Client::in_memory(Asker::new());
    let options = json!({
        "trusted": true,
        "stateDir": world.folder().join("state"),
        "config": { "assistant": { "model": world.script(SCRIPT) }, "conversation": { "mode": "ask" } },
    });
    client.request("initialize", initialize(world, capabilities, options));
    client.notify("initialized", json!({}));
    client
}

/// The log of the only conversation.
fn log(world: &World) -> Log {
    let all = conversations(&world.folder().join("state"));
    let [only] = all.as_slice() else {
        panic!("{all:?}");
    };
    Log::read(only)
}

/// What the tool, or the record, says of each question: id of the call and content of its result.
fn check(log: &Log, expected: [(&str, &str); 4]) {
    for (call, content) in expected {
        assert_eq!(log.result(call)["content"], content, "{call}");
    }
}

fn aside(secret: bool) -> Value {
    json!({ "experimental": { "aside": { "version": 1, "prompt": true, "secret": secret } } })
}

/// The person answers every prompt.
fn person(prompt: &Value) -> Value {
    match prompt["answerType"]["type"].as_str().unwrap() {
        "boolean" => answer(true),
        "select" => answer("two"),
        "text" => answer("because"),
        _ => answer(SECRET),
    }
}

#[test]
fn every_kind_of_question_is_answered_and_a_secret_reaches_the_tool_alone() {
    let world = World::new();
    let mut client = client(&world, aside(true));
    let turn = client.turn(json!({ "prompt": "Go" }));
    let (updates, end) = client.play(&turn, person);
    assert_eq!(
        (&end["answer"], &end["refusals"]),
        (&json!("Done."), &json!([]))
    );
    let log = log(&world);
    let secret = "it was [secret]!";
    check(
        &log,
        [
            ("boolean", "true"),
            ("select", "\"two\""),
            ("text", "\"because\""),
            ("secret", secret),
        ],
    );
    let answered = log.all("inquiry_response");
    let of_secret = answered
        .iter()
        .find(|it| it["id"].as_str().unwrap().contains("secret"));
    let of_secret = of_secret.unwrap();
    assert_eq!(
        (&of_secret["outcome"], &of_secret["by"]),
        (&json!("redacted"), &json!("user"))
    );
    assert_eq!(of_secret["answer"], Value::Null);
    assert!(!json!(updates).to_string().contains(SECRET), "{updates:#?}");
    assert!(!json!(log.events()).to_string().contains(SECRET));
}

#[test]
fn a_client_that_cannot_hide_what_is_typed_is_asked_for_no_secret() {
    let world = World::new();
    let mut client = client(&world, aside(false));
    let turn = client.turn(json!({ "prompt": "Go" }));
    let (_, end) = client.play(&turn, person);
    let refusals = end["refusals"].as_array().unwrap();
    let refused: Vec<_> = refusals
        .iter()
        .map(|it| (&it["tool"], &it["reason"]))
        .collect();
    assert_eq!(refused, [(&json!("asker"), &json!("no_prompt_backend"))]);
    check(
        &log(&world),
        [
            ("boolean", "true"),
            ("select", "\"two\""),
            ("text", "\"because\""),
            ("secret", NOBODY),
        ],
    );
}

#[test]
fn a_client_that_knows_nothing_of_the_protocol_is_asked_for_all_but_a_secret() {
    let world = World::new();
    let capabilities = json!({ "window": { "showDocument": { "support": true } } });
    let mut client = client(&world, capabilities);
    let command = json!({ "command": "aside.server.ask", "arguments": [{ "prompt": "Go" }] });
    client.request("workspace/executeCommand", command);
    for (text, title) in [
        ("Push?", "Yes"),
        ("Which?", "two"),
        ("Why?", "Write an answer"),
    ] {
        let prompt = client.expect("window/showMessageRequest");
        let said = prompt["params"]["message"].as_str().unwrap();
        assert!(said.ends_with(text), "{said}");
        client.reply(&prompt, json!({ "title": title }));
    }
    let page = client.expect("window/showDocument");
    client.reply(&page, json!({ "success": true }));
    let page = page["params"]["uri"]
        .as_str()
        .unwrap()
        .strip_prefix("file://")
        .unwrap();
    let written = fs::read_to_string(page).unwrap() + "because\n";
    fs::write(page, written).unwrap();
    let transcript = client.expect("window/showDocument");
    client.reply(&transcript, json!({ "success": true }));
    assert_eq!(client.came("window/showMessageRequest"), 0);
    let log = log(&world);
    check(
        &log,
        [
            ("boolean", "true"),
            ("select", "\"two\""),
            ("text", "\"because\""),
            ("secret", NOBODY),
        ],
    );
    let refused = log
        .all("inquiry_response")
        .into_iter()
        .find(|it| it["outcome"] == "cancelled");
    assert_eq!(refused.unwrap()["reason"], "no_prompt_backend");
}
