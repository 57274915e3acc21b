//! The folder of the state, or that of the workspace, goes away under a server: it says so, and goes on with a new one.

use std::fs;

use serde_json::{Value, json};

use super::client::{Client, answer, nobody, prompts};
use crate::world::TestWorld;

/// A question in a turn on `Ask`, and nothing otherwise.
const ASKS: &str = r#"
    [[reply]]
    when = { user = "Ask", step = 1 }
    repeat = true
    say = [{ call = "ask_user", id = "asks", arguments = { question = "Name?" } }]
    [[reply]]
    repeat = true
    say = [{ text = "Fine." }]
"#;

fn forget_state(world: &TestWorld) {
    fs::remove_dir_all(world.folder().join("state/aside")).unwrap();
}

fn turn(client: &mut Client, message: &str) -> Value {
    let turn = client.turn(json!({ "message": message }));
    let (_, end) = client.play(&turn, nobody);
    assert_eq!(end["answer"], "Fine.", "{end}");
    turn
}

fn listed(client: &mut Client) -> usize {
    let list = client.request("aside/conversation/list", json!({}));
    list["items"].as_array().unwrap().len()
}

#[test]
fn a_state_folder_that_is_gone_is_made_again_for_what_comes_next() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, ASKS, prompts());
    let first = turn(&mut client, "Go");
    assert_eq!(listed(&mut client), 1);
    forget_state(&world);
    assert_eq!(listed(&mut client), 0);
    let id = &first["conversationId"];
    let again = json!({ "conversationId": id, "message": "Go" });
    let (code, why) = client.refused("aside/turn/start", again);
    assert_eq!(code, -32010, "{why}");
    assert!(why.contains("no conversation"), "{why}");
    turn(&mut client, "Go");
    assert_eq!(listed(&mut client), 1);
    client.leave();
    assert_eq!(world.log().one("turn_end")["outcome"], "completed");
}

#[test]
fn a_turn_whose_log_is_deleted_says_so_and_goes_no_further() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, ASKS, prompts());
    client.turn(json!({ "message": "Ask" }));
    let prompt = client.expect("aside/prompt");
    forget_state(&world);
    client.reply(&prompt, answer("Ada"));
    let end = client.completed();
    assert_eq!(end["outcome"], "failed", "{end}");
    assert_eq!(
        end["error"]["message"],
        "The conversation could not be written to disk: cannot write the conversation's log: it was deleted while it \
         was open; begin a new conversation."
    );
    client.forget("aside/turn/update");
    turn(&mut client, "Go");
    client.leave();
}

#[test]
fn a_workspace_that_is_gone_is_named_and_its_conversation_goes_on_when_it_is_back() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, ASKS, prompts());
    let first = turn(&mut client, "Go");
    let (root, aside) = (world.at(""), world.folder().join("aside"));
    fs::rename(&root, &aside).unwrap();
    let next = json!({ "conversationId": first["conversationId"], "message": "Go" });
    for params in [json!({ "message": "Go" }), next.clone()] {
        let (_, why) = client.refused("aside/turn/start", params);
        let root = root.display().to_string();
        let named = format!(
            "the workspace {} cannot be opened",
            root.trim_end_matches('/')
        );
        assert!(why.starts_with(&named), "{why}");
    }
    assert_eq!(listed(&mut client), 1, "what was said is there");
    fs::rename(&aside, &root).unwrap();
    let next = client.turn(next);
    let (_, end) = client.play(&next, nobody);
    assert_eq!(end["answer"], "Fine.", "{end}");
    client.leave();
}
