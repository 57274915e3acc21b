//! Clients that send what is no message, that read nothing, that flood, and that go in the middle.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::client::{Client, choose};
use crate::world::{LONG, TestWorld};

const HELLO: &str = "always 'Hello.'";

/// What no error may repeat.
const SECRET: &str = "hunter2";

/// The messages of a connection that are cut and changed, some of a session that there is.
fn messages(world: &TestWorld, session: &str) -> Vec<Value> {
    let cwd = world.at("");
    let text = json!([{ "type": "text", "text": SECRET }, { "type": "resource_link", "uri": "file:///x", "name": "x" }]);
    let server = json!({ "name": "own", "command": "/bin/false", "args": [SECRET], "env": [{ "name": "K", "value": SECRET }] });
    let steered = json!({ "sessionId": session, "prompt": text, "_meta": { "steering": { "idleBehavior": "promptRequired" } } });
    [
        ("initialize", json!({ "protocolVersion": 1, "clientCapabilities": { "elicitation": { "form": {} } } })),
        ("session/new", json!({ "cwd": cwd, "mcpServers": [server] })),
        ("session/prompt", json!({ "sessionId": session, "prompt": text })),
        ("session/prompt", json!({ "sessionId": "none", "prompt": text })),
        ("_session/steering", steered),
        ("session/load", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] })),
        ("session/resume", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [server] })),
        ("session/fork", json!({ "sessionId": session, "cwd": cwd, "mcpServers": [] })),
        ("session/set_title", json!({ "sessionId": session, "title": SECRET })),
        ("session/set_mode", json!({ "sessionId": session, "modeId": "plan" })),
        ("session/set_config_option", json!({ "sessionId": session, "configId": "mode", "value": "plan" })),
        ("session/list", json!({ "cwd": cwd, "cursor": "x" })),
        ("session/close", json!({ "sessionId": "none" })),
        ("session/delete", json!({ "sessionId": "none" })),
    ]
    .into_iter()
    .enumerate()
    .map(|(id, (method, params))| json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    .collect()
}

/// The id of the answer that a line must have; none of one that is not answered.
fn answered_under(line: &[u8]) -> Option<Value> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    let Ok(message) = serde_json::from_slice::<Value>(line) else {
        return Some(Value::Null);
    };
    let id = match &message["id"] {
        Value::Number(id) if id.is_i64() => message["id"].clone(),
        Value::String(_) => message["id"].clone(),
        _ => Value::Null,
    };
    let has = |name: &str| message.get(name).is_some();
    let is_message = message["jsonrpc"] == "2.0";
    let is_notification = message["method"].is_string() && !has("id");
    let is_reply = !has("method") && has("id") && (id == message["id"]);
    let one = has("result") != (message["error"].is_object());
    let is_silent =
        is_message && ((is_notification && !has("result") && !has("error")) || (is_reply && one));
    (!is_silent).then_some(id)
}

/// Sends lines, and waits until each is answered under its id, none twice and none with a word of the user's.
#[track_caller]
fn all_answered(client: &mut Client, lines: &[Vec<u8>]) -> Vec<Value> {
    let mut due: HashMap<String, usize> = HashMap::new();
    for line in lines {
        client.send_bytes(&[line, b"\n".as_slice()].concat());
        if let Some(id) = answered_under(line) {
            *due.entry(id.to_string()).or_default() += 1;
        }
    }
    client.send(&json!({ "jsonrpc": "2.0", "id": "end", "method": "_none/such" }));
    due.insert(json!("end").to_string(), 1);
    let mut answers = Vec::new();
    while !due.is_empty() {
        let message = client.next("answers", |_| true);
        if !message["method"].is_null() {
            continue;
        }
        let error = message["error"].to_string();
        assert!(!error.contains(SECRET), "{message}");
        let id = message["id"].to_string();
        let left = due
            .get_mut(&id)
            .unwrap_or_else(|| panic!("nobody asked for {message}"));
        *left -= 1;
        if *left == 0 {
            due.remove(&id);
        }
        answers.push(message);
    }
    answers
}

