//! Calls that need a person's permission.

use serde_json::json;

use super::Making;
use crate::{lsp::client::nobody, world::until};

const RUNS: &str = r#"
    run_command run { command = "echo ran" }
    run_command again { command = "echo ran" }
    "Over."
"#;
const PARKS: [&str; 2] = ["--detached", "run=stop"];

/// Parked, then permitted once; the same command is asked for again, and parked again.
pub(in crate::logs) fn once(it: &mut Making) {
    it.go(RUNS, &PARKS).exits(4);
    it.resume(&["once"], &PARKS).exits(4);
    it.resume(&["once"], &PARKS).exits(0);
}

/// An edit is permitted for the turn, so that the second one is made unasked.
pub(in crate::logs) fn edits_for_the_turn(it: &mut Making) {
    it.file("a.txt", "one\ntwo\n");
    it.file("b.txt", "one\ntwo\n");
    let script = r#"
        read_file read { path = "a.txt" }
        + read_file read_b { path = "b.txt" }
        edit_file edit { path = "a.txt", old_text = "one", new_text = "1" }
        edit_file edit_b { path = "b.txt", old_text = "two", new_text = "2" }
        "Edited."
    "#;
    it.go(script, &PARKS).exits(4);
    it.resume(&["turn"], &PARKS).exits(0);
    assert_eq!(
        [it.world.read("a.txt"), it.world.read("b.txt")],
        ["1\ntwo\n", "one\n2\n"]
    );
}

/// A no: the same call is refused at once, another is asked about.
pub(in crate::logs) fn no_and_again(it: &mut Making) {
    let script = r#"
        run_command run { command = "echo ran" }
        run_command same { command = "echo ran" }
        + run_command other { command = "echo other" }
        "Over."
    "#;
    it.go(script, &PARKS).exits(4);
    it.resume(&["no"], &PARKS).exits(4);
    it.resume(&["no"], &PARKS).exits(0);
}

/// Calls that are not allowed, for a reason of its own in each turn: the mode, the configuration, nobody there to ask (and
/// nobody to let the model see a result), a workspace that is not trusted.
pub(in crate::logs) fn denied(it: &mut Making) {
    it.file("notes.txt", "one\n");
    let script = r#"
        run_command run { command = "echo ran" }
        read_file read { path = "notes.txt" }
        "Over."
    "#;
    it.go(script, &["--mode", "plan"]).exits(0);
    it.say(
        "Again",
        &["--set", "conversation.tools.run_command.run='deny'"],
    )
    .exits(0);
    it.say("And again", &ASKS).exits(0);
    let model = it.world.script(script);
    it.world
        .aside(&["run", "-m", &model, "--continue", "Once more"])
        .exits(0);
}

const WRITES: &str = r#"
    write_file write { path = "a.txt", content = "one\n" }
    "Written."
"#;

/// Declined with a note, and then permitted with another text; the model is told of both.
pub(in crate::logs) fn new_text(it: &mut Making) {
    let mut client = it.editor(WRITES);
    let turn = client.turn(json!({ "message": "Go" }));
    client.play(
        &turn,
        |_| json!({ "action": "decline", "note": "Not yet." }),
    );
    let again = json!({ "conversationId": turn["conversationId"], "message": "Now" });
    let turn = client.turn(again);
    client.play(
        &turn,
        |_| json!({ "action": "answer", "answer": "once", "newText": "two\n" }),
    );
    assert_eq!(it.world.read("a.txt"), "two\n");
}

/// A client that cannot show the prompt.
pub(in crate::logs) fn not_shown(it: &mut Making) {
    let mut client = it.editor(WRITES);
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    client.fail(&prompt, "no window");
    client.play(&turn, nobody);
}

/// Killed while a command runs; then resumed.
pub(in crate::logs) fn killed_amid_run(it: &mut Making) {
    it.file("count", "");
    let script = r#"
        run_command long { command = "[ -s count ] || { echo begun >count; sleep 100; }" }
        "Looked."
    "#;
    let args = ["--trust", "--mode", "auto", "--unsandboxed"];
    it.script(script);
    let running = it.world.start_until(script, &args, "call_started");
    until("a command that runs", || {
        it.world.read("count") == "begun\n"
    });
    drop(running);
    it.resume(&[], &["--unsandboxed"]).exits(0);
}

const READS: &str = r#"
    read_file read { path = "notes.txt" }
    + read_file read_too { path = "notes.txt" }
    "Read."
"#;
const ASKS: [&str; 2] = ["--set", "conversation.tools.read_file.result='ask'"];

/// Whether results may be delivered is asked: one is, the other is not.
pub(in crate::logs) fn delivered_and_withheld(it: &mut Making) {
    it.file("notes.txt", "one\n");
    let stop = [&ASKS[..], &["--detached", "deliver=stop"]].concat();
    it.go(READS, &stop).exits(4);
    it.resume(&["true"], &stop).exits(4);
    it.resume(&["false"], &stop).exits(0);
}
