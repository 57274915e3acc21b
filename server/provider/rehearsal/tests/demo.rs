//! Tests of the built-in scripts and of the README's example.

use super::stage::RehearsalStage;
use crate::rehearsal::{DEMO_PROMPT, Rehearsal, demo_files};

#[test]
fn hello_greets_every_time() {
    let mut stage = RehearsalStage::new(Rehearsal::open("hello").unwrap());
    for line in ["user: hi", "send", "user: hi", "send"] {
        stage.line(line);
    }
    assert_eq!(stage.seen.matches("says|Hello!").count(), 2);
}

/// Plays the demo with these results of `edit_file` and `ask_user`. Returns the last text.
fn demo(edited: &str, answered: &str) -> String {
    let mut stage = RehearsalStage::new(Rehearsal::open("demo").unwrap());
    // Delays are only for viewers.
    for reply in &mut stage.rehearsal.replies {
        reply.piece_delay = std::time::Duration::ZERO;
    }
    let answered = format!("result call_6: {answered}");
    let edited = format!("result call_5: {edited}");
    let lines = [
        &format!("user: {DEMO_PROMPT}"),
        "send",
        "result call_1: transfer.py",
        "result call_2: transfer.py:13",
        "send",
        "result call_3: attempts = 3",
        "result call_4: wait_seconds = 0",
        "send",
        &edited,
        "send",
    ];
    lines.iter().for_each(|line| stage.line(line));
    for (line, call) in [
        (answered.as_str(), "call_6"),
        ("result call_7: changed", "call_7"),
    ] {
        if stage.calls.iter().any(|(id, _)| id == call) {
            stage.line(line);
            stage.line("send");
        }
    }
    let last = stage.seen.lines().last().unwrap().replace('|', "");
    last.rsplit_once(" (").unwrap().0.to_owned()
}

#[test]
fn demo_ends_well_for_every_answer() {
    let chose = |option: &str| format!(r#"{{"answer_type":"select","answer":"{option}"}}"#);
    let nobody = "ask_user cannot run because no interactive client is attached. Do not retry";
    let refused = "edit_file needs approval and no interactive client is attached. Do not retry";
    for (edited, answered, expected) in [
        (
            "changed",
            chose("1 second").as_str(),
            "and wait in between as you said",
        ),
        (
            "changed",
            &chose("5 seconds"),
            "and wait in between as you said",
        ),
        (
            "changed",
            &chose("do not wait"),
            "As you chose, nothing waits",
        ),
        ("changed", nobody, "Nobody was there"),
        (
            "changed",
            "The user dismissed the question.",
            "I left the pause",
        ),
        (refused, "", "I could not change `transfer.py`"),
    ] {
        let words = demo(edited, answered);
        assert!(words.contains(expected), "{edited}, {answered}: {words}");
    }
}

#[test]
fn demo_matches_its_files() {
    let file = |name| {
        demo_files()
            .iter()
            .find(|(path, _)| *path == name)
            .unwrap()
            .1
    };
    let lines: Vec<usize> = (1..)
        .zip(file("transfer.py").lines())
        .filter(|(_, line)| line.contains("attempts = 3"))
        .map(|(number, _)| number)
        .collect();
    assert_eq!(lines, [13, 18]);
    assert_eq!(file("settings.toml").matches("wait_seconds = 0").count(), 1);

    let mut stage = RehearsalStage::new(Rehearsal::open("demo").unwrap());
    stage.line("ask in_band: edit_file tool_call.edit_file.call_5.occurrence.1 Which one?");
    let answer = r#"{"inquiry_id":"tool_call.edit_file.call_5.occurrence.1","answer":"18"}"#;
    assert!(stage.seen.contains(answer), "{}", stage.seen);
}

#[test]
fn first_page_script_plays() {
    let readme = include_str!("../../README.md");
    let blocks = readme
        .split("```toml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let scripts: Vec<&str> = blocks
        .filter(|block| block.starts_with("[[reply]]"))
        .collect();
    assert_eq!(scripts.len(), 1);
    let mut stage = RehearsalStage::new(Rehearsal::parse("first page", scripts[0]).unwrap());
    for line in ["user: go", "send", "result call_1: # Aside", "send"] {
        stage.line(line);
    }
    assert!(
        stage.seen.contains("says|It is about Aside.|"),
        "{}",
        stage.seen
    );
}
