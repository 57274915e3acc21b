//! Servers over HTTP: both protocols, what they ask, keys, redirects, and each way in which they are hostile.

use std::{
    io::{BufRead, BufReader},
    ops::Deref,
    path::Path,
    process::{Child, Command, Stdio},
};

use serde_json::json;

use super::{
    ALLOWED, NEW_IN_THE_SECOND, UNATTENDED, asks::in_the_editor, calls, calls_each, two_turns,
};
use crate::world::{ProgramResult, TestWorld, start};

const KEY: &str = "s3cret-of-the-user";

/// A world in which the server `srv` is on the network.
pub(super) struct ServedWorld {
    world: TestWorld,
    server: Child,
}

/// Starts a server on the network that behaves in this way, and gives its place.
pub(crate) fn served(world: &TestWorld, mode: &str) -> (Child, String) {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/network.py");
    let mut server = Command::new("python3")
        .args([program.to_str().unwrap(), mode])
        .current_dir(world.folder())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    let mut said = BufReader::new(server.stdout.take().unwrap());
    said.read_line(&mut port).unwrap();
    (server, format!("http://127.0.0.1:{}/mcp", port.trim()))
}

impl ServedWorld {
    /// With a server that behaves in this way, and these keys besides.
    pub(super) fn new(mode: &str, keys: &str) -> Self {
        let world = TestWorld::new();
        let (server, url) = served(&world, mode);
        world.user_config(&format!("[mcp.servers.srv]\nurl = '{url}'\n{keys}\n"));
        Self { world, server }
    }

    /// A run in which the model calls a tool.
    pub(super) fn calls(&self, tool: &str, args: &[&str]) -> ProgramResult {
        let model = self.script(&calls(tool, &json!({"n": 1})));
        let args = [&["run", "-m", &model, "Go"], &ALLOWED[..], args].concat();
        start(self.command(&args).env("MCP_KEY", KEY)).end()
    }

    #[track_caller]
    pub(super) fn told(&self, tool: &str, args: &[&str]) -> String {
        self.calls(tool, args).exits(0).writes("Done.\n");
        self.log().told("call").to_owned()
    }

    /// What the server was asked, a line each: method, path, message, key.
    pub(super) fn requests(&self) -> String {
        std::fs::read_to_string(self.folder().join("requests")).unwrap()
    }
}

impl Deref for ServedWorld {
    type Target = TestWorld;

    fn deref(&self) -> &TestWorld {
        &self.world
    }
}

