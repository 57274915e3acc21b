//! Turns that end with an answer, or before it.

use serde_json::json;

use super::Making;
use crate::world::until;

const READS: &str = r#"
    & reasoning = true
    reasoning "Look first."
    + { text = "I look.", pieces = 3 }
    + read_file read { path = "notes.txt" }
    + list_files list {}
    { step = 2 } => reasoning "Two lines."
    + "It has two lines."
"#;

/// Reads, lists, and answers.
pub(in crate::logs) fn answered(it: &mut Making) {
    it.file("notes.txt", "one\ntwo\n");
    it.go(READS, &[]).exits(0).writes("It has two lines.\n");
}

/// Killed while it waits for a response.
pub(in crate::logs) fn stalled(it: &mut Making) {
    it.file("notes.txt", "one\n");
    let script = r#"
        read_file read { path = "notes.txt" }
        { step = 2 } => -
        & fault = { stall = true }
    "#;
    it.script(script);
    let running = it.world.start_until(script, &["--trust"], "tool_result");
    until("a second request", || {
        it.world.log().all("request_sent").len() == 2
    });
    drop(running);
}

const STALLS_AMID: &str = r#"
    { turn = 1, step = 1 } => "First. "
    + list_files list {}
    + { text = "This will be long.", pieces = 3 }
    & fault = { cut_after = 8, stall = true }
    { turn = 2 } => "As you like."
"#;

/// Cancelled in the middle of a text; then another message.
pub(in crate::logs) fn cancelled_amid_text(it: &mut Making) {
    let mut client = it.editor(STALLS_AMID);
    let turn = client.turn(json!({ "message": "Go" }));
    while !client.update("text")["text"].to_string().contains("This") {}
    client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));
    assert_eq!(client.completed()["outcome"], "cancelled");
    let again = json!({ "conversationId": turn["conversationId"], "message": "Be short" });
    client.turn(again);
    assert_eq!(client.completed()["outcome"], "completed");
}

/// A line of it was changed, one is lost, the last is torn.
pub(in crate::logs) fn damaged(it: &mut Making) {
    let script = r#"
        list_files list {}
        { turn = 1, step = 2 } => "Here they are."
        { turn = 2, step = 2 } => "Again."
        { turn = 3, step = 2 } => "Once more."
    "#;
    it.go(script, &[]).exits(0);
    it.damage(|lines| {
        // The result of the call, and the end of the response in which it was made.
        let at = lines
            .iter()
            .position(|line| line.contains("tool_result"))
            .unwrap();
        lines[at] = lines[at].replace("\"call\":0", "\"call\":9");
        lines.remove(at - 2);
    });
    it.say("Again", &[]).exits(0);
    it.damage(|lines| {
        let last = lines.pop().unwrap();
        lines.push(last[..last.len() / 2].to_owned());
    });
    it.say("Once more", &[]).exits(0);
    it.damage(|lines| {
        let last = lines.pop().unwrap();
        lines.push(last[..last.len() / 2].to_owned());
    });
}
