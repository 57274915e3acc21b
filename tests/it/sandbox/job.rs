//! A real job where nobody is there: files are written, and their tests run inside the sandbox, unasked.

use std::{env, path::PathBuf};

use super::ground::{SandboxGround, User, auto_run, program};
use crate::world::start;

/// Where a tool chain is kept that the user's home usually holds.
fn kept(variable: &str, folder: &str) -> PathBuf {
    let usual = env::home_dir().unwrap_or_default().join(folder);
    env::var_os(variable).map_or(usual, PathBuf::from)
}

/// One turn that writes a file and then runs a command; what the command said.
fn job(ground: &SandboxGround, path: &str, content: &str, command: &str) -> String {
    let text = |text: &str| toml::Value::from(text).to_string();
    let model = ground.world.script(&format!(
        "[[reply]]\nwhen = {{ step = 1 }}\n\
         say = [{{ call = 'write_file', id = 'write', arguments = {{ path = {}, content = {} }} }}]\n\
         [[reply]]\nwhen = {{ step = 2 }}\n\
         say = [{{ call = 'run_command', id = 'run', arguments = {{ command = {} }} }}]\n\
         [[reply]]\nsay = [{{ text = 'Done.' }}]\n",
        text(path),
        text(content),
        text(command)
    ));
    let args = auto_run(&model, &["--strict"]);
    let mut command = ground.command(program(), &args);
    command
        .env("CARGO_HOME", kept("CARGO_HOME", ".cargo"))
        .env("RUSTUP_HOME", kept("RUSTUP_HOME", ".rustup"));
    start(&mut command).end().exits(0);
    ground.world.log().told("run").to_owned()
}

#[test]
fn the_tests_of_a_rust_project_run_inside() {
    let ground = SandboxGround::new(User::Same);
    ground.world.write(
        "Cargo.toml",
        "[package]\nname = 'small'\nversion = '0.1.0'\nedition = '2021'\n[workspace]\n",
    );
    let content = "pub fn two() -> i32 { 2 }\n\n#[test]\nfn is_two() { assert_eq!(two(), 2); }\n";
    let told = job(&ground, "src/lib.rs", content, "cargo test --offline 2>&1");
    assert!(told.starts_with("Exit status 0.\n"), "{told}");
    assert!(told.contains("test is_two ... ok"), "{told}");
}

#[test]
fn the_tests_of_a_node_project_run_inside() {
    let ground = SandboxGround::new(User::Same);
    ground.world.write(
        "package.json",
        "{ \"name\": \"small\", \"version\": \"0.1.0\", \"scripts\": { \"test\": \"node --test\" } }\n",
    );
    let content = "const test = require('node:test');\nconst assert = require('node:assert');\n\
                   test('is two', () => assert.equal(1 + 1, 2));\n";
    let told = job(&ground, "two.test.js", content, "npm test 2>&1");
    assert!(told.starts_with("Exit status 0.\n"), "{told}");
    assert!(told.contains("is two"), "{told}");
}