impl Drop for ServedWorld {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn both_protocols_are_spoken_and_a_server_asks_in_each() {
    for mode in ["plain", "modern"] {
        let served = ServedWorld::new(mode, "");
        assert_eq!(served.told("echo", &[]), "{\"n\": 1}", "{mode}");
        let served = ServedWorld::new(mode, "");
        let (asked, told) = in_the_editor(&served, &calls("ask", &json!({})));
        assert_eq!(asked.len(), 3, "{mode}: {asked:#?}");
        assert_eq!(asked[1]["context"], "Where to?", "{mode}");
        let sent = r#"{"action": "accept", "content": {"target": "production", "sure": true}}"#;
        assert_eq!(told, sent, "{mode}");
    }
}

#[test]
fn the_older_protocol_is_asked_for_only_where_the_newer_is_not_known() {
    let asked = |mode: &str, keys: &str| {
        let served = ServedWorld::new(mode, keys);
        served.told("echo", &[]);
        let requests = served.requests();
        let begun = ["server/discover", "initialize"].into_iter();
        begun
            .filter(|method| requests.contains(method))
            .collect::<Vec<_>>()
    };
    assert_eq!(asked("modern", ""), ["server/discover"]);
    assert_eq!(asked("plain", ""), ["server/discover", "initialize"]);
    assert_eq!(asked("plain", "protocol = '2025-11-25'"), ["initialize"]);
}

#[test]
fn a_key_goes_to_the_server_alone_and_appears_nowhere() {
    let keys = [
        "bearer_token_env = 'MCP_KEY'",
        "headers.Authorization = 'Bearer s3cret-of-the-user'",
    ];
    for keys in keys {
        let served = ServedWorld::new("key", keys);
        let told = served.told("echo", &[]);
        assert!(
            told.starts_with("the key is ") && told.contains("[hidden]"),
            "{told}"
        );
        let requests = served.requests();
        assert!(
            requests
                .lines()
                .all(|line| line.ends_with(&format!("Bearer_{KEY}"))),
            "{requests}"
        );
        let shown = served.aside(&["config", "show"]).exits(0);
        assert!(!format!("{shown:?}").contains(KEY), "{shown:?}");
        let found = served.within("grep", &["-rl", KEY, "../state"]);
        let found = start(&mut { found }).end();
        assert_eq!(found.stdout, "", "{keys}");
    }
    let served = ServedWorld::new("key", "");
    served.calls("echo", &[]).exits(0).says(
        "The tools of the MCP server srv are unavailable: it requires a login; run `aside mcp login srv`",
    );
    let wrong = ServedWorld::new(
        "key",
        "headers.Authorization = 'Bearer wrong-key-of-the-user'",
    );
    wrong.calls("echo", &[]).exits(0).says(
        "The tools of the MCP server srv are unavailable: it refused its key; correct the variable or the header",
    );
    let refused = ServedWorld::new("login", "bearer_token_env = 'MCP_KEY'");
    refused.calls("echo", &[]).exits(0).says(
        "The tools of the MCP server srv are unavailable: it refused its key; correct the variable or the header",
    );
    let pasted = ServedWorld::new("key", "bearer_token_env = 'sk_live_9f8e7d6c5b4a'");
    let done = pasted.calls("echo", &[]).exits(0);
    assert!(!format!("{done:?}").contains("sk_live"), "{done:?}");
    let unset = ServedWorld::new("key", "bearer_token_env = 'NO_SUCH_KEY'");
    unset
        .calls("echo", &[])
        .exits(0)
        .says("NO_SUCH_KEY, which should hold its key, is not set");
}

#[test]
fn a_redirect_is_not_followed() {
    let served = ServedWorld::new("redirect", "bearer_token_env = 'MCP_KEY'");
    served
        .calls("echo", &[])
        .exits(0)
        .says("it redirects (307 Temporary Redirect), which Aside does not follow");
    assert!(
        !served.requests().contains("/elsewhere"),
        "{}",
        served.requests()
    );
}

#[test]
fn a_server_that_does_not_open_is_said_to_be_missing_and_the_turn_goes_on() {
    let check = |mode: &str, keys: &str, why: &str| {
        let served = ServedWorld::new(mode, keys);
        let done = served.calls("echo", &[]).exits(0).writes("Done.\n");
        done.says("The tools of the MCP server srv are unavailable: ")
            .says(why);
        assert_eq!(
            served.log().told("call"),
            "There is no tool srv__echo.",
            "{mode}"
        );
    };
    check("silent", "startup_seconds = 1", "no answer within 1 s");
    check("busy", "", "it answered 503 Service Unavailable");
    check("page", "", "it answered with text/html, which is not MCP");
    let world = TestWorld::new();
    world.user_config("[mcp.servers.srv]\nurl = 'http://127.0.0.1:1/mcp'\n");
    let done = world.run(&calls("echo", &json!({})), &ALLOWED).exits(0);
    done.says("it cannot be reached: Connection refused");
}

#[test]
fn what_goes_wrong_in_a_call_ends_that_call() {
    let told = |mode: &str, args: &[&str]| ServedWorld::new(mode, "").told("echo", args);
    for (mode, args, expected) in [
        ("crash", &[][..], "effects are unknown"),
        (
            "hang",
            &["--set", "conversation.limits.tool_seconds=1"],
            "ran longer than 1 s and was stopped",
        ),
        ("refuse", &[], "it answered 500 Internal Server Error"),
        ("body", &[], "longer than 4 MiB"),
        // What it did before it flooded, nobody knows.
        ("flood", &[], "effects are unknown"),
    ] {
        let told = told(mode, args);
        assert!(told.contains(expected), "{mode}: {told}");
    }
    assert_eq!(told("noise", &[]), "{\"n\": 1}");
    let secret = ServedWorld::new("secret", "").told("ask", &[]);
    assert!(
        secret.contains("it asked for a secret (`password`) in a form, which is not allowed"),
        "{secret}"
    );
}

#[test]
fn tools_that_changed_while_a_turn_ran_are_there_from_the_next_one_on() {
    for mode in ["relisting", "relisting-modern"] {
        let served = ServedWorld::new(mode, UNATTENDED);
        let script = calls_each(&["srv__echo", "srv__new0"]);
        let results = two_turns(&served, &script, || {});
        // In the turn in which they changed, they are what they were.
        assert_eq!(results, NEW_IN_THE_SECOND, "{mode}");
        let lists = served.requests().matches(" tools/list ").count();
        assert_eq!(lists, 2, "{mode}");
    }
}

#[test]
fn the_protocol_is_agreed_on_anew_with_a_server_that_is_another_version() {
    for mode in ["upgraded", "downgraded"] {
        let served = ServedWorld::new(mode, "");
        let script = calls_each(&["srv__echo", "srv__echo", "srv__echo"]);
        served.run(&script, &ALLOWED).exits(0).writes("Done.\n");
        let log = served.log();
        assert_eq!(log.told("call 0"), "{}", "{mode}");
        let second = log.told("call 1").to_owned();
        assert!(second.contains("the server srv failed"), "{mode}: {second}");
        assert_eq!(log.told("call 2"), "{}", "{mode}: {second}");
    }
}

#[test]
fn a_session_that_the_server_forgot_is_opened_anew() {
    for mode in ["forgets 400", "forgets 404"] {
        let served = ServedWorld::new(mode, "tool_seconds = 60");
        let script = calls_each(&["srv__echo", "srv__echo", "srv__echo"]);
        served.run(&script, &ALLOWED).exits(0).writes("Done.\n");
        let log = served.log();
        assert_eq!(log.told("call 0"), "{}", "{mode}");
        let second = log.told("call 1").to_owned();
        let is_refused = second.contains("No valid session") && !second.contains("unknown");
        assert!(second == "{}" || is_refused, "{mode}: {second}");
        assert_eq!(log.told("call 2"), "{}", "{mode}");
    }
}

#[test]
fn only_the_tools_that_are_wanted_are_there() {
    for (keys, echo, ask) in [
        ("include_tools = ['ec*']", true, false),
        ("exclude_tools = ['echo']", false, true),
    ] {
        let served = ServedWorld::new("plain", keys);
        served.aside(&["trust", "--yes"]).exits(0);
        let listed = served.aside(&["mcp", "list"]).exits(0).stdout;
        assert!(listed.starts_with("srv  http://127.0.0.1:"), "{listed}");
        assert_eq!(
            [listed.contains("srv__echo"), listed.contains("srv__ask")],
            [echo, ask],
            "{listed}"
        );
    }
}

/// Errors with another id, with none and with nothing in them, under several statuses.
#[test]
fn an_answer_belongs_to_its_request_whatever_id_it_has() {
    let error = |id: &str| {
        format!(r#"{{"jsonrpc":"2.0",{id}"error":{{"code":-32000,"message":"No such session"}}}}"#)
    };
    let stream = |id: &str| format!("data: {}\n\n", error(id));
    let table = [
        (400, error(r#""id":null,"#), "No such session"),
        (400, error(""), "No such session"),
        (400, error(r#""id":"server-error","#), "No such session"),
        (404, error(r#""id":4711,"#), ""),
        (500, error(r#""id":null,"#), "No such session"),
        (200, error(r#""id":null,"#), "No such session"),
        (200, error(""), "No such session"),
        (200, stream(r#""id":null,"#), "No such session"),
        (200, stream(r#""id":4711,"#), "No such session"),
        (202, String::new(), "no answer"),
        (204, String::new(), "no answer"),
        (200, r#"{"jsonrpc":"2.0","id":4711,"result":{}}"#.to_owned(), "another request"),
        (200, r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}}"#.to_owned(), "none to the request"),
        (200, "{}".to_owned(), ""),
        (400, "bad".to_owned(), "400"),
    ];
    for (status, body, says) in table {
        let served = ServedWorld::new(&format!("answers {status} {body}"), "tool_seconds = 30");
        let told = served.told("echo", &[]);
        assert!(told.contains(says), "{status} {body}: {told}");
        assert!(!told.contains("ran longer"), "{status} {body}: {told}");
    }
}
