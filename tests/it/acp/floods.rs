//! Clients that send what is no message, that read nothing, that flood, and that go in the middle.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::client::{Client, choose};
use crate::world::{LONG, TestWorld};

const HELLO: &str = "[[reply]]\nrepeat = true\nsay = [{ text = 'Hello.' }]";

/// The messages of a connection that are cut and changed.
fn messages(world: &TestWorld) -> Vec<Value> {
    let session = json!("hunter2");
    [
        ("initialize", json!({ "protocolVersion": 1, "clientCapabilities": {} })),
        ("session/new", json!({ "cwd": world.at(""), "mcpServers": [{ "name": "hunter2", "command": "/bin/false", "args": [], "env": [{ "name": "K", "value": "hunter2" }] }] })),
        ("session/prompt", json!({ "sessionId": session, "prompt": [{ "type": "text", "text": "hunter2" }] })),
        ("session/set_config_option", json!({ "sessionId": session, "configId": "mode", "value": "plan" })),
        ("session/list", json!({ "cwd": world.at(""), "cursor": "x" })),
        ("session/delete", json!({ "sessionId": session })),
    ]
    .into_iter()
    .enumerate()
    .map(|(id, (method, params))| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    .collect()
}

/// All answers up to that of a request which is sent behind all.
fn answers(client: &mut Client) -> Vec<Value> {
    client.send(&json!({ "jsonrpc": "2.0", "id": "end", "method": "_none/such" }));
    let mut answers = Vec::new();
    loop {
        let message = client.next("answers", |_| true);
        if message["id"] == "end" {
            return answers;
        }
        if message["method"].is_null() {
            // The id of a session is no word of the user's.
            let is_unknown = message["error"]["code"] == -32002;
            assert!(
                is_unknown || !message["error"]["message"].to_string().contains("hunter2"),
                "{message}"
            );
            answers.push(message);
        }
    }
}

#[test]
fn every_line_cut_at_every_byte_is_answered_and_nothing_of_it_repeated() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, HELLO, json!({}));
    for message in messages(&world) {
        let line = message.to_string();
        for end in 1..line.len() {
            client.send_bytes(format!("{}\n", &line[..end]).as_bytes());
        }
        let answers = answers(&mut client);
        assert_eq!(answers.len(), line.len() - 1, "{line}");
        assert!(
            answers.iter().all(|it| it["error"]["code"] == -32700),
            "{line}"
        );
    }
    client.leave();
}

#[test]
fn mutated_messages_are_answered_and_crash_nothing() {
    let mutations: usize = std::env::var("ASIDE_FUZZ")
        .ok()
        .and_then(|it| it.parse().ok())
        .unwrap_or(1);
    let mut random = fastrand::Rng::with_seed(7);
    let world = TestWorld::new();
    let mut client = Client::start(&world, HELLO, json!({}));
    let given: Vec<String> = messages(&world).iter().map(Value::to_string).collect();
    for _ in 0..mutations * 20 {
        for _ in 0..50 {
            let mut line = given[random.usize(..given.len())].clone().into_bytes();
            for _ in 0..random.usize(1..4) {
                let at = random.usize(..line.len());
                match random.u8(..4) {
                    0 => line[at] = random.u8(32..127),
                    1 => drop(line.remove(at)),
                    2 => line.insert(at, *random.choice(b"[]{}\",:0n").unwrap()),
                    _ => line.truncate(at + 1),
                }
            }
            line.push(b'\n');
            client.send_bytes(&line);
        }
        answers(&mut client);
    }
    client.leave();
}

#[test]
fn a_client_that_floods_is_answered_in_order() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, HELLO, json!({}));
    let ids: Vec<u64> = (0..5_000)
        .map(|_| client.ask("_none/such", json!({})))
        .collect();
    for id in ids {
        let next = client.next("an answer", |it| it["method"].is_null());
        assert_eq!(next["id"], id);
    }
    // More prompts than wait are refused, and none is lost.
    let script_ids: Vec<u64> = (0..70).map(|_| client.prompt("Go")).collect();
    let mut ends = [0, 0];
    for id in script_ids {
        let answer = client.answer(id);
        ends[usize::from(answer["error"].is_null())] += 1;
    }
    assert_eq!(ends.iter().sum::<usize>(), 70, "{ends:?}");
    assert!(ends[1] >= 64, "{ends:?}");
    client.leave();
}

#[test]
fn a_client_that_reads_nothing_ends_its_agent_and_not_the_record() {
    let script = "[[reply]]\nsay = [{ call = 'run_command', id = 'run', arguments = { command = 'head -c 300000000 /dev/zero | tr \"\\\\0\" x' } }]\n[[reply]]\nsay = [{ text = 'Done.' }]";
    let world = TestWorld::new();
    let can = json!({ "_meta": { "terminal_output": true } });
    let mut client = Client::start(&world, script, can);
    client.prompt("Go");
    let asked = client.expect("session/request_permission");
    client.stalls();
    client.reply(&asked, choose("once"));
    let begin = Instant::now();
    // The turn goes on, whether or not anybody reads: its result is on record.
    let log = || std::fs::read_to_string(world.conversations()[0].join("events.jsonl")).unwrap();
    while !log().contains("\"turn_end\"") {
        assert!(begin.elapsed() < LONG, "the turn does not end");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    client.crash();
}

#[test]
fn a_client_that_goes_in_the_middle_leaves_a_turn_that_can_be_resumed() {
    let script = "[[reply]]\nsay = [{ call = 'write_file', id = 'edit', arguments = { path = 'b.txt', content = 'B' } }]";
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, json!({}));
    client.prompt("Go");
    client.expect("session/request_permission");
    client.leave();
    let listed = world.aside(&["conversation", "list"]).exits(0).stdout;
    assert!(listed.contains("interrupted"), "{listed}");
}
