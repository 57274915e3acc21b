//! A secret reaches the tool that asked for it, and nothing else.

use std::{fs, path::Path};

use serde_json::{Value, json};

use super::{asking, person::output};
use crate::world::TestWorld;

const SECRET: &str = "correct-horse-battery";

fn script() -> String {
    let question =
        |id: &str| json!({"id": id, "text": "The password?", "answer_type": {"type": "secret"}});
    let ask =
        |id: &str| json!({"say": [{"call": "asker", "arguments": {"questions": [question(id)]}}]});
    let replies: [Value; 3] = [ask("one"), ask("two"), json!({"say": [{"text": "Done."}]})];
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

/// All files beneath a folder that have the secret in them.
fn leaks(folder: &Path, found: &mut Vec<String>) -> usize {
    let mut files = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files += leaks(&path, found);
            continue;
        }
        files += 1;
        let bytes = fs::read(&path).unwrap();
        let mut windows = bytes.windows(SECRET.len());
        if windows.any(|window| window == SECRET.as_bytes()) {
            found.push(path.display().to_string());
        }
    }
    files
}

#[test]
fn a_secret_is_nowhere_but_in_its_tool() {
    let world = TestWorld::new();
    let mut person = asking::runs(&world, &script());
    let mut screen = person.is_asked();
    person.types(&format!("{SECRET}\n"));
    screen += &person.is_asked();
    // What was half typed is dropped with the prompt.
    person.types(&format!("{SECRET}\x03"));
    screen += &person.ends(130);
    assert!(!screen.contains(SECRET), "{screen}");
    assert!(
        screen.contains("  ok asker: it was [secret]!\n"),
        "{screen}"
    );

    let updates = output(&world);
    assert!(updates.contains(r#""outcome":"redacted""#), "{updates}");
    for show in ["show", "export"] {
        let page = world.aside(&["conversation", show]).exits(0).stdout;
        assert!(!page.contains(SECRET), "{page}");
        assert!(page.contains("[secret]"), "{page}");
    }
    let mut found = Vec::new();
    // The log, what is beside it, the trace, standard output.
    assert!(leaks(world.folder(), &mut found) >= 4);
    assert_eq!(found, [""; 0]);
}
