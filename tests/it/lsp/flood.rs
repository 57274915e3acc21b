//! A model that says more at once than a client can be told piece by piece.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use aside_model_server::{
    ServedApi,
    play::ModelReply,
    server::{BodyPart, ModelServer},
};
use serde_json::{Value, json};

use super::client::{Client, prompts, uri};
use crate::world::{LONG, TestWorld, done_by, until};

const PIECES: usize = 20_000;
/// Pieces that come in a write each.
const WRITES: usize = 400;

#[test]
fn a_flood_of_pieces_comes_joined_in_order_and_as_it_was_said() {
    let world = TestWorld::new();
    let said: String = (0..PIECES).map(|number| format!("{number:05}")).collect();
    let script = format!("{{ text = '{said}', pieces = {PIECES} }}");
    let mut client = Client::start(
        &world,
        &script,
        json!({ "experimental": { "aside": { "version": 1, "prompt": true } } }),
    );
    client.request("aside/turn/start", json!({ "message": "go" }));
    let (mut heard, mut updates, mut seq) = (String::new(), 0, 0);
    while heard.len() < said.len() {
        let message = client.expect("aside/turn/update");
        seq += 1;
        assert_eq!(message["params"]["seq"], seq, "without gaps, in order");
        let update = &message["params"]["update"];
        if update["kind"] == "text" {
            heard += update["text"].as_str().unwrap();
            updates += 1;
        }
    }
    assert!(heard == said, "what is heard is not what was said");
    assert!(
        updates < PIECES / 16,
        "{updates} updates for {PIECES} pieces that were there at once"
    );
    assert_eq!(client.completed()["answer"], said);
}

/// A model that says numbers of five digits, a piece and a write each.
fn writes() -> (ModelServer, String) {
    let said: Vec<String> = (0..WRITES).map(|number| format!("{number:05}")).collect();
    let text = said.concat();
    let server = ModelServer::start(move |_| {
        let pieces: [&str; WRITES] = std::array::from_fn(|at| said[at].as_str());
        let reply = ModelReply::new("model").text(pieces);
        let mut reply = reply.reply(ServedApi::Anthropic);
        let Some(BodyPart::Bytes(mut rest)) = reply.body.pop() else {
            panic!("a reply without a body");
        };
        while !rest.is_empty() {
            let end = rest.windows(2).position(|two| two == b"\n\n");
            let event = rest.split_to(end.map_or(rest.len(), |end| end + 2));
            reply.body.push(BodyPart::Bytes(event));
            // As long as it takes until the one before is on its way.
            reply.body.push(BodyPart::Pause(Duration::from_micros(1)));
        }
        reply
    });
    (server, text)
}

/// Options of a client for this model.
fn own_model(model: &ModelServer) -> Value {
    let config = json!({
        "assistant": { "model": "own/model" },
        "providers": {
            "own": { "api": "anthropic", "base_url": model.url(ServedApi::Anthropic) },
        },
    });
    json!({ "trusted": true, "config": config })
}

#[test]
fn pieces_that_come_in_a_write_each_are_at_most_one_update_in_8_ms() {
    let (world, (model, said)) = (TestWorld::new(), writes());
    let mut client = Client::with(&world, prompts(), own_model(&model));
    let begin = Instant::now();
    client.request("aside/turn/start", json!({ "message": "go" }));
    let (mut heard, mut updates) = (String::new(), 0);
    while heard.len() < said.len() {
        let message = client.expect("aside/turn/update");
        if message["params"]["update"]["kind"] == "text" {
            heard += message["params"]["update"]["text"].as_str().unwrap();
            updates += 1;
        }
    }
    assert!(heard == said, "what is heard is not what was said");
    // The first at once, the last with the end of the response, the others 8 ms apart, however slow this machine is.
    let most = begin.elapsed().as_millis() / 8 + 2;
    assert!(updates <= most, "{updates} updates in {most} times 8 ms");
}

