//! Servers of the Model Context Protocol: what they ask, and every way in which they are hostile.

mod asks;
mod ends;
mod hostile;
mod import;
mod login;
mod network;
pub(crate) mod real_servers;
mod size;

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::world::TestWorld;

/// They run unasked, as if inside the sandbox.
const ALLOWED: [&str; 4] = ["--trust", "--mode", "auto", "--unsandboxed"];

/// A world with a server `srv` that behaves in this way, with these keys besides.
fn world(mode: &str, keys: &str) -> TestWorld {
    let world = TestWorld::new();
    world.user_config(&config(mode, keys));
    world
}

fn config(mode: &str, keys: &str) -> String {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
    format!(
        "[mcp.servers.srv]\ncommand = 'python3'\nargs = {}\n{keys}\n",
        json!([server, mode])
    )
}

/// The script of a model that calls a tool of the server, and then says that it is done.
fn calls(tool: &str, arguments: &Value) -> String {
    let call = json!({ "call": format!("srv__{tool}"), "id": "call", "arguments": arguments });
    let replies = json!([{ "say": [call] }, { "say": [{ "text": "Done." }] }]);
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

/// What the model is told of one call of a tool.
#[track_caller]
fn told(world: &TestWorld, tool: &str, args: &[&str]) -> String {
    let script = calls(tool, &json!({"n": 1}));
    world
        .run(&script, &[&ALLOWED, args].concat())
        .exits(0)
        .writes("Done.\n");
    world.log().told("call").to_owned()
}

/// The processes of the server that were started, and still run.
fn left(world: &TestWorld) -> Vec<String> {
    let started = fs::read_to_string(world.at("started")).unwrap_or_default();
    let pids = started.lines().map(ToOwned::to_owned);
    let runs = |pid: &String| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat"));
        stat.is_ok_and(|stat| !stat.contains(") Z "))
    };
    pids.filter(runs).collect()
}
