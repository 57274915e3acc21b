//! Conversations in which things changed between turns.

use serde_json::json;

use super::{Making, yes};

/// A turn's edits are taken back; the model is told with the next message.
pub(in crate::logs) fn undone(it: &mut Making) {
    it.file("a.txt", "one\n");
    let script = r#"
        { turn = 1, step = 1 } => read_file read { path = "a.txt" }
        { turn = 1, step = 2 } => edit_file edit { path = "a.txt", old_text = "one", new_text = "1" }
        + write_file write { path = "b.txt", content = "two\n" }
        {} => "Done."
        { turn = 2 } => "Gone, then."
    "#;
    let edits = ["--mode", "edits"];
    it.go(script, &edits).exits(0);
    let undone = it.world.aside(&["conversation", "undo"]).exits(0);
    assert!(undone.stdout.contains("a.txt"), "{undone:?}");
    assert_eq!(it.world.read("a.txt"), "one\n");
    it.say("And now?", &edits).exits(0);
}

/// An image is attached, the model changes, and the conversation gets another title.
pub(in crate::logs) fn attached_and_renamed(it: &mut Making) {
    let script = r#"
        { turn = 1 } => "It is red."
        { turn = 3 } => "Redder."
    "#;
    let red = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/media/red.png");
    std::fs::copy(red, it.world.at("red.png")).unwrap();
    it.world.write("notes.txt", "one\ntwo\nthree\n");
    it.go(
        script,
        &["--attach", "red.png", "--attach", "notes.txt:2-3"],
    )
    .exits(0);
    let id = it.world.conversation();
    it.world
        .aside(&[
            "run",
            "--trust",
            "--continue",
            "-m",
            "rehearsal/hello",
            "Hello",
        ])
        .exits(0);
    it.world
        .aside(&["conversation", "rename", &id, "Something red"])
        .exits(0);
    it.say("And now?", &[]).exits(0);
}

/// A turn in an editor: an edit that was asked about, in an unfinished second turn.
pub(in crate::logs) fn edited_and_killed(it: &mut Making) {
    it.file("a.txt", "one\n");
    let script = r#"
        { turn = 1, step = 1 } => read_file read { path = "a.txt" }
        { turn = 1, step = 2 } => edit_file edit { path = "a.txt", old_text = "one", new_text = "1" }
        { turn = 1, step = 3 } => "Done."
        { turn = 2, step = 1 } => "Again."
        + edit_file edit_again { path = "a.txt", old_text = "1", new_text = "2" }
    "#;
    let mut client = it.editor(script);
    let turn = client.turn(json!({ "message": "Go" }));
    client.play(&turn, yes);
    client.turn(json!({ "conversationId": turn["conversationId"], "message": "Again" }));
    client.expect("aside/prompt");
    client.crash();
}