/// The model says 10,000 pieces, more than a pipe holds, and runs a command that goes on.
const STALL: &str = r#"
    { text = "SAID", pieces = 10000 }
    + run_command run { command = "echo $$ > pid; exec sleep 60" }
"#;

/// Plays [`STALL`] with a client that stops reading before it starts. Returns when the command runs.
fn stalled(world: &TestWorld) -> (Client, PathBuf) {
    let model = world.script(&STALL.replace(
        "SAID",
        &"all of it, said as slowly as it will be read, 50 B. ".repeat(10_000),
    ));
    let config = json!({ "assistant": { "model": model }, "conversation": { "mode": "auto" }, "unsandboxed": true });
    let aside = json!({ "experimental": { "aside": { "version": 1, "prompt": true } } });
    let mut client = Client::with(world, aside, json!({ "trusted": true, "config": config }));
    client.stalls();
    client.ask(
        "aside/turn/start",
        json!({ "message": "go", "turnId": "long" }),
    );
    let pid = world.at("pid");
    until("a running command", || {
        fs::read_to_string(&pid).is_ok_and(|pid| pid.ends_with('\n'))
    });
    let pid = fs::read_to_string(pid).unwrap();
    (client, Path::new("/proc").join(pid.trim()))
}

#[test]
fn a_client_that_stalls_can_cancel() {
    let world = TestWorld::new();
    let (mut client, command) = stalled(&world);
    client.ask("aside/turn/cancel", json!({ "turnId": "long" }));
    until("no command", || !command.exists());
    until("the turn's end on record", || {
        !world.log().all("turn_end").is_empty()
    });
    assert_eq!(world.log().one("turn_end")["outcome"], "cancelled");
}

/// Bytes of memory that a process has.
fn memory(process: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kibibytes.parse::<usize>().unwrap() * 1024
}

#[test]
fn the_memory_of_a_large_document_is_given_back_when_it_is_closed() {
    const CHANGES: usize = 100;
    let world = TestWorld::new();
    let mut client = Client::start(&world, "", prompts());
    // All that is read once is read before.
    client.request("aside/conversation/list", Value::Null);
    let before = memory(client.id());
    let uri = uri(&world, "large.txt");
    let text = "a line of a large file, which has many of them\n".repeat(220_000);
    client.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri, "languageId": "x", "version": 0, "text": text } }),
    );
    for version in 1..=CHANGES {
        let at = json!({ "line": version * 2_000, "character": 0 });
        client.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "range": { "start": at, "end": at }, "text": "x" }],
            }),
        );
    }
    client.request("aside/conversation/list", Value::Null);
    let open = memory(client.id());
    assert!(open > before + text.len(), "{before}, then {open} bytes");
    client.notify(
        "textDocument/didClose",
        json!({ "textDocument": { "uri": uri } }),
    );
    // What it takes to read a message of that size may stay, for the next one.
    until("the memory of the document", || {
        memory(client.id()) < before + 2 * text.len()
    });
}

