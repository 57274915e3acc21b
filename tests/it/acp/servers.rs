//! The MCP servers that a client names.

use std::path::Path;

use serde_json::{Value, json};

use super::client::{Client, choose};
use crate::{
    mcp::{left, network::served},
    world::{TestWorld, until},
};

const CALLS: &str = r#"
    mine__echo call { n = 1 }
    "Done."
"#;

/// Plays a turn in which the model calls a tool of this server, and returns what the program logged.
fn played(world: &TestWorld, own: &Value) -> String {
    let model = world.script(CALLS);
    world.user_config(&format!("assistant.model = '{model}'\n"));
    world.aside(&["trust", "--yes"]).exits(0);
    let log = world.folder().join("aside.log");
    let mut command = world.command(&["acp", "--log-file", log.to_str().unwrap()]);
    command.env("ASIDE_LOG", "trace");
    let mut client = Client::of(command);
    client.initialize(json!({}));
    let opened = client.request(
        "session/new",
        json!({ "cwd": world.at(""), "mcpServers": [own] }),
    );
    client.session = opened["sessionId"].as_str().unwrap().to_owned();
    let (updates, reason) = client.play("Go", |request| {
        let call = &request["params"]["toolCall"];
        assert!(call["content"].to_string().contains("mine"), "{call}");
        choose("once")
    });
    assert_eq!(reason, "end_turn", "{updates:?}");
    client.leave();
    std::fs::read_to_string(log).unwrap()
}

/// No file of the state has this, nor the log.
#[track_caller]
fn appears_nowhere(world: &TestWorld, secret: &str, logged: &str) {
    assert!(!logged.is_empty() && !logged.contains(secret), "{logged}");
    let found = world
        .within("grep", &["-rl", secret, "../state"])
        .output()
        .unwrap();
    assert!(found.stdout.is_empty(), "{found:?}");
}

#[test]
fn one_on_pipes_runs_in_a_trusted_workspace_and_its_keys_are_in_no_log() {
    let world = TestWorld::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    let python = world
        .within("sh", &["-c", "command -v python3"])
        .output()
        .unwrap();
    let python = String::from_utf8(python.stdout).unwrap().trim().to_owned();
    let own = json!({ "name": "mine", "command": python, "args": [server], "env": [{ "name": "KEY", "value": "hunter2" }] });
    let logged = played(&world, &own);
    appears_nowhere(&world, "hunter2", &logged);
}

#[test]
fn sessions_of_one_folder_leave_each_other_their_servers() {
    let world = TestWorld::new();
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    let replies = CALLS.replace("when =", "times = 4\n    when =");
    let model = world.script(&replies);
    world.user_config(&format!("assistant.model = '{model}'\n"));
    world.aside(&["trust", "--yes"]).exits(0);
    let mut client = Client::spawn(&world);
    client.initialize(json!({}));
    let sessions = ["one", "other"].map(|of| {
        let env = [json!({ "name": "OF", "value": of })];
        let own = json!({ "name": "mine", "command": "python3", "args": [server], "env": env });
        let opened = client.request(
            "session/new",
            json!({ "cwd": world.at(""), "mcpServers": [own] }),
        );
        opened["sessionId"].as_str().unwrap().to_owned()
    });
    for session in [0, 1, 0, 1] {
        client.session.clone_from(&sessions[session]);
        let (updates, reason) = client.play("Go", |_| choose("once"));
        assert_eq!(reason, "end_turn", "{updates:?}");
    }
    assert_eq!(world.read("../home/started").lines().count(), 2);
    assert_eq!(left(&world).len(), 2);
    let close = json!({ "sessionId": sessions[0] });
    client.request("session/close", close);
    until("the server of the closed session has ended", || {
        left(&world).len() == 1
    });
    client.leave();
}

#[test]
fn one_over_http_gets_its_headers_and_they_are_in_no_log() {
    let world = TestWorld::new();
    let (mut server, url) = served(&world, "key");
    let key = json!([{ "name": "Authorization", "value": "Bearer s3cret-of-the-user" }]);
    let own = json!({ "type": "http", "name": "mine", "url": url, "headers": key });
    let logged = played(&world, &own);
    appears_nowhere(&world, "s3cret-of-the-user", &logged);
    // The server gives away what it was sent.
    assert_eq!(world.log().told("call"), "the key is [hidden]");
    let asked = std::fs::read_to_string(world.folder().join("requests")).unwrap();
    assert!(
        asked.contains("tools/call Bearer_s3cret-of-the-user"),
        "{asked}"
    );
    server.kill().unwrap();
    server.wait().unwrap();
}
