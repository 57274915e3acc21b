//! Servers that this project did not write. `tests/mcp/run` installs them and plays this; without `ASIDE_MCP_SERVERS`, the
//! folder that they are in, nothing happens here.

use std::{
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use super::ALLOWED;
use crate::{
    lsp::client::{Client, answer, prompts},
    world::{TestWorld, until},
};

/// How long a server may take to begin.
const BEGINS: Duration = Duration::from_secs(60);

/// The folder of the servers.
pub(crate) fn installed() -> Option<PathBuf> {
    std::env::var_os("ASIDE_MCP_SERVERS").map(PathBuf::from)
}

/// A world with the reference server of the protocol's makers, which starts in it.
pub(crate) fn everything(folder: &Path) -> TestWorld {
    let program = "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js";
    let world = TestWorld::new();
    world.user_config(&format!(
        "[mcp.servers.everything]\ncommand = 'node'\nargs = {}\n\
         [conversation.tools.everything__trigger-elicitation-request]\nrun = 'unattended'\n",
        json!([folder.join(program), "stdio"])
    ));
    world
}

/// A model that calls a tool of a server, and then says that it is done.
pub(crate) fn calls(tool: &str, arguments: &Value) -> String {
    let call = json!({ "call": tool, "id": "call", "arguments": arguments });
    let replies = json!([{ "say": [call] }, { "say": [{ "text": "Done." }] }]);
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

/// What a person says to a question who takes what is proposed.
fn taken(prompt: &Value) -> Value {
    if prompt["kind"] == "runTool" {
        return answer("once");
    }
    if !prompt["default"].is_null() {
        return answer(prompt["default"].clone());
    }
    if prompt["optional"] == true {
        return answer(Value::Null);
    }
    match prompt["answerType"]["type"].as_str() {
        Some("boolean") => answer(true),
        Some("select") => answer(prompt["answerType"]["options"][0].clone()),
        _ => answer("Ada"),
    }
}

/// A turn in the editor in which a tool asks; what was asked, and what the model is told.
fn in_the_editor(world: &TestWorld, script: &str) -> (Vec<Value>, String) {
    let mut client = Client::start(world, script, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let mut asked = Vec::new();
    client.play(&turn, |prompt| {
        asked.push(prompt.clone());
        taken(prompt)
    });
    client.leave();
    (asked, world.log().told("call").to_owned())
}

#[test]
fn real_servers_form_is_answered_in_the_editor() {
    let Some(folder) = installed() else { return };
    let world = everything(&folder);
    let script = calls("everything__trigger-elicitation-request", &json!({}));
    let (asked, told) = in_the_editor(&world, &script);
    let kinds = asked
        .iter()
        .map(|prompt| prompt["answerType"]["type"].as_str().unwrap());
    let kinds: std::collections::BTreeSet<&str> = kinds.collect();
    assert_eq!(
        kinds.into_iter().collect::<Vec<_>>(),
        ["boolean", "multi_select", "number", "select", "text"],
        "{asked:#?}"
    );
    assert!(asked.len() >= 13, "{}", asked.len());
    assert!(
        told.contains("User provided the requested information"),
        "{told}"
    );
    assert!(told.contains("Ada"), "{told}");
}

#[test]
fn real_servers_question_fails_where_nobody_is_there() {
    let Some(folder) = installed() else { return };
    let world = everything(&folder);
    let script = calls("everything__trigger-elicitation-request", &json!({}));
    world.run(&script, &ALLOWED).exits(0).writes("Done.\n");
    let log = world.log();
    assert_eq!(log.one("inquiry_response")["reason"], "no_prompt_backend");
    log.told_begins(
        "call",
        "everything__trigger-elicitation-request cannot run because no interactive",
    );
}

#[test]
fn real_servers_behind_npx_end_with_the_program() {
    let Some(folder) = installed() else { return };
    let world = TestWorld::new();
    world.user_config(&format!(
        "[mcp.servers.everything]\ncommand = 'npx'\nargs = {}\nenv_vars = ['npm_config_cache']\n\
         [conversation.tools.everything__echo]\nrun = 'unattended'\n",
        json!([
            "--offline",
            "--prefix",
            folder.join("node"),
            "mcp-server-everything",
            "stdio"
        ])
    ));
    let script = calls("everything__echo", &json!({"message": "hello"}));
    world.run(&script, &ALLOWED).exits(0).writes("Done.\n");
    assert_eq!(world.log().told("call"), "Echo: hello");
    let place = world.at("../home").canonicalize().unwrap();
    let is_there = |process: &std::fs::DirEntry| {
        std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == place)
    };
    until("nothing runs there", || {
        !std::fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .any(|it| is_there(&it))
    });
}

/// A server on the network, which is ended when this is dropped.
struct Served(Child);

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn free_port() -> u16 {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    free.local_addr().unwrap().port()
}

/// Starts a server that listens there, which it is told by its last argument and by a variable.
fn serve(words: &[&Path], port: u16) -> Served {
    let server = Command::new(words[0])
        .args(&words[1..])
        .arg(port.to_string())
        .env("PORT", port.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let begun = Instant::now();
    until("the server listens", || {
        assert!(begun.elapsed() < BEGINS);
        TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    Served(server)
}

/// A model that calls a tool, asks whether to go on, and then calls it twice.
fn calls_again(tool: &str, arguments: &Value) -> String {
    let call = |id: &str| json!({ "say": [{ "call": tool, "id": id, "arguments": arguments }] });
    let asks = json!({ "question": "Go on?" });
    let asks = json!({ "say": [{ "call": "ask_user", "arguments": asks }] });
    let end = json!({ "say": [{ "text": "Done." }] });
    let replies = [call("before"), asks, call("after"), call("later"), end];
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

#[test]
fn real_servers_that_are_started_anew_between_two_calls_serve_again() {
    let Some(folder) = installed() else { return };
    let python = folder.join("python/bin/python");
    let asks = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/asks.py");
    let typescript =
        folder.join("node/node_modules/@modelcontextprotocol/server-everything/dist/index.js");
    let (node, over_http) = (Path::new("node"), Path::new("streamableHttp"));
    let hello = json!({ "message": "hello" });
    for (words, tool, expected) in [
        (vec![python.as_path(), asks.as_path()], "say", "hello"),
        (
            vec![node, typescript.as_path(), over_http],
            "echo",
            "Echo: hello",
        ),
    ] {
        let port = free_port();
        let mut served = Some(serve(&words, port));
        let world = TestWorld::new();
        let tool = format!("s__{tool}");
        world.user_config(&format!(
            "[mcp.servers.s]\nurl = 'http://127.0.0.1:{port}/mcp'\ntool_seconds = 30\n\
             [conversation.tools.{tool}]\nrun = 'unattended'\n"
        ));
        let mut client = Client::start(&world, &calls_again(&tool, &hello), prompts());
        let turn = client.turn(json!({ "message": "Go" }));
        client.play(&turn, |prompt| {
            assert_eq!(prompt["tool"]["name"], "ask_user", "{prompt}");
            served.take();
            served = Some(serve(&words, port));
            answer("yes")
        });
        client.leave();
        let log = world.log();
        assert_eq!(log.told("before"), expected);
        let after = log.told("after").to_owned();
        // What is known of the lost session is known at once, not when the call has had its time.
        assert!(!after.contains("30 s"), "{tool}: {after}");
        assert_eq!(log.told("later"), expected, "{tool}, after {after}");
    }
}

#[test]
fn real_servers_in_python_ask_in_both_protocols_over_pipes_and_http() {
    let Some(folder) = installed() else { return };
    let python = folder.join("python/bin/python");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/asks.py");
    let port = free_port();
    let _served = serve(&[&python, &program], port);
    let pipes = format!("command = {}\nargs = {}", json!(python), json!([program]));
    let http = format!("url = 'http://127.0.0.1:{port}/mcp'");
    for (place, protocol, tool) in [
        (&pipes, "2025-11-25", "deploy"),
        (&pipes, "2025-11-25", "deploy_live"),
        (&pipes, "2026-07-28", "deploy"),
        (&http, "2025-11-25", "deploy"),
        (&http, "2025-11-25", "deploy_live"),
        (&http, "2026-07-28", "deploy"),
    ] {
        let world = TestWorld::new();
        world.user_config(&format!(
            "[mcp.servers.asks]\n{place}\nprotocol = '{protocol}'\n"
        ));
        let script = calls(&format!("asks__{tool}"), &json!({"what": "web"}));
        let (asked, told) = in_the_editor(&world, &script);
        let texts: Vec<&Value> = asked.iter().map(|prompt| &prompt["context"]).collect();
        assert!(
            texts.iter().any(|text| text
                .as_str()
                .is_some_and(|text| text.contains("Deploy to which place?"))),
            "{place} {protocol}: {asked:#?}"
        );
        let expected = match tool {
            "deploy" => "web -> staging False",
            _ => "web: accept staging",
        };
        assert_eq!(told, expected, "{place} {protocol} {tool}");
    }
}
