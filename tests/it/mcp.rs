//! Servers of the Model Context Protocol: what they ask, and every way in which they are hostile.

mod asks;
mod ends;
mod grounds;
mod hostile;
mod import;
mod listed;
mod login;
mod many;
mod namespace;
pub(crate) mod network;
pub(crate) mod real_servers;
mod size;

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::{
    lsp::client::{Client, nobody, prompts},
    world::TestWorld,
};

/// Two tools of the server may run without a prompt.
const UNATTENDED: &str = "[conversation.tools.srv__echo]\nrun = 'unattended'\n[conversation.tools.srv__new0]\nrun = 'unattended'";
/// What two turns are told that call `srv__echo` and `srv__new0`, which is there from the second turn on.
const NEW_IN_THE_SECOND: [&str; 4] = ["{}", "There is no tool srv__new0.", "{}", "{}"];

/// A model that calls these tools one after another, by the ids `call 0`, `call 1`, …
fn calls_each(tools: &[&str]) -> String {
    let call = |(nth, tool)| {
        format!("[[reply]]\nsay = [{{ call = '{tool}', id = 'call {nth}', arguments = {{}} }}]\n")
    };
    let calls: String = tools.iter().enumerate().map(call).collect();
    calls + "[[reply]]\nsay = [{ text = 'Done.' }]\n"
}

/// Plays two turns of one conversation in an editor where nothing is asked; gives the results of all calls.
fn two_turns(world: &TestWorld, script: &str, between: impl FnOnce()) -> Vec<String> {
    let mut client = Client::start(world, script, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    client.play(&turn, nobody);
    between();
    let id = turn["conversationId"].clone();
    let turn = client.turn(json!({ "conversationId": id, "message": "Go" }));
    client.play(&turn, nobody);
    client.leave();
    let log = world.log();
    let content = |it: &&Value| it["content"].as_str().unwrap().to_owned();
    log.all("tool_result").iter().map(content).collect()
}

/// They run unasked, as if inside the sandbox.
const ALLOWED: [&str; 4] = ["--trust", "--mode", "auto", "--unsandboxed"];

/// A world with a server `srv` that behaves in this way, with these keys besides.
fn world(mode: &str, keys: &str) -> TestWorld {
    let world = TestWorld::new();
    world.user_config(&config(mode, keys));
    world
}

pub(crate) fn config(mode: &str, keys: &str) -> String {
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

/// The processes of servers that run in the home. They know themselves by other numbers.
pub(crate) fn left(world: &TestWorld) -> Vec<String> {
    let home = world.at("../home").canonicalize().unwrap();
    let is_server = |process: &Path| {
        let arguments = fs::read(process.join("cmdline")).unwrap_or_default();
        let mut words = arguments.split(|byte| *byte == 0).skip(1);
        words
            .next()
            .is_some_and(|word| word.ends_with(b"/server.py"))
            && fs::read_link(process.join("cwd")).is_ok_and(|at| at == home)
    };
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let processes = processes.map(|process| process.path());
    let running = processes.filter(|process| is_server(process));
    running
        .map(|process| process.display().to_string())
        .collect()
}
