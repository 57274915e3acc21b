//! Programs of the user's that are tools: what they ask, what they are given, and every way in which they fail.

mod asks;
mod fails;

use std::{fs, path::Path};

use serde_json::{Value, json};

use crate::world::TestWorld;

/// They run unasked, as if inside the sandbox.
const ALLOWED: [&str; 4] = ["--trust", "--mode", "auto", "--unsandboxed"];

/// A world with a tool `mine` that is this shell script, with these keys besides.
fn world(script: &str, keys: &str) -> TestWorld {
    let world = TestWorld::new();
    let path = world.folder().join("scripts/mine.sh");
    fs::write(&path, script).unwrap();
    define(&world, "mine", &["sh", path.to_str().unwrap()], keys);
    world
}

/// Configures a tool that takes any arguments.
fn define(world: &TestWorld, name: &str, command: &[&str], keys: &str) {
    world.user_config(&format!(
        "[conversation.tools.{name}]\nsource = 'local'\ncommand = {}\nparameters = {{ type = 'object' }}\n{keys}\n",
        json!(command)
    ));
}

/// The path of a worked example.
fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/local");
    folder.join(name).to_str().unwrap().to_owned()
}

/// The script of a model that makes these calls one after another, and then says that it is done.
fn calls(tool: &str, arguments: &[Value]) -> String {
    let call = |(at, arguments): (usize, &Value)| json!({ "say": [{ "call": tool, "id": format!("call{}", at + 1), "arguments": arguments }] });
    let mut replies: Vec<Value> = arguments.iter().enumerate().map(call).collect();
    replies.push(json!({ "say": [{ "text": "Done." }] }));
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

/// What the model is told of one call of `mine`.
#[track_caller]
fn told(world: &TestWorld, args: &[&str]) -> String {
    let script = calls("mine", &[json!({})]);
    world
        .run(&script, &[&ALLOWED, args].concat())
        .exits(0)
        .writes("Done.\n");
    world.log().told("call1").to_owned()
}

/// All files beneath a folder that have a text in them.
fn with_text(folder: &Path, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(with_text(&path, text));
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        if bytes.windows(text.len()).any(|it| it == text.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    found
}
