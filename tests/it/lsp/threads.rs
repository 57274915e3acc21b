//! A server that has run for a while, and then finds a limit of threads and processes.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt},
    path::Path,
    process::Command,
};

use rustix::process::{Resource, geteuid, getrlimit};
use serde_json::{Value, json};

use super::client::{Client, answer, initialize, prompts};
use crate::world::TestWorld;

/// An ordinary user, whom limits bind.
const NOBODY: u32 = 65534;

const SCRIPT: &str = r#"
    { user = "Run", step = 1 } => run_command run { command = "echo ran" }
    + read_file read { path = "a.txt" }
    always "Done."
"#;

fn give(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        give(&entry.path());
    }
}

/// The same, run by an ordinary user.
fn ordinary(mut command: Command) -> Command {
    if geteuid().is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// A server of an ordinary user's.
fn server(world: &TestWorld) -> Client {
    let model = world.script(SCRIPT);
    world.write("a.txt", "text\n");
    if geteuid().is_root() {
        give(world.folder());
    }
    let mut client = Client::run(ordinary(world.command(&["lsp", "--stdio"])));
    let options = json!({
        "trusted": true,
        "config": { "assistant": { "model": model }, "conversation": { "mode": "ask" } },
        "unsandboxed": true,
    });
    client.request("initialize", initialize(world, prompts(), options));
    client.notify("initialized", json!({}));
    client
}

/// Gives the server so many processes and threads of its user's, at the most.
fn limit(client: &Client, most: &str) {
    let mut command = Command::new("prlimit");
    command.args(["--pid", &client.id().to_string()]);
    command.arg(format!("--nproc={most}:"));
    assert!(ordinary(command).status().unwrap().success());
}

#[test]
fn a_limit_that_is_reached_while_the_server_runs_is_told_and_it_goes_on() {
    let world = TestWorld::new();
    let mut client = server(&world);
    let turn = client.turn(json!({ "message": "Run" }));
    let prompt = client.expect("aside/prompt");
    limit(&client, "1");

    // The turn that runs is told what it cannot have, and does what it can.
    client.reply(&prompt, answer("once"));
    let (_, end) = client.play(&turn, |prompt| panic!("{prompt}"));
    assert_eq!(end["answer"], "Done.", "{end}");
    let log = world.log();
    assert_eq!(log.told("read"), "text\n");
    let told = log.result("run");
    assert_eq!(told["status"], "error", "{told}");

    // No other turn begins, which leaves nothing behind; what there is can be read.
    let start = json!({ "message": "Say", "conversationId": turn["conversationId"] });
    let (_, why) = client.refused("aside/turn/start", start.clone());
    assert!(why.starts_with("cannot start a thread: "), "{why}");
    let list = client.request("aside/conversation/list", Value::Null);
    assert_eq!(list["items"][0]["turns"], 1, "{list}");

    let most = getrlimit(Resource::Nproc).current;
    limit(
        &client,
        &most.map_or("unlimited".to_owned(), |most| most.to_string()),
    );
    client.turn(start);
    assert_eq!(client.completed()["answer"], "Done.");
    client.leave();
}
