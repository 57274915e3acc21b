//! The ground from which a server of the user's starts: nothing of the workspace, unless the user's settings name it, and
//! then as it was approved.

use std::fs;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;

use crate::world::{ASIDE, TestWorld, start, until};

/// A server without tools, and what it writes where it runs.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "mini", "version": "1"}} if m["method"] == "initialize" else {"tools": []}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
"#;

/// A program that shows that it ran, beside the workspace.
fn evil(world: &TestWorld) -> String {
    format!("open({:?}, 'w').write('x')\n", world.folder().join("out"))
}

/// A world with a server that is started by these words and keys.
fn world(args: &[&str], keys: &str) -> TestWorld {
    let world = TestWorld::new();
    let lib = world.folder().join("home/lib");
    fs::create_dir(&lib).unwrap();
    fs::write(lib.join("my_server.py"), SERVER).unwrap();
    world.user_config(&format!(
        "[mcp.servers.s]\ncommand = 'python3'\nargs = {}\nenv = {{ PYTHONPATH = '{}' }}\n{keys}\n",
        json!(args),
        lib.display()
    ));
    world.aside(&["trust", "--yes"]).exits(0);
    world
}

/// Arguments of a turn whose commands run in the sandbox, unasked.
const AUTO: [&str; 5] = [
    "--mode",
    "auto",
    "--set",
    "sandbox=auto",
    "--non-interactive",
];

