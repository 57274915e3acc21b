//! Places that no tool writes, or none without a person, however they are reached.

use crate::world::{EventLog, ProgramResult, TestWorld, conversations, start};

const STATE: &str = ".local/state/aside";

/// Files that the model writes one after another.
fn writes(paths: &[&str]) -> String {
    let call = |path: &&str| format!("write_file {path} {{ path = '{path}', content = 'mine' }}\n");
    let calls: Vec<String> = paths.iter().map(call).collect();
    format!("{}'Done.'", calls.join("+ "))
}

/// The user's home is the workspace; state and settings are in their usual places.
fn run_at_home(world: &TestWorld, script: &str, args: &[&str]) -> ProgramResult {
    let model = world.script(script);
    let mut command = world.command(&[&["run", "-m", &model, "Go"], args].concat());
    command
        .env("HOME", world.at(""))
        .env_remove("XDG_STATE_HOME")
        .env_remove("XDG_CONFIG_HOME");
    start(&mut command).end()
}

fn log(world: &TestWorld) -> EventLog {
    let mut found = conversations(&world.at(STATE));
    EventLog::read(&found.pop().expect("a conversation"))
}

#[test]
fn state_and_settings_are_out_of_reach_with_the_home_as_the_workspace() {
    let paths = [
        ".local/state/aside/trust.json",
        ".local/state/aside/work-0123456789/approvals",
        ".config/aside/aside.toml",
        ".config/aside/new",
        "link/trust.json",
    ];
    let world = TestWorld::new();
    world.write("notes", "");
    std::os::unix::fs::symlink(STATE, world.at("link")).unwrap();
    let args = [
        "--trust",
        "--mode",
        "auto",
        "--unsandboxed",
        "--detached",
        "auto",
    ];
    run_at_home(&world, &writes(&paths), &args).exits(0);
    for path in paths {
        let told = log(&world).told(path).to_owned();
        assert!(
            told.contains("is protected and cannot be changed"),
            "{path}: {told}"
        );
        assert!(!world.at(path).exists(), "{path}");
    }
}

#[test]
fn where_other_programs_take_code_from_nobody_writes_unasked() {
    let paths = [
        ".git/hooks/pre-commit",
        "sub/.git/config",
        ".vscode/tasks.json",
        ".idea/workspace.xml",
        ".mcp.json",
        ".claude/settings.json",
        ".cursor/mcp.json",
        ".husky/pre-commit",
        ".cargo/config.toml",
        ".nvim.lua",
        ".nvimrc",
        ".envrc",
        ".bashrc",
        ".profile",
        ".config/some-program/hooks",
    ];
    for args in [
        &["--trust", "--mode", "edits"][..],
        &[
            "--trust",
            "--mode",
            "auto",
            "--unsandboxed",
            "--detached",
            "auto",
        ],
        &[
            "--trust",
            "--set",
            "conversation.tools.write_file.run=unattended",
        ],
    ] {
        let world = TestWorld::new();
        run_at_home(&world, &writes(&paths), args).exits(0);
        for path in paths {
            let told = log(&world).told(path).to_owned();
            assert!(
                told.starts_with("write_file needs approval and no interactive client is attached"),
                "{path}, {args:?}: {told}"
            );
            assert!(!world.at(path).exists(), "{path}");
        }
    }
}

#[test]
fn what_may_hold_secrets_is_read_by_no_policy() {
    let world = TestWorld::new();
    world.write(".env", "KEY=hunter2\n");
    let script = "read_file read { path = '.env' }\n'Done.'";
    for detached in ["auto", "defaults", "deny"] {
        let world = TestWorld::new();
        world.write(".env", "KEY=hunter2\n");
        world.run(script, &["--detached", detached]).exits(0);
        let told = world.log().told("read").to_owned();
        assert!(
            told.starts_with("read_file needs approval"),
            "{detached}: {told}"
        );
    }
    world.run(script, &["--detached", "stop"]).exits(4);
    assert!(world.log().all("tool_result").is_empty());
}