#[test]
fn every_line_cut_at_every_byte_is_answered_and_nothing_of_it_repeated() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, HELLO, json!({}));
    let session = client.session.clone();
    for message in messages(&world, &session) {
        let line = message.to_string().into_bytes();
        let cut: Vec<Vec<u8>> = (1..line.len()).map(|end| line[..end].to_vec()).collect();
        let answers = all_answered(&mut client, &cut);
        let broken = answers.iter().filter(|it| it["error"]["code"] == -32700);
        assert_eq!(broken.count(), line.len() - 1, "{message}");
    }
    client.leave();
}

/// The message with each value in it replaced by one of each other type, and left out.
fn mistyped(message: &Value) -> Vec<Value> {
    let mut all = Vec::new();
    let mut places = vec![String::new()];
    while let Some(place) = places.pop() {
        let below: Vec<String> = match message.pointer(&place).unwrap() {
            Value::Object(object) => object.keys().cloned().collect(),
            Value::Array(list) => (0..list.len()).map(|at| at.to_string()).collect(),
            _ => Vec::new(),
        };
        for name in below {
            let mut without = message.clone();
            if let Some(object) = without.pointer_mut(&place).unwrap().as_object_mut() {
                object.remove(&name);
                all.push(without);
            }
            places.push(format!("{place}/{}", name.replace('/', "~1")));
        }
        for other in [
            json!(null),
            json!(true),
            json!(-7),
            json!(1.5),
            json!("x"),
            json!([]),
            json!({}),
            json!([{}]),
        ] {
            let mut wrong = message.clone();
            *wrong.pointer_mut(&place).unwrap() = other;
            all.push(wrong);
        }
    }
    all
}

#[test]
fn every_value_of_another_type_is_answered() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, HELLO, json!({}));
    let session = client.session.clone();
    for message in messages(&world, &session) {
        // What is no initialize may be another message, which is of no interest here.
        let wrong: Vec<Vec<u8>> = mistyped(&message)
            .iter()
            .map(|it| it.to_string().into_bytes())
            .collect();
        all_answered(&mut client, &wrong);
    }
    client.leave();
}

/// A thousand times, or as many thousand times as `ASIDE_FUZZ` says.
#[test]
fn mutated_messages_are_answered_and_crash_nothing() {
    let thousands = std::env::var("ASIDE_FUZZ").ok();
    let thousands: usize = thousands.and_then(|it| it.parse().ok()).unwrap_or(1);
    let mut random = fastrand::Rng::with_seed(7);
    let world = TestWorld::new();
    let mut client = Client::start(&world, HELLO, json!({}));
    let session = client.session.clone();
    let given: Vec<String> = messages(&world, &session)
        .iter()
        .map(Value::to_string)
        .collect();
    for _ in 0..thousands * 20 {
        let lines: Vec<Vec<u8>> = (0..50).map(|_| mutated(&given, &mut random)).collect();
        all_answered(&mut client, &lines);
    }
    client.leave();
}

fn mutated(given: &[String], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut line = given[random.usize(..given.len())].clone().into_bytes();
    for _ in 0..random.usize(1..4) {
        if line.is_empty() {
            break;
        }
        let at = random.usize(..line.len());
        match random.u8(..5) {
            0 => line[at] = random.u8(32..127),
            1 => drop(line.remove(at)),
            2 => line.insert(at, *random.choice(b"[]{}\",:0n").unwrap()),
            3 => line[at] = random.u8(128..),
            _ => line.truncate(at + 1),
        }
    }
    line
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
    let script = "write_file edit { path = 'b.txt', content = 'B' }";
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, json!({}));
    client.prompt("Go");
    client.expect("session/request_permission");
    client.leave();
    let listed = world.aside(&["conversation", "list"]).exits(0).stdout;
    assert!(listed.contains("interrupted"), "{listed}");
}
