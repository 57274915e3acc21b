//! `aside mcp login`: a person pastes where the browser was sent back to; the tokens are kept, renewed, and shown nowhere.

use std::{
    io::{BufRead, BufReader, Write},
    os::unix::fs::PermissionsExt,
    process::Stdio,
};

use super::network::ServedWorld;

/// Logs in as a person does, with a browser that comes back with this code; what the program says at its end.
fn log_in(served: &ServedWorld, code: &str) -> (bool, String) {
    let mut command = served.command(&["mcp", "login", "srv"]);
    let mut running = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(running.stdout.take().unwrap()).lines();
    let opened = said.find_map(|line| line.ok().filter(|line| line.starts_with("http")));
    let opened = opened.expect("an address to open");
    let state = opened
        .split("state=")
        .nth(1)
        .unwrap()
        .split('&')
        .next()
        .unwrap();
    assert!(opened.contains("code_challenge_method=S256"), "{opened}");
    assert!(opened.contains("resource=http"), "{opened}");
    let back = format!("http://127.0.0.1:33418/callback?code={code}&state={state}\n");
    running
        .stdin
        .take()
        .unwrap()
        .write_all(back.as_bytes())
        .unwrap();
    let rest: Vec<String> = said.map_while(Result::ok).collect();
    let output = running.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), rest.join("\n") + &errors)
}

#[test]
fn a_login_gives_a_token_that_is_renewed_and_that_nobody_sees() {
    let served = ServedWorld::new("login", "");
    served
        .calls("echo", &[])
        .exits(0)
        .says("it requires a login; run `aside mcp login srv`");
    let (is_in, said) = log_in(&served, "c0de");
    assert!(is_in && said.contains("Logged in to srv."), "{said}");

    // The first token was over at once: it is renewed before it is used.
    let done = served.calls("echo", &[]).exits(0).writes("Done.\n");
    let requests = served.requests();
    assert!(
        requests.contains("token authorization_code c0de True\n"),
        "{requests}"
    );
    assert!(
        requests.contains("token refresh_token - False\n"),
        "{requests}"
    );
    assert!(
        done.stderr.contains("ok srv__echo: the key is [hidden]")
            || done.stderr.contains("the key is Bearer [hidden]"),
        "{done:?}"
    );

    let folder = served.folder().join("state/aside/mcp-logins");
    let modes: Vec<(String, u32)> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, entry.metadata().unwrap().permissions().mode() & 0o777)
        })
        .filter(|(name, _)| name.contains(".json"))
        .collect();
    assert!(modes.len() == 1 && modes[0].1 == 0o600, "{modes:?}");
    let found = served.within(
        "grep",
        &[
            "-rlE",
            "(t0ken|r3fresh)-of-the-login",
            "../state",
            "../config",
            ".",
        ],
    );
    let found = crate::world::start(&mut { found }).end();
    assert_eq!(found.stdout.lines().count(), 1, "{}", found.stdout);

    served
        .aside(&["mcp", "login", "srv", "--forget"])
        .exits(0)
        .writes("Logged out of srv.\n");
    assert!(!folder.join(&modes[0].0).exists());
}

#[test]
fn a_client_that_was_registered_before_registers_nothing() {
    let served = ServedWorld::new("login", "oauth_client_id = 'known-1'");
    let mut command = served.command(&["mcp", "login", "srv"]);
    let mut running = command.stdin(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(running.stdout.take().unwrap()).lines();
    let opened = said.find_map(|line| line.ok().filter(|line| line.starts_with("http")));
    let opened = opened.expect("an address to open");
    assert!(opened.contains("client_id=known-1"), "{opened}");
    drop(running.stdin.take());
    running.wait().unwrap();
    assert!(
        !served.requests().contains("/register"),
        "{}",
        served.requests()
    );
}

#[test]
fn what_is_pasted_has_to_be_where_this_login_came_back_to() {
    let served = ServedWorld::new("login", "");
    let mut command = served.command(&["mcp", "login", "srv"]);
    let mut running = command.stdin(Stdio::piped()).spawn().unwrap();
    let other = b"http://127.0.0.1:33418/callback?code=x&state=other\n";
    running.stdin.take().unwrap().write_all(other).unwrap();
    let output = running.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(errors.contains("the login to srv failed"), "{errors}");
    assert!(
        !served.requests().contains("token "),
        "{}",
        served.requests()
    );
}

#[test]
fn a_server_with_a_key_and_one_that_is_a_program_have_no_login() {
    let keyed = ServedWorld::new("login", "bearer_token_env = 'MCP_KEY'");
    keyed.user_config("[mcp.servers.srv]\nurl = 'http://127.0.0.1:1'\nheaders.Authorization = 'x'\n[mcp.servers.own]\ncommand = 'x'\n");
    keyed
        .aside(&["mcp", "login", "srv"])
        .exits(2)
        .says("has a key in its headers");
    keyed
        .aside(&["mcp", "login", "own"])
        .exits(2)
        .says("is a local program, which has no login");
    keyed
        .aside(&["mcp", "login", "none"])
        .exits(2)
        .says("there is no MCP server none");
}
