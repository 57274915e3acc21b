//! A provider's key stays in the program: no command that a tool runs can read it, whoever the user is.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt},
    path::Path,
};

use rustix::process::{Signal, geteuid};

use crate::world::{TestWorld, start};

/// An ordinary user, for whom there need not be a name.
const NOBODY: u32 = 65534;

/// The command looks through the environments and memory maps of all processes that it may look at.
const READS: &str = r#"
    run_command run { command = "for p in /proc/[0-9]*; do tr '\\0' '\\n' <$p/environ; done 2>/dev/null | grep -o 'canary-[a-z]*-[0-9]*' | sort -u; echo looked; cat /proc/$PPID/status | grep -c PPid" }
    "Done."
"#;

/// Gives a folder and all that is in it to a user.
fn give(folder: &Path, user: u32) {
    chown(folder, Some(user), Some(user)).unwrap();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        give(&entry.path(), user);
    }
}

/// What the command found, run by this user, who has keys in variables that are known and in one that is configured.
fn found(user: u32) -> String {
    let world = TestWorld::new();
    world.user_config("providers.mine = { api = 'openai-chat', base_url = 'http://127.0.0.1:1', api_key_env = 'MINE' }\n");
    let model = world.script(READS);
    let run = [
        "run",
        "-m",
        &model,
        "Go",
        "--trust",
        "--mode",
        "auto",
        "--unsandboxed",
    ];
    let mut command = world.command(&run);
    let mark = std::process::id();
    command
        .env("ANTHROPIC_API_KEY", format!("canary-known-{mark}"))
        .env("SOME_TOKEN", format!("canary-other-{mark}"))
        .env(
            "ANTHROPIC_CUSTOM_HEADERS",
            format!("x: canary-header-{mark}"),
        )
        .env("MINE", format!("canary-configured-{mark}"));
    if user != geteuid().as_raw() {
        give(world.folder(), user);
        command.uid(user).gid(user);
    }
    start(&mut command).end().exits(0);
    world.log().told("run").to_owned()
}

#[test]
fn commands_do_not_find_it_in_any_environment() {
    let mut users = vec![geteuid().as_raw()];
    if geteuid().is_root() {
        users.push(NOBODY);
    }
    for user in users {
        let told = found(user);
        assert_eq!(told, "Exit status 0.\nlooked\n1", "as user {user}");
    }
}

#[test]
fn a_crash_leaves_no_core_file_in_the_workspace() {
    let world = TestWorld::new();
    let script = world.script("'Half a '\n& fault = { stall = true }");
    let run = format!(
        "ulimit -c unlimited; exec {} run -m {script} Go",
        crate::world::ASIDE
    );
    let mut command = world.within("setsid", &["sh", "-c", &run]);
    command.env("ANTHROPIC_API_KEY", "canary-core");
    let mut running = start(&mut command);
    crate::world::until("the turn has begun", || {
        let logs = world.conversations();
        let of = |folder: &std::path::PathBuf| fs::read_to_string(folder.join("events.jsonl"));
        logs.iter()
            .any(|folder| of(folder).is_ok_and(|log| log.contains("request_sent")))
    });
    running.signal(Signal::ABORT);
    running.end().exits(-1);
    let left = fs::read_dir(world.at("")).unwrap().count();
    assert_eq!(left, 0, "nothing was left in the workspace");
}

#[test]
fn it_is_still_found_where_it_is_needed() {
    let world = TestWorld::new();
    world.user_config("providers.mine = { api = 'openai-chat', base_url = 'http://127.0.0.1:1', api_key_env = 'MINE' }\n");
    let mut command = world.command(&["doctor"]);
    command
        .env("ANTHROPIC_API_KEY", "canary-known")
        .env("MINE", "canary-configured");
    let said = start(&mut command).end();
    assert!(
        said.stdout.contains("with the key from ANTHROPIC_API_KEY"),
        "{said:#?}"
    );
    assert!(said.stdout.contains("with the key from MINE"), "{said:#?}");
    assert!(!said.stdout.contains("can read the key"), "{said:#?}");
}