#[test]
fn a_turn_goes_on_for_a_client_that_stalls_and_is_read_later() {
    // Together more than may wait for a client.
    const PARTS: usize = 2_000;
    let part = "all of it, said as fast as a computer can say it. ".repeat(120);
    let said = part.repeat(PARTS);
    let model = ModelServer::start(move |_| {
        let parts: [&str; PARTS] = [part.as_str(); PARTS];
        let reply = ModelReply::new("model").text(parts);
        reply.reply(ServedApi::Anthropic)
    });
    let world = TestWorld::new();
    let mut client = Client::with(&world, prompts(), own_model(&model));
    client.stalls();
    let start = client.ask("aside/turn/start", json!({ "message": "go" }));
    let begin = Instant::now();
    let is_over = |folder: &PathBuf| {
        let log = fs::read_to_string(folder.join("events.jsonl"));
        log.is_ok_and(|log| log.contains("\"type\":\"turn_end\""))
    };
    while !world.conversations().iter().any(is_over) {
        assert!(begin.elapsed() < LONG, "the turn does not go on");
        std::thread::park_timeout(Duration::from_millis(20));
    }
    client.reads_on();
    let turn = client.result(start);
    let (updates, end) = client.play(&turn, |prompt| panic!("{prompt}"));
    assert!(end["answer"] == said, "the answer is another");
    let heard: usize = updates
        .iter()
        .filter_map(|it| it["text"].as_str())
        .map(str::len)
        .sum();
    assert!(heard < said.len() / 2, "{heard} bytes");
    let left_out = updates.iter().filter(|it| it["level"] == "warning");
    let left_out: Vec<_> = left_out.map(|it| it["text"].as_str().unwrap()).collect();
    let expected = "Part of this turn is not shown, because the client did not read it in time; reopen the \
                    conversation to see all of it.";
    assert_eq!(left_out, [expected]);
    let of = json!({ "conversationId": turn["conversationId"] });
    let read = client.request("aside/conversation/read", of);
    let whole = read["turns"][0]["updates"].to_string();
    assert!(whole.contains(&said), "the record has less");
}

#[test]
fn a_client_that_asks_and_does_not_read_waits_and_can_cancel() {
    const ASKED: usize = 100;
    let (world, said) = (TestWorld::new(), "a long answer. ".repeat(70_000));
    let script = format!("{{ turn = 1 }} => '{said}'\n'Begin.'\n& fault = {{ stall = true }}");
    let mut client = Client::start(&world, &script, prompts());
    let turn = client.turn(json!({ "message": "go" }));
    client.completed();
    let of = json!({ "conversationId": turn["conversationId"] });
    client.turn(json!({
        "message": "go on",
        "conversationId": turn["conversationId"],
        "turnId": "long",
    }));
    client.stalls();
    // Each answer has the first turn, 1 MiB: together they are more than may wait.
    let asked: Vec<u64> = (0..ASKED)
        .map(|_| client.ask("aside/conversation/read", of.clone()))
        .collect();
    let cancel = client.ask("aside/turn/cancel", json!({ "turnId": "long" }));
    until("the turn's end on record", || {
        world.log().all("turn_end").len() == 2
    });
    // It answers as much as may wait, and then it waits too.
    let mut done = None;
    until("the server to wait", || {
        std::thread::park_timeout(Duration::from_millis(300));
        let before = std::mem::replace(&mut done, done_by(client.id()));
        before == done
    });
    client.reads_on();
    client.result(cancel);
    for id in asked {
        let read = client.result(id);
        assert!(read["turns"][0]["updates"].to_string().contains(&said));
    }
    client.leave();
}

#[test]
fn a_client_that_stalls_can_end_the_server() {
    let world = TestWorld::new();
    let (mut client, command) = stalled(&world);
    client.ask("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    let begin = Instant::now();
    assert_eq!(client.ended(), Some(0));
    assert!(
        begin.elapsed() < Duration::from_secs(2),
        "{:?}",
        begin.elapsed()
    );
    assert!(!command.exists());
}

/// More changes of a large document than could be worked off if each cost as much as the document is long.
const CHANGES: usize = 20_000;

#[test]
fn a_client_that_goes_behind_a_flood_of_changes_leaves_no_server() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, "", prompts());
    let text = "a line of a large file, which has many of them\n".repeat(200_000);
    let uri = uri(&world, "large.txt");
    client.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri, "languageId": "x", "version": 0, "text": text } }),
    );
    for version in 1..=CHANGES {
        let at = json!({ "line": 199_999, "character": 0 });
        client.notify(
            "textDocument/didChange",
            json!({
                "textDocument": { "uri": uri, "version": version },
                "contentChanges": [{ "range": { "start": at, "end": at }, "text": "x" }],
            }),
        );
    }
    client.leave();
}
