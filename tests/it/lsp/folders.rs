//! Which folders a client's word counts for, and what a turn may do in none.

use serde_json::{Value, json};

use super::client::{Client, initialize, nobody, prompts, uri};
use crate::world::{EventLog, TestWorld};

const READS: &str = r#"
    read_file read { path = "secret.txt" }
    + search search { pattern = "hunter2" }
    + run_command run { command = "cat secret.txt" }
    always "Done."
"#;

/// Plays a turn, and returns what is on record of it.
fn played(client: &mut Client, world: &TestWorld, params: Value) -> EventLog {
    let turn = client.turn(params);
    let (_, end) = client.play(&turn, nobody);
    assert_eq!(end["answer"], "Done.", "{end}");
    world.log()
}

#[test]
fn without_a_folder_no_tool_reads_anything() {
    for trusted in [false, true] {
        let world = TestWorld::new();
        world.write("secret.txt", "hunter2\n");
        let model = world.script(READS);
        let options = json!({ "trusted": trusted, "config": { "assistant": { "model": model } } });
        let mut params = initialize(&world, prompts(), options);
        // The server's own folder is one, and nobody said that it is the workspace.
        params["rootUri"] = Value::Null;
        let mut client = Client::spawn(&world);
        client.request("initialize", params);
        client.notify("initialized", json!({}));
        let log = played(&mut client, &world, json!({ "message": "Go" }));
        for call in ["read", "search", "run"] {
            let told = log.told(call);
            assert!(!told.contains("hunter2\n"), "{call}: {told}");
            assert_ne!(log.result(call)["status"], "success", "{call}: {told}");
        }
    }
}

#[test]
fn a_clients_trust_is_for_the_folders_that_it_named() {
    let world = TestWorld::new();
    world.write("named/secret.txt", "hunter2\n");
    world.write("other/secret.txt", "hunter2\n");
    let model = world.script(READS);
    let options = json!({
        "trusted": true,
        "config": { "assistant": { "model": model } },
        "unsandboxed": true,
    });
    let mut params = initialize(&world, prompts(), options);
    params["rootUri"] = json!(uri(&world, "named"));
    let mut client = Client::spawn(&world);
    client.request("initialize", params);
    client.notify("initialized", json!({}));

    let in_other =
        |mode: &str| json!({ "message": "Go", "root": uri(&world, "other"), "mode": mode });
    for mode in ["auto", "edits"] {
        let (code, why) = client.refused("aside/turn/start", in_other(mode));
        assert_eq!(code, -32015, "{why}");
    }
    let log = played(&mut client, &world, in_other("ask"));
    assert_eq!(log.result("run")["reason"], "not_trusted");
    let id = log.one("turn_start")["options"]["root"].clone();
    assert!(id.as_str().unwrap().ends_with("/other"), "{id}");
}

#[test]
fn an_editor_that_knows_nothing_of_aside_starts_nothing_by_its_first_words() {
    let world = TestWorld::new();
    let stolen = world.folder().join("stolen");
    let command = ["touch", stolen.to_str().unwrap()];
    let options = json!({
        "trusted": true,
        "config": {
            "assistant": { "model": "anthropic/claude-opus-5-5" },
            "providers": { "anthropic": { "api_key_command": command } },
        },
    });
    let mut client = Client::with(&world, json!({}), options);
    let ask = json!({ "command": "aside.server.ask", "arguments": [{ "message": "Go" }] });
    let id = client.ask("workspace/executeCommand", ask);
    client.answer(id);
    assert!(!stolen.exists(), "its program was started");
    client.leave();
    assert!(!stolen.exists(), "its program was started");
}
