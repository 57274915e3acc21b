//! What overtakes what: whoever cancels, answers or leaves waits for nobody who reads.

use std::fs;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};

use super::client::{Client, prompts};
use crate::world::TestWorld;

const STALLS: &str =
    "[[reply]]\nrepeat = true\nsay = [{ text = 'Begin.' }]\nfault = { stall = true }\n";

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
