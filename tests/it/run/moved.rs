//! A turn that goes on in another job, over files that are not as the first job left them.

use std::fs;

use serde_json::json;

use crate::world::{ProgramResult, TestWorld};

/// One change of each kind, then a question, then the end.
const CHANGES: &str = r#"
    read_file { path = "a.py" }
    edit_file { path = "a.py", old_text = "fast", new_text = "quick" }
    + write_file { path = "new.py", content = "new = 1" }
    ask_user { question = "Shall I go on?" }
    "The option is called quick now."
"#;

const BOTH: [&str; 6] = ["--trust", "--strict", "--mode", "edits", "--output", "json"];

/// The first job, up to the question.
fn first(world: &TestWorld) -> ProgramResult {
    world.write("a.py", "fast = 1\n");
    let model = world.script(CHANGES);
    let run = ["run", "-m", &model, "--detached", "stop", "Go"];
    world.aside(&[&run[..], &BOTH].concat()).exits(4)
}

fn second(world: &TestWorld, stopped: &ProgramResult) -> ProgramResult {
    let prompt = stopped.json()["prompts"][0]["promptId"]
        .as_str()
        .unwrap()
        .to_owned();
    let answer = format!("{prompt}=yes");
    world.aside(&[&["run", "--resume", "--answer", &answer], &BOTH[..]].concat())
}

#[test]
fn changes_that_are_not_there_are_said_and_count() {
    for (what, moved, change) in [
        (
            "a fresh checkout",
            "a.py, new.py",
            &[("a.py", Some("fast = 1\n")), ("new.py", None)][..],
        ),
        ("one file lost", "new.py", &[("new.py", None)]),
        (
            "somebody's own change",
            "a.py",
            &[("a.py", Some("quick = 2\n"))],
        ),
        ("a deleted file", "a.py", &[("a.py", None)]),
    ] {
        let world = TestWorld::new();
        let stopped = first(&world);
        for (path, text) in change {
            match text {
                Some(text) => world.write(path, text),
                None => fs::remove_file(world.at(path)).unwrap(),
            }
        }
        let done = second(&world, &stopped).exits(3).says(moved);
        let warnings = done.json()["warnings"].to_string();
        assert!(warnings.contains(moved), "{what}: {warnings}");
        let log = world.log();
        let told = log.one("directive")["text"].as_str().unwrap();
        assert!(told.contains(moved), "{what}: {told}");
    }
}

#[test]
fn changes_that_are_there_are_no_matter() {
    let world = TestWorld::new();
    let stopped = first(&world);
    let done = second(&world, &stopped).exits(0);
    assert_eq!(done.json()["warnings"], json!([]));
    assert!(world.log().all("directive").is_empty());
}

#[test]
fn the_cost_of_a_job_is_beside_that_of_the_turn() {
    let world = TestWorld::new();
    let stopped = first(&world);
    let (one, two) = (stopped.json(), second(&world, &stopped).exits(0).json());
    let tokens = |end: &serde_json::Value, what: &str| end[what]["inputTokens"].as_u64().unwrap();
    assert_eq!(one["usage"], one["runUsage"]);
    assert_eq!(
        tokens(&two, "usage"),
        tokens(&one, "runUsage") + tokens(&two, "runUsage")
    );
    assert_eq!((&one["steps"], &two["steps"]), (&json!(3), &json!(1)));
    let mut changed: Vec<&str> = one["changed"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|it| it.as_str())
        .collect();
    changed.sort_unstable();
    assert_eq!(changed, ["a.py", "new.py"]);
    assert_eq!(two["changed"], json!([]));
    assert!(two["model"].as_str().unwrap().starts_with("rehearsal/"));
    assert!(two["durationMs"].as_u64().is_some());
}
