//! The namespace of processes that a server is started in: it keeps processes, and takes nothing away.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use serde_json::{Value, json};

use super::calls;
use crate::{
    sandbox::ground::{SandboxGround, program, users},
    world::{EventLog, TestWorld, start},
};

/// A server that tells in its only tool what it sees: a file beside the workspace, a variable, the processes and the network.
const LOOKS: &str = r#"
import json, os, sys
def seen():
    open("written", "w").write("x")
    return {"outside": open("../outside/file").read(), "variable": os.environ["NAMED"], "uid": os.getuid(),
            "own": os.readlink("/proc/self") == str(os.getpid()),
            "first": open("/proc/1/comm").read().strip(), "network": os.readlink("/proc/self/ns/net"),
            "processes": os.readlink("/proc/self/ns/pid"), "null": open("/dev/null").read()}
for line in sys.stdin:
    it = json.loads(line)
    if "id" not in it: continue
    result = {"content": [{"type": "text", "text": json.dumps(seen()) if it["method"] == "tools/call" else ""}]}
    if it["method"] == "initialize":
        result = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "x", "version": "1"}}
    if it["method"] == "tools/list":
        result = {"tools": [{"name": "look", "inputSchema": {"type": "object"}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": it["id"], "result": result}), flush=True)
"#;

fn configure(world: &TestWorld, keys: &str) {
    world.user_config(&format!(
        "[mcp.servers.srv]\ncommand = 'python3'\nargs = {}\nenv_vars = ['NAMED']\n{keys}\n\
         [conversation.tools.srv__look]\nrun = 'unattended'\n",
        json!(["-c", LOOKS])
    ));
}

/// What the server sees.
fn seen(ground: &SandboxGround, path: &Path) -> Value {
    fs::write(ground.outside("file"), "there").unwrap();
    let model = ground.world.script(&calls("look", &json!({})));
    ground.hand_over();
    let args = ["run", "-m", &model, "Go", "--trust", "--non-interactive"];
    let mut command = ground.command(program(), &args);
    command.env("NAMED", "value").env("PATH", path);
    start(&mut command).end().exits(0);
    let newest = ground.world.conversations().pop().unwrap();
    let log = EventLog::read(&newest);
    let told = log.told("call");
    serde_json::from_str(told).unwrap_or_else(|error| panic!("{error}: {told}"))
}

fn namespace(of: &str) -> String {
    let link = fs::read_link(format!("/proc/self/ns/{of}")).unwrap();
    link.display().to_string()
}

#[test]
fn a_server_has_processes_of_its_own_and_all_else_that_its_user_has() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        configure(&ground.world, "");
        let seen = seen(&ground, Path::new(&env::var_os("PATH").unwrap()));
        assert_eq!(seen["first"], "bwrap", "{seen}");
        assert_ne!(seen["processes"], namespace("pid"));
        assert_eq!(seen["own"], true, "its /proc is its own");
        assert_eq!(seen["network"], namespace("net"));
        assert_eq!([&seen["outside"], &seen["variable"]], ["there", "value"]);
        assert_eq!(seen["null"], "");
        assert!(ground.world.at("../home/written").exists());
    }
}

#[test]
fn a_server_that_is_not_to_have_one_gets_none() {
    let ground = SandboxGround::new(users()[0]);
    configure(&ground.world, "pid_namespace = false");
    let seen = seen(&ground, Path::new(&env::var_os("PATH").unwrap()));
    assert_eq!(seen["processes"], namespace("pid"));
}

/// Where there is no bubblewrap, and where it does not work, servers are started all the same, and the doctor tells.
#[test]
fn where_there_are_no_namespaces_servers_go_without_and_the_doctor_says_so() {
    let check = |bubblewrap: Option<&str>, why: &str| {
        let ground = SandboxGround::new(users()[0]);
        configure(&ground.world, "");
        let programs = ground.outside("programs");
        fs::create_dir(&programs).unwrap();
        link_all_but("bwrap", &programs);
        if let Some(script) = bubblewrap {
            let file = programs.join("bwrap");
            fs::write(&file, script).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let seen = seen(&ground, &programs);
        assert_eq!(seen["processes"], namespace("pid"));
        let mut doctor = ground.command(program(), &["doctor"]);
        let said = start(doctor.env("PATH", &programs)).end().stdout;
        let line = format!("MCP servers: local servers get no PID namespaces here: {why}");
        assert!(said.contains(&line), "{said}");
    };
    check(None, "bubblewrap is not installed");
    check(
        Some("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2\nexit 1\n"),
        "bubblewrap says \"No permissions to create a new namespace\"",
    );
    let ground = SandboxGround::new(users()[0]);
    configure(&ground.world, "");
    let said = ground.aside(&["doctor"]).stdout;
    assert!(
        said.contains("MCP servers: each local server runs in a PID namespace"),
        "{said}"
    );
}

#[test]
fn a_server_that_ends_at_once_may_need_what_is_not_there() {
    let ground = SandboxGround::new(users()[0]);
    let world = &ground.world;
    world.user_config(
        "[mcp.servers.srv]\ncommand = 'sh'\nargs = ['-c', 'echo no licence >&2; exit 1']\n",
    );
    let run = ground.run(&[], &[]);
    run.says("it exited before it answered; its last output was \"no licence\"; if it is a snap, or needs sudo or another setuid program, set its `pid_namespace = false`.");
    world.user_config("[mcp.servers.srv]\ncommand = '/not-there'\n");
    ground
        .run(&[], &[])
        .says("/not-there: No such file or directory");
}

/// Makes all programs there be in a folder, but for one.
fn link_all_but(name: &str, folder: &Path) {
    let path = env::var_os("PATH").unwrap();
    let folders = env::split_paths(&path).filter_map(|folder| fs::read_dir(folder).ok());
    for program in folders
        .flatten()
        .flatten()
        .filter(|it| it.file_name() != name)
    {
        // The first of a name counts.
        let _ = symlink(program.path(), folder.join(program.file_name()));
    }
}
