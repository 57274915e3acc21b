//! What overtakes what: whoever cancels, answers or leaves waits for nobody who reads.

use std::fs::{self, File};

use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};
use serde_json::{Value, json};

use super::client::{Client, answer, initialize, prompts, uri};
use crate::world::TestWorld;

const STALLS: &str = "always 'Begin.'\n& fault = { stall = true }";

/// Requests of a flood.
const FLOOD: usize = 300;

#[test]
fn a_cancel_overtakes_a_flood_of_reads_and_reads_keep_the_order_of_their_conversation() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, STALLS, prompts());
    let created: Vec<Value> = (0..60)
        .map(|number| {
            let title = json!({ "title": format!("Number {number}") });
            client.request("aside/conversation/create", title)
        })
        .collect();
    client.request(
        "aside/turn/start",
        json!({ "message": "go", "turnId": "long" }),
    );
    let about = |more: Value| {
        let mut params = created[0].clone();
        params
            .as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        params
    };
    let lists: Vec<u64> = (0..FLOOD)
        .map(|_| client.ask("aside/conversation/list", json!({ "limit": 1 })))
        .collect();
    let rename = client.ask(
        "aside/conversation/rename",
        about(json!({ "title": "Another" })),
    );
    let transcript = client.ask("aside/conversation/transcript", about(json!({})));
    let gone = client.ask("aside/conversation/delete", about(json!({})));
    let listed = client.ask("aside/conversation/list", json!({ "query": "another" }));
    let cancel = client.ask("aside/turn/cancel", json!({ "turnId": "long" }));

    client.answer(cancel);
    let answered = lists.iter().filter(|id| client.is_answered(**id)).count();
    assert!(answered < FLOOD, "the cancel came last");
    assert_eq!(client.answer(rename)["error"], Value::Null);
    let text = client.answer(transcript)["result"]["text"].clone();
    assert!(text.as_str().unwrap().contains("Another"), "{text}");
    assert_eq!(client.answer(gone)["error"], Value::Null);
    assert_eq!(client.answer(listed)["result"]["items"], json!([]));
    for id in lists {
        assert_eq!(client.answer(id)["error"], Value::Null);
    }
    client.leave();
}

/// A question, and then a response that does not end.
const ASKS: &str = r#"
    9 times ask_user ask { question = "Which?", answer_type = "boolean" }
    always "Begin."
    & fault = { stall = true }
"#;

/// A conversation whose turn of this id was interrupted by a crash, and the state directory of all.
fn interrupted(world: &TestWorld) -> Value {
    let mut client = Client::start(world, ASKS, prompts());
    let turn = client.turn(json!({ "message": "Go", "turnId": "before" }));
    client.expect("aside/prompt");
    client.crash();
    turn
}

/// Sends one of each request that reads or writes files.
fn everything(client: &mut Client, world: &TestWorld, before: &Value) -> Vec<u64> {
    let id = &before["conversationId"];
    let folder = uri(world, "");
    let asked = [
        (
            "aside/turn/start",
            json!({ "message": "More", "turnId": "late" }),
        ),
        (
            "aside/turn/start",
            json!({ "message": "More", "conversationId": id }),
        ),
        ("aside/turn/resume", json!({ "conversationId": id })),
        ("aside/turn/undo", json!({ "turnId": "before" })),
        ("aside/config/read", json!({})),
        ("aside/model/list", json!({})),
        ("aside/workspace/preview", json!({ "folder": folder })),
        (
            "aside/workspace/trust",
            json!({ "folder": folder, "trusted": false }),
        ),
        ("aside/approval/list", json!({})),
        ("aside/approval/revoke", json!({ "approvalId": "none" })),
        ("aside/conversation/create", json!({})),
        ("aside/conversation/list", json!({})),
        ("aside/prompt/pending", json!({})),
        (
            "workspace/executeCommand",
            json!({ "command": "aside.server.resume" }),
        ),
        (
            "workspace/executeCommand",
            json!({ "command": "aside.server.undo" }),
        ),
        (
            "workspace/executeCommand",
            json!({ "command": "aside.server.transcript" }),
        ),
    ];
    asked
        .map(|(method, params)| client.ask(method, params))
        .into()
}

