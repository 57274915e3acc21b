//! All places at which Aside starts a program, each with programs planted for it: none of them runs.

use std::{
    collections::BTreeMap,
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use serde_json::json;

use crate::world::{TestWorld, start};

/// The reason for which a place starts nothing that a command inside the sandbox may write.
enum Start {
    /// Tried here.
    Tried(fn(&Planted)),
    /// Starts what another place of the table has found, or nothing, or is tried beside the code.
    Elsewhere(&'static str),
}

use Start::{Elsewhere, Tried};

/// The places, as they stand in the code: the file, and how often it makes a program's start.
const STARTS: &[(&str, usize, Start)] = &[
    (
        "base/system/unix/shells.rs",
        1,
        Elsewhere("the pager, tried beside it"),
    ),
    (
        "base/system/windows/shells.rs",
        1,
        Elsewhere("the pager, on another system"),
    ),
    ("engine/models/key.rs", 1, Tried(a_program_for_a_key)),
    (
        "front/lsp/methods/code_actions.rs",
        1,
        Elsewhere("a command of the editor's"),
    ),
    ("mcp/program.rs", 1, Tried(a_server)),
    (
        "tool/local.rs",
        1,
        Elsewhere("inside the sandbox, or asked for"),
    ),
    ("tool/namespace.rs", 1, Tried(a_server)),
    ("tool/probe/script.rs", 1, Tried(a_command_outside)),
    (
        "tool/probe/seatbelt.rs",
        1,
        Elsewhere("`/bin/launchctl`, on another system"),
    ),
    (
        "tool/process/held_command.rs",
        1,
        Elsewhere("Aside itself, by its path"),
    ),
    (
        "tool/process/in_tree.rs",
        1,
        Elsewhere("what `surroundings` finds, on another system"),
    ),
    (
        "tool/process/quiet.rs",
        1,
        Elsewhere("what key, namespace and probe find"),
    ),
    ("tool/run_command.rs", 1, Tried(a_command_outside)),
    (
        "tool/supervisor.rs",
        1,
        Elsewhere("what `tool/process` has found"),
    ),
    (
        "tool/supervisor/inside.rs",
        1,
        Elsewhere("inside the sandbox"),
    ),
    (
        "tool/supervisor/seatbelt_inside.rs",
        1,
        Elsewhere("inside the sandbox, on another system"),
    ),
];

/// Names of programs that are planted.
const NAMES: [&str; 7] = ["sh", "bwrap", "ghx", "keeper", "srv", "env", "true"];

/// A world with programs in a folder of the workspace that comes first in `PATH`.
struct Planted {
    world: TestWorld,
    path: std::ffi::OsString,
}

impl Planted {
    fn new() -> Self {
        let world = TestWorld::new();
        for name in NAMES {
            let out = world.folder().join(format!("ran-{name}"));
            let file = format!(".venv/bin/{name}");
            world.write(&file, &format!("#!/bin/sh\n: >{}\n", out.display()));
            let mode = fs::Permissions::from_mode(0o755);
            fs::set_permissions(world.at(&file), mode).unwrap();
        }
        let own = env::var_os("PATH").unwrap_or_default();
        let link = world.folder().join("linked");
        std::os::unix::fs::symlink(world.at(".venv/bin"), &link).unwrap();
        let planted = [world.at(".venv/bin"), PathBuf::from(".venv/bin"), link];
        let path = env::join_paths(planted.into_iter().chain(env::split_paths(&own))).unwrap();
        Self { world, path }
    }

    fn aside(&self, args: &[&str]) -> crate::world::ProgramResult {
        start(self.world.command(args).env("PATH", &self.path)).end()
    }

    /// The planted programs that ran.
    fn ran(&self) -> Vec<&str> {
        let ran = |name: &&&str| self.world.folder().join(format!("ran-{name}")).exists();
        NAMES.iter().filter(ran).copied().collect()
    }
}

fn a_program_for_a_key(planted: &Planted) {
    planted.world.user_config(
        "[providers.w]\napi = 'openai-chat'\nbase_url = 'http://127.0.0.1:9/v1'\napi_key_command = ['keeper']\n",
    );
    let args = [
        "run",
        "-m",
        "w/m",
        "--set",
        "conversation.limits.retries=0",
        "Go",
    ];
    planted
        .aside(&args)
        .says("can be written from inside the sandbox");
}

fn a_server(planted: &Planted) {
    planted
        .world
        .user_config("[mcp.servers.one]\ncommand = 'srv'\n[mcp.servers.two]\ncommand = 'sh'\nargs = ['-c', 'env; true']\n");
    planted.aside(&["trust", "--yes"]).exits(0);
    let listed = planted.aside(&["mcp", "list"]).exits(1);
    assert!(
        listed
            .stdout
            .contains("can be written from inside the sandbox"),
        "{listed:?}"
    );
}

fn a_command_outside(planted: &Planted) {
    planted
        .world
        .user_config("[commands]\nunsandboxed = ['ghx pr view']\n");
    let call =
        json!({ "call": "run_command", "id": "a", "arguments": { "command": "ghx pr view" } });
    let replies = json!([{ "say": [call] }, { "say": [{ "text": "Done." }] }]);
    let script = toml::to_string(&json!({ "reply": replies })).unwrap();
    let model = planted.world.script(&script);
    let args = [
        "run",
        "-m",
        &model,
        "Go",
        "--trust",
        "--mode",
        "auto",
        "--set",
        "sandbox=auto",
    ];
    planted.aside(&args).exits(0);
    planted.world.log().told_has("a", "not found");
}

#[test]
fn nothing_of_aside_s_own_starts_from_the_workspace() {
    let mut found = BTreeMap::new();
    places(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("server"),
        &mut found,
    );
    let known = STARTS
        .iter()
        .map(|(file, count, _)| ((*file).to_owned(), *count));
    assert_eq!(found, known.collect(), "every start belongs into `STARTS`");
    for (file, _, how) in STARTS {
        match how {
            Tried(tries) => {
                let planted = Planted::new();
                tries(&planted);
                assert_eq!(planted.ran(), [] as [&str; 0], "{file}");
            }
            Elsewhere(why) => assert!(!why.is_empty(), "{file}"),
        }
    }
}

/// Counts the starts of programs in all files below a folder, but for those of tests.
fn places(folder: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && name != "tests" {
            places(&path, found);
        }
        if !name.ends_with(".rs") || name.ends_with("tests.rs") || name == "trial.rs" {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let code = text.split("#[cfg(test)]").next().unwrap();
        let is_start = |line: &&str| {
            let makes = ["= Job {", "= Quiet {", " Command::new(", "(Command::new("];
            let is_type = line.contains("struct ") || line.trim_start().starts_with("let Quiet {");
            makes.iter().any(|it| line.contains(it)) && !is_type
        };
        let count = code.lines().filter(is_start).count();
        if count > 0 {
            let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("server");
            let file = path.strip_prefix(root).unwrap();
            found.insert(file.to_string_lossy().into_owned(), count);
        }
    }
}
