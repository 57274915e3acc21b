//! A disk that is full for a moment, under a server that goes on: what it has in mind is what the log says.

use std::process::Command;

use serde_json::{Value, json};

use super::client::{Client, answer, initialize, prompts};
use crate::world::{ASIDE, TestWorld};

/// A question in each turn, and then an answer.
const ASKS: &str = r#"
    [[reply]]
    when = { step = 1 }
    repeat = true
    say = [{ call = "ask_user", id = "asks", arguments = { question = "Name?" } }]
    [[reply]]
    repeat = true
    say = [{ text = "Fine." }]
"#;

/// A server that a full disk does not kill.
fn server(world: &TestWorld) -> Client {
    let model = world.script(ASKS);
    let line = "trap '' XFSZ; exec \"$0\" \"$@\"";
    let mut client = Client::run(world.within("sh", &["-c", line, ASIDE, "lsp", "--stdio"]));
    let options = json!({
        "trusted": true,
        "config": { "assistant": { "model": model }, "conversation": { "mode": "auto" } },
    });
    client.request("initialize", initialize(world, prompts(), options));
    client.notify("initialized", json!({}));
    client
}

/// Lets the files of the server grow to this size.
fn room(client: &Client, size: &str) {
    let mut command = Command::new("prlimit");
    command.args(["--pid", &client.id().to_string()]);
    command.arg(format!("--fsize={size}:"));
    assert!(command.status().unwrap().success());
}

/// A turn whose answer could not be written.
fn unwritten(world: &TestWorld, client: &mut Client) -> Value {
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    let log = world.conversations()[0].join("events.jsonl");
    let size = log.metadata().unwrap().len();
    room(client, &size.to_string());
    client.reply(&prompt, answer("Ada"));
    let end = client.completed();
    assert_eq!(end["outcome"], "failed", "{end}");
    room(client, "unlimited");
    client.forget("aside/turn/update");
    turn
}

#[test]
fn a_turn_whose_end_is_not_on_disk_is_resumed_in_the_same_server() {
    let world = TestWorld::new();
    let mut client = server(&world);
    let turn = unwritten(&world, &mut client);
    let id = turn["conversationId"].clone();
    let resumed = client.request("aside/turn/resume", json!({ "conversationId": id }));
    let (_, end) = client.play(&resumed, |_| answer("Ada"));
    assert_eq!(end["answer"], "Fine.", "{end}");
    assert_eq!(
        world.log().told("asks"),
        r#"{"answer_type":"text","answer":"Ada"}"#
    );
    client.leave();
}

#[test]
fn a_message_after_a_turn_whose_end_is_not_on_disk_closes_that_turn_first() {
    let world = TestWorld::new();
    let mut client = server(&world);
    let turn = unwritten(&world, &mut client);
    let id = turn["conversationId"].clone();
    let next = client.turn(json!({ "conversationId": id, "message": "Next" }));
    let (_, end) = client.play(&next, |_| answer("Bob"));
    assert_eq!(end["answer"], "Fine.", "{end}");
    client.leave();
    let log = world.log();
    let count = |kind| log.all(kind).len();
    assert_eq!((count("turn_start"), count("turn_end")), (2, 2));
    assert_eq!((count("tool_call"), count("tool_result")), (2, 2));
}