#[test]
fn a_disk_that_does_not_answer_holds_up_nobody_who_answers_cancels_or_leaves() {
    let world = TestWorld::new();
    let before = interrupted(&world);
    let mut client = Client::start(&world, ASKS, prompts());
    client.turn(json!({ "message": "Go", "turnId": "long" }));
    let prompt = client.expect("aside/prompt");
    // Who changes what is trusted waits for this, for ever.
    let lock = File::create(world.folder().join("state/aside/trust.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let trust = json!({ "folder": uri(&world, ""), "trusted": true });
    let hangs = client.ask("aside/workspace/trust", trust);
    let behind = everything(&mut client, &world, &before);

    let prompt_id = &prompt["params"]["promptId"];
    client.request(
        "aside/prompt/answer",
        json!({ "promptId": prompt_id, "answer": answer(true) }),
    );
    while client.update("text")["text"] != "Begin." {}
    // What is about to begin can be cancelled, and is not known to be running.
    client.request("aside/turn/cancel", json!({ "turnId": "late" }));
    client.request("aside/turn/cancel", json!({ "turnId": "long" }));
    let end = client.expect("aside/turn/completed");
    assert_eq!(end["params"]["turnId"], "long");
    assert_eq!(end["params"]["outcome"], "cancelled");
    for id in behind.iter().chain([&hangs]) {
        assert!(!client.is_answered(*id), "it waits for the lock");
    }
    client.request("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), Some(0));
}

#[test]
fn what_waited_for_a_disk_takes_effect_in_the_order_in_which_it_was_asked() {
    let world = TestWorld::new();
    let before = interrupted(&world);
    let mut client = Client::start(&world, ASKS, prompts());
    let lock = File::create(world.folder().join("state/aside/trust.lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let revoke = json!({ "folder": uri(&world, ""), "trusted": false });
    let hangs = client.ask("aside/workspace/trust", revoke);
    let mut rename = before.clone();
    rename["title"] = json!("Another");
    let edits = client.ask(
        "aside/turn/start",
        json!({ "message": "x", "mode": "edits" }),
    );
    let start = client.ask(
        "aside/turn/start",
        json!({ "message": "y", "turnId": "mine" }),
    );
    let steer = client.ask(
        "aside/turn/steer",
        json!({ "turnId": "mine", "message": "z" }),
    );
    let cancel = client.ask("aside/turn/cancel", json!({ "turnId": "mine" }));
    let resume = client.ask(
        "aside/turn/resume",
        json!({ "conversationId": before["conversationId"] }),
    );
    let rename = client.ask("aside/conversation/rename", rename);
    let undo = client.ask("aside/turn/undo", json!({ "turnId": "before" }));
    client.answer(cancel);
    drop(lock);

    assert_eq!(client.answer(hangs)["error"], Value::Null);
    assert_eq!(
        client.answer(edits)["error"]["code"],
        -32015,
        "trust ended first"
    );
    assert_eq!(client.answer(start)["result"]["turnId"], "mine");
    client.answer(steer);
    let end = client.expect("aside/turn/completed");
    assert_eq!(
        end["params"]["outcome"], "cancelled",
        "it was before it began"
    );
    assert_eq!(client.answer(resume)["result"]["turnId"], "before");
    for id in [rename, undo] {
        assert_eq!(client.answer(id)["error"]["code"], -32013, "the turn runs");
    }
    client.leave();
}

#[test]
fn what_was_asked_in_front_of_an_exit_is_answered() {
    let world = TestWorld::new();
    interrupted(&world);
    for is_shut_down in [true, false] {
        let mut client = Client::start(&world, ASKS, prompts());
        let lists: Vec<_> = (0..20)
            .map(|_| client.ask("aside/conversation/list", json!({})))
            .collect();
        if is_shut_down {
            client.ask("shutdown", Value::Null);
        }
        client.notify("exit", Value::Null);
        for list in lists {
            let answer = client.answer(list);
            // What is still read when the client leaves is called off, in an answer of its own.
            let is_called_off = answer["error"]["code"] == -32800;
            let is_listed = answer["result"]["items"][0]["status"] == "interrupted";
            assert!(is_called_off || is_listed, "{answer}");
        }
        assert_eq!(client.ended(), Some(i32::from(!is_shut_down)));
    }
}

#[test]
fn an_exit_during_a_start_ends_the_process() {
    let world = TestWorld::new();
    let params = || initialize(&world, prompts(), json!({}));
    let mut client = Client::spawn(&world);
    client.ask("initialize", params());
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), Some(1));
    // Before `initialized`.
    let mut client = Client::spawn(&world);
    client.request("initialize", params());
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), Some(1));
    // As a turn begins; its process leaves nothing behind that holds the conversation.
    let mut client = Client::start(&world, STALLS, prompts());
    client.ask("aside/turn/start", json!({ "message": "Go" }));
    client.ask("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), Some(0));
    let mut client = Client::start(&world, STALLS, prompts());
    let list = client.request("aside/conversation/list", json!({}));
    assert_ne!(list["items"][0]["status"], "running", "{list}");
    client.leave();
}

#[test]
fn a_pipe_in_place_of_a_file_of_the_workspace_or_of_all_conversations_holds_nobody_up() {
    for file in [
        "work/aside.toml",
        "config/aside/aside.toml",
        "state/aside/trust.json",
        "state/aside/trust.lock",
        "approvals",
        "approvals.lock",
        "index.json",
    ] {
        let world = TestWorld::new();
        let before = interrupted(&world);
        let mut client = Client::start(&world, ASKS, prompts());
        let store = world.conversations()[0].parent().unwrap().to_owned();
        let path = match file.contains('/') {
            true => world.folder().join(file),
            false => store.join(file),
        };
        let _ = fs::remove_file(&path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        for id in everything(&mut client, &world, &before) {
            client.answer(id);
        }
        client.leave();
    }
}

#[test]
fn the_list_is_the_same_with_and_without_its_index() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, STALLS, prompts());
    for number in 0..40 {
        let title = json!({ "title": format!("Number {number}") });
        client.request("aside/conversation/create", title);
    }
    let index = world.conversations()[0]
        .parent()
        .unwrap()
        .join("index.json");
    let mut list = || client.request("aside/conversation/list", json!({}))["items"].clone();
    let expected = list();
    let whole = fs::read(&index).unwrap();
    assert_eq!(list(), expected, "by the index");
    let said = String::from_utf8(whole.clone()).unwrap();
    for damaged in [
        Vec::new(),
        whole[..whole.len() / 2].to_vec(),
        b"{}".to_vec(),
        vec![0; 4096],
        said.replace("\"v\":1", "\"v\":2").into_bytes(),
    ] {
        fs::write(&index, damaged).unwrap();
        assert_eq!(list(), expected, "by a damaged index");
    }
    fs::remove_file(&index).unwrap();
    assert_eq!(list(), expected, "without an index");
    // One of earlier: what it says of a conversation that was changed since does not count.
    let item = expected[7].clone();
    client.request(
        "aside/conversation/rename",
        json!({ "conversationId": item["conversationId"], "title": "Another" }),
    );
    fs::write(&index, &whole).unwrap();
    let list = client.request("aside/conversation/list", json!({ "query": "another" }));
    assert_eq!(list["items"][0]["conversationId"], item["conversationId"]);
    client.leave();
}

#[test]
fn a_pipe_in_place_of_a_file_holds_nobody_up() {
    for file in ["events.jsonl", "lock", "meta.json"] {
        let world = TestWorld::new();
        let mut client = Client::start(&world, STALLS, prompts());
        let made = client.request("aside/conversation/create", json!({}));
        let path = world.conversations()[0].join(file);
        let _ = fs::remove_file(&path);
        mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap();
        let mut start = made.clone();
        start["message"] = json!("Go");
        let asked = [
            client.ask("aside/conversation/list", json!({})),
            client.ask("aside/conversation/read", made.clone()),
            client.ask("aside/conversation/transcript", made.clone()),
            client.ask("aside/conversation/fork", made.clone()),
            client.ask("aside/turn/resume", made.clone()),
            client.ask("aside/turn/start", start),
            client.ask("aside/conversation/delete", made),
        ];
        for id in asked {
            client.answer(id);
        }
        client.leave();
    }
}

/// The settings of a client whose turns need a server that never answers.
fn with_a_slow_server(world: &TestWorld, limits: &Value) -> Client {
    let model = world.script("always 'Done.'");
    let server = json!({ "command": "sleep", "args": ["1000"], "startup_seconds": 600 });
    let config = json!({
        "assistant": { "model": model },
        "mcp": { "servers": { "lazy": server } },
        "conversation": { "limits": limits },
    });
    Client::with(
        world,
        prompts(),
        json!({ "trusted": true, "config": config }),
    )
}

#[test]
fn a_turn_that_waits_for_a_server_does_not_begin_once_it_is_cancelled() {
    let world = TestWorld::new();
    let mut client = with_a_slow_server(&world, &json!({}));
    let start = json!({ "message": "Go", "turnId": "mine" });
    let given = client.ask("aside/turn/start", start);
    client.request("aside/turn/cancel", json!({ "turnId": "mine" }));
    assert_eq!(client.answer(given)["error"]["code"], -32800);
    let withdrawn = client.ask("aside/turn/start", json!({ "message": "Go" }));
    client.notify("$/cancelRequest", json!({ "id": withdrawn }));
    assert_eq!(client.answer(withdrawn)["error"]["code"], -32800);
    assert!(world.conversations().is_empty(), "nothing of it stays");
    // Who leaves waits for no server either.
    client.ask("aside/turn/start", json!({ "message": "Go" }));
    client.request("shutdown", Value::Null);
    client.notify("exit", Value::Null);
    assert_eq!(client.ended(), Some(0));
}

#[test]
fn the_time_of_a_turn_covers_the_start_of_its_servers() {
    let world = TestWorld::new();
    let mut client = with_a_slow_server(&world, &json!({ "turn_seconds": 1 }));
    let given = client.ask("aside/turn/start", json!({ "message": "Go" }));
    let error = client.answer(given)["error"]["message"].clone();
    assert!(error.as_str().unwrap().contains("lazy"), "{error}");
}