/// The script of one call of a model, in which no server has a tool.
fn script(call: &serde_json::Value) -> String {
    let replies = json!([{ "say": [call] }, { "say": [{ "text": "Done." }] }]);
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

fn plays(world: &TestWorld, call: &serde_json::Value) {
    world.run(&script(call), &AUTO).exits(0);
}

/// A call of a command.
fn command(command: &str) -> serde_json::Value {
    json!({ "call": "run_command", "id": "a", "arguments": { "command": command } })
}

#[test]
fn a_server_of_the_user_s_runs_nothing_that_a_workspace_holds() {
    type Plant = fn(&TestWorld);
    let ways: [(&str, Plant); 3] = [
        ("a command", |world| {
            let write = format!("cat >my_server.py <<'P'\n{}P\n", evil(world));
            plays(world, &command(&write));
        }),
        ("a tool", |world| {
            let arguments = json!({ "path": "my_server.py", "content": evil(world) });
            plays(
                world,
                &json!({ "call": "write_file", "id": "a", "arguments": arguments }),
            );
        }),
        ("a checkout", |world| {
            world.write("my_server.py", &evil(world))
        }),
    ];
    for (way, plant) in ways {
        let world = world(&["-m", "my_server"], "");
        world.aside(&["mcp", "list"]).exits(0);
        plant(&world);
        assert!(world.at("my_server.py").exists(), "{way}");
        world.aside(&["mcp", "list"]).exits(0);
        assert!(!world.folder().join("out").exists(), "{way}");
    }
}

/// Lists the server of this world until somebody changes what it starts from, and after it was approved again.
fn asks_after(world: &TestWorld, change: impl Fn(&TestWorld)) {
    world.aside(&["mcp", "list"]).exits(0);
    world.aside(&["mcp", "list"]).exits(0);
    change(world);
    for trusted in [&[][..], &["--trust"]] {
        let model = world.script("[[reply]]\nrepeat = true\nsay = [{ text = 'Done.' }]\n");
        let args = [&["run", "-m", &model, "Go", "--non-interactive"], trusted].concat();
        let done = world.aside(&args).exits(0);
        done.says("changed since you approved it; look at it, then run `aside trust`");
    }
    assert!(!world.folder().join("out").exists());
    world.aside(&["trust", "--yes"]).exits(0);
    let _ = world.aside(&["mcp", "list"]);
    assert!(world.folder().join("out").exists(), "it was approved");
}

#[test]
fn a_folder_of_the_workspace_in_which_a_server_starts_is_approved_as_it_is() {
    let world = world(&["-m", "here"], "cwd = 'tools'");
    world.write("tools/here.py", SERVER);
    asks_after(&world, |world| {
        world.write("tools/here.py", &(evil(world) + SERVER));
    });
    // So is what its program loads.
    let world = self::world(&["-m", "here"], "cwd = 'tools'");
    world.write("tools/here.py", SERVER);
    asks_after(&world, |world| world.write("tools/json.py", &evil(world)));
}

#[test]
fn a_file_of_the_workspace_that_starts_a_server_is_approved_as_it_is() {
    let world = world(&["PLACE"], "");
    let file = world.at("tools/server.py").display().to_string();
    let config = world.folder().join("config/aside/aside.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("PLACE", &file)).unwrap();
    world.write("tools/server.py", SERVER);
    asks_after(&world, |world| {
        // What was there keeps its name, its size and its time.
        let new = evil(world) + SERVER;
        world.write("tools/server.py", &new);
    });
}

#[test]
fn a_server_starts_from_the_workspace_while_no_command_can_change_that() {
    let world = world(&["-m", "here"], "cwd = 'tools'");
    world.write("tools/here.py", SERVER);
    world.aside(&["mcp", "list"]).exits(0);
    let go = world.at("go");
    mknodat(CWD, &go, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let running = world.start_until(&script(&command(": >began; cat go")), &AUTO, "call_started");
    until("a command", || world.at("began").exists());
    let refused = world.aside(&["mcp", "list"]).exits(1);
    let why = "a command runs in the sandbox that could change what it starts from; try again when that has ended";
    assert!(refused.stdout.contains(why), "{}", refused.stdout);
    fs::write(&go, "").unwrap();
    running.end().exits(0);
    world.aside(&["mcp", "list"]).exits(0);
}

/// A server with a tool, which ends after its first call. It writes beside the folder that is watched.
const ENDS: &str = r#"
import json, os, sys
again = os.path.exists("../called")
for line in sys.stdin:
    m = json.loads(line)
    if "id" in m:
        is_call = m["method"] == "tools/call"
        r = {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
        if m["method"] == "initialize":
            r = {"protocolVersion": m["params"]["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "mini", "version": "1"}}
        if is_call:
            open("../called", "w").close()
            r = {"content": [{"type": "text", "text": "again" if again else "first"}]}
        print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
        if is_call and not again:
            sys.exit()
"#;

#[test]
fn a_call_whose_server_may_not_start_yet_says_so_and_waits() {
    let world = world(
        &["-m", "here"],
        "cwd = 'tools'\nstartup_seconds = 2\n[conversation.tools.s__t]\nrun = 'unattended'",
    );
    world.write("tools/here.py", ENDS);
    world.aside(&["mcp", "list"]).exits(0);
    for gate in ["gate", "go"] {
        mknodat(
            CWD,
            world.at(gate),
            FileType::Fifo,
            Mode::RUSR | Mode::WUSR,
            0,
        )
        .unwrap();
    }
    let call = |id: &str| json!({ "call": "s__t", "id": id, "arguments": {} });
    let steps = [
        call("one"),
        command(": >waits; cat gate"),
        call("two"),
        json!({ "text": "Done." }),
    ];
    let steps: Vec<_> = steps.map(|step| json!({ "say": [step] })).into();
    let model = world.script(&toml::to_string(&json!({ "reply": steps })).unwrap());
    let run = [ASIDE, "run", "-m", &model, "Go", "--output", "jsonl"];
    let line = ["-c", "exec \"$@\" >../out", "sh"];
    let waiting = start(&mut world.within("sh", &[&line[..], &run, &AUTO].concat()));
    until("a command after the first call", || {
        world.at("waits").exists()
    });
    let running = world.start_until(&script(&command(": >began; cat go")), &AUTO, "call_started");
    until("a command of another window", || world.at("began").exists());
    fs::write(world.at("gate"), "").unwrap();
    let shown = || fs::read_to_string(world.folder().join("out")).unwrap();
    until("a word of the call", || {
        shown().contains("The server starts as soon as no command runs in the sandbox")
    });
    assert!(!shown().contains("again"));
    fs::write(world.at("go"), "").unwrap();
    running.end().exits(0);
    waiting.end().exits(0);
    assert!(shown().contains("again"), "{}", shown());
}

#[test]
fn a_command_waits_until_a_server_that_starts_from_the_workspace_has_answered() {
    let world = world(&["-m", "here"], "cwd = 'tools'");
    let go = world.at("go");
    mknodat(CWD, &go, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    // It writes beside the folder that is watched.
    let waits = "open('../began', 'w')\nopen('../answered', 'w').write(open('../go').read())\n";
    world.write("tools/here.py", &(waits.to_owned() + SERVER));
    let listing = world.start(&["mcp", "list"]);
    until("a server", || world.at("began").exists());
    let running = world.start_until(&script(&command("cat answered")), &AUTO, "call_started");
    fs::write(&go, "yes").unwrap();
    listing.end().exits(0);
    running.end().exits(0);
    world.log().told_has("a", "yes");
}

#[test]
fn what_a_program_reads_above_its_folder_is_approved_as_it_is() {
    for (command, file) in [
        ("npx", "node_modules/mini/x.js"),
        ("sh", "package.json"),
        ("uv", "pyproject.toml"),
        ("python3", ""),
    ] {
        let world = TestWorld::new();
        world.write("tools/a", "");
        world.user_config(&format!(
            "[mcp.servers.s]\ncommand = '{command}'\nargs = ['here']\ncwd = 'tools'\n"
        ));
        world.aside(&["trust", "--yes"]).exits(0);
        let _ = world.aside(&["mcp", "list"]);
        for name in [
            "node_modules/mini/x.js",
            "package.json",
            "pyproject.toml",
            "README.md",
        ] {
            world.write(name, "{}");
            let model = world.script("[[reply]]\nsay = [{ text = 'Done.' }]\n");
            let done = world
                .aside(&["run", "-m", &model, "Go", "--non-interactive"])
                .exits(0);
            let is_watched = done.stderr.contains("changed since you approved it");
            let is_read = command == "sh" && name != "README.md"
                || name == file
                || command == "npx" && name == "package.json";
            assert_eq!(is_watched, is_read, "{command} {name}: {}", done.stderr);
            world.aside(&["trust", "--yes"]).exits(0);
            let _ = world.aside(&["mcp", "list"]);
        }
    }
}

#[test]
fn words_that_a_shell_expands_are_watched() {
    let words = [
        "exec python3 $HOME/../work/tools/server.py",
        "exec python3 \"${HOME}\"/../work/tools/server.py",
        "exec python3 ~/../wor*/tools/server.py",
    ];
    for word in words {
        let world = world(&[], "");
        let config = world.folder().join("config/aside/aside.toml");
        let command = format!("command = 'sh'\nargs = ['-c', {}]", json!(word));
        fs::write(&config, format!("[mcp.servers.s]\n{command}\n")).unwrap();
        world.write("tools/server.py", SERVER);
        world.aside(&["trust", "--yes"]).exits(0);
        asks_after(&world, |world| {
            world.write("tools/server.py", &(evil(world) + SERVER));
        });
    }
}

#[test]
fn a_user_may_say_that_a_server_runs_nothing_of_what_it_is_told() {
    let world = world(&["-m", "my_server"], "cwd = '.'\nmay_change = true");
    world.aside(&["mcp", "list"]).exits(0);
    world.write("a", "b");
    world.aside(&["mcp", "list"]).exits(0);
}

#[test]
fn npx_takes_no_package_of_the_workspace() {
    let there = std::process::Command::new("npx").arg("--version").output();
    if there.is_err() {
        return;
    }
    let world = TestWorld::new();
    let out = world.folder().join("out");
    let script = format!("#!/bin/sh\ntouch {}\n", out.display());
    world.write("node_modules/.bin/mini-server", &script);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(world.at("node_modules/.bin/mini-server"), mode).unwrap();
    world.write("package.json", "{ \"name\": \"small\" }\n");
    world.user_config(
        "[mcp.servers.s]\ncommand = 'npx'\nargs = ['--offline', '--no-install', 'mini-server']\n",
    );
    world.aside(&["trust", "--yes"]).exits(0);
    world.aside(&["mcp", "list"]).exits(1);
    assert!(!out.exists());
}

#[test]
fn a_server_of_the_project_starts_from_what_was_approved() {
    let forms = [
        (
            "command = '/usr/bin/python3'\nargs = ['s']",
            "s/__main__.py",
        ),
        (
            "command = '/usr/bin/python3'\nargs = ['-m', 'm']\nenv = { PYTHONPATH = 'ROOT/lib' }",
            "lib/m.py",
        ),
        (
            "command = 'sh'\nargs = ['-c', 'exec python3 ROOT/one.py']",
            "one.py",
        ),
        (
            "command = '/usr/bin/env'\nargs = ['--split-string=/usr/bin/python3 ROOT/one.py']",
            "one.py",
        ),
    ];
    for (settings, file) in forms {
        let world = TestWorld::new();
        world.write(file, SERVER);
        let root = world.at("").display().to_string();
        let root = root.trim_end_matches('/');
        let settings = format!("[mcp.servers.s]\n{}\n", settings.replace("ROOT", root));
        world.write("aside.toml", &settings);
        world.aside(&["trust", "--yes"]).exits(0);
        world.aside(&["mcp", "list"]).exits(0);
        world.write(file, &(evil(&world) + SERVER));
        // What a word names ends trust in the project; the word for a run does not cover it either.
        for trusted in [&[][..], &["--trust"]] {
            let model = world.script("always 'Done.'");
            let args = [&["run", "-m", &model, "Go", "--non-interactive"], trusted].concat();
            let done = world.aside(&args).exits(0);
            done.says(" changed").says("`aside trust`");
        }
        assert!(!world.folder().join("out").exists(), "{file}");
        world.aside(&["trust", "--yes"]).exits(0);
        let _ = world.aside(&["mcp", "list"]);
        assert!(world.folder().join("out").exists(), "it was approved");
    }
}

#[test]
fn a_server_of_the_project_that_says_so_may_read_files_that_change() {
    let world = TestWorld::new();
    world.write("s.py", SERVER);
    let settings =
        "[mcp.servers.s]\ncommand = '/usr/bin/python3'\nargs = ['s.py', '.']\nmay_change = true\n";
    world.write("aside.toml", settings);
    world.aside(&["trust", "--yes"]).exits(0);
    world.aside(&["mcp", "list"]).exits(0);
    world.write("notes.txt", "new");
    let model = world.script("always 'Done.'");
    let done = world.aside(&["run", "-m", &model, "Go", "--non-interactive"]);
    let done = done.exits(0);
    assert!(!done.stderr.contains("changed since"), "{}", done.stderr);
}
