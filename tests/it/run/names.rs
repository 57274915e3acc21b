//! Names of files as models and people write them, for every tool that takes one.

use std::fs;

use serde_json::{Value, json};

use crate::world::TestWorld;

/// A call of each tool that has a path.
fn calls(path: &str) -> [(&'static str, Value); 5] {
    [
        ("read_file", json!({ "path": path })),
        ("write_file", json!({ "path": path, "content": "new\n" })),
        (
            "edit_file",
            json!({ "path": path, "old_text": "alpha", "new_text": "beta" }),
        ),
        ("list_files", json!({ "path": path })),
        ("search", json!({ "pattern": "alpha", "path": path })),
    ]
}

/// What each tool says of a path, and the names at the top of the workspace afterwards.
fn told(path: &str) -> (Vec<String>, Vec<String>) {
    let world = TestWorld::new();
    world.write("a.txt", "alpha\n");
    let path = path.replace("ROOT", world.at("").to_str().unwrap().trim_end_matches('/'));
    let call = |(at, (tool, arguments)): (usize, (&str, Value))| json!({"call": tool, "id": format!("c{at}"), "arguments": arguments});
    let all: Vec<Value> = calls(&path).into_iter().enumerate().map(call).collect();
    let steps = all.iter().map(|call| json!({ "say": [call] }));
    let replies: Vec<Value> = steps.chain([json!({"say": [{"text": "Done."}]})]).collect();
    let script = toml::to_string(&json!({ "reply": replies })).unwrap();
    world.run(&script, &["--trust", "--mode", "edits"]).exits(0);
    let log = world.log();
    let told = (0..all.len()).map(|at| log.told(&format!("c{at}")).to_owned());
    let told = told.collect();
    let names = fs::read_dir(world.at("")).unwrap();
    let mut names: Vec<String> = names
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    (told, names)
}

#[test]
fn a_place_elsewhere_becomes_no_folder_of_the_workspace() {
    for path in [
        "~/notes.md",
        "$HOME/notes.md",
        "${HOME}/notes.md",
        "~bob/notes.md",
        "file:///etc/notes.md",
        "https://example.org/notes.md",
        "zed:///agent/notes.md",
        "$TMPDIR/notes.md",
        "C:\\notes.md",
        "%USERPROFILE%\\notes.md",
    ] {
        let (told, names) = told(path);
        assert_eq!(names, ["a.txt"], "{path}");
        for said in told {
            let is_refused =
                said.contains("outside the workspace") || said.contains("no name of a file here");
            assert!(is_refused, "{path}: {said}");
        }
    }
}

#[test]
fn a_uri_or_a_mark_means_the_file_that_is_there() {
    for path in [
        "file://ROOT/a.txt",
        "file://localhostROOT/a.txt",
        "$PWD/a.txt",
        "`a.txt`",
        "a.txt:1",
        "a.txt#L1",
        "@a.txt",
    ] {
        let (told, names) = told(path);
        assert_eq!(names, ["a.txt"], "{path}");
        assert!(told[0].contains("alpha"), "{path}: {}", told[0]);
        assert!(told[1].contains("`a.txt`"), "{path}: {}", told[1]);
    }
    for path in ["file://ROOT/new.txt", "$PWD/new.txt"] {
        let (told, names) = told(path);
        assert_eq!(names, ["a.txt", "new.txt"], "{path}: {told:?}");
    }
}

#[test]
fn nobody_names_a_new_file_with_marks_and_lines() {
    for path in [
        "`new.txt`",
        "new.txt:3",
        "new.txt\n",
        "src\\new.txt",
        "*.txt",
    ] {
        let (told, names) = told(path);
        assert_eq!(names, ["a.txt"], "{path}");
        assert!(
            told[1].contains("no name of a file here"),
            "{path}: {}",
            told[1]
        );
    }
}
