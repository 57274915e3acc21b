//! Tools that ask.

use serde_json::json;

use super::{
    super::lines::{event, line},
    Making, yes,
};
use crate::{lsp::client::nobody, world::until};

const ASKS_TWICE: &str = r#"
    ask_user ship { question = "Ship it?", context = "All is built.", answer_type = "boolean", default = true }
    + list_files list {}
    + ask_user color { question = "Which color?", answer_type = "select", options = ["red", "blue"] }
    "Shipped."
"#;
const PARKS: [&str; 2] = ["--detached", "tool=stop"];

/// Parked at two questions, which are answered one after the other.
pub(in crate::logs) fn both_answered(it: &mut Making) {
    it.go(ASKS_TWICE, &PARKS).exits(4);
    it.resume(&["false"], &PARKS).exits(4);
    it.resume(&["blue"], &PARKS).exits(0);
}

const ASKS_AGAIN: &str = r#"
    ask_user ask { question = "Which name?", answer_type = "text" }
    ask_user again { question = "Which name?", answer_type = "text" }
    "Without, then."
"#;

/// Declined with a note: it may be asked again.
pub(in crate::logs) fn declined_with_a_note(it: &mut Making) {
    let mut client = it.editor(ASKS_AGAIN);
    let turn = client.turn(json!({ "message": "Go" }));
    let mut asked = 0;
    client.play(&turn, |prompt| {
        asked += 1;
        if asked == 1 {
            json!({ "action": "decline", "note": "Ask me later." })
        } else {
            yes(prompt)
        }
    });
}

/// Questions that are put to nobody, for a reason of its own in each turn: nobody is there, only a person may answer,
/// the policy refuses them all.
pub(in crate::logs) fn unanswered(it: &mut Making) {
    it.go(ASKS_AGAIN, &[]).exits(0);
    let to_assistant = "conversation.tools.ask_user.questions.answer.target='assistant'";
    it.say("Again", &["--set", to_assistant]).exits(0);
    it.say("And again", &["--detached", "tool=deny"]).exits(0);
}

const EDITS: &str = r#"
    { step = 1 } => read_file read { path = "notes.txt" }
    { step = 2 } => edit_file edit { path = "notes.txt", old_text = "x", new_text = "y" }
"#;

fn edits(rest: &str) -> String {
    format!("{EDITS}{rest}")
}

/// A model answers a question in an inquiry.
pub(in crate::logs) fn answered_by_inquiry(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(
        r#"
            {} => -
            & answers = { occurrence = "2" }
            { result = { tool = "edit_file" } } => "Edited."
        "#,
    );
    it.go(&script, &["--mode", "edits"]).exits(0);
    assert_eq!(it.world.read("notes.txt"), "x\ny\n");
}

/// The model does not answer, and is asked the same once more.
pub(in crate::logs) fn inquiry_fails(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(
        r#"
            { inquiry = true } => always "I would rather not."
            { step = 3 } => always "Not edited."
            { result = { tool = "edit_file", contains = "Inquiry failed" } } => edit_file again { path = "notes.txt", old_text = "x", new_text = "y" }
            "Not edited."
        "#,
    );
    it.go(&script, &["--mode", "edits"]).exits(0);
    assert_eq!(it.world.read("notes.txt"), "x\nx\n");
}

/// A configured answer that does not fit.
pub(in crate::logs) fn unfit_answer(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(r#"{ step = 3 } => "Not edited.""#);
    it.go(
        &script,
        &["--mode", "edits", "--answer", "edit_file.occurrence=17"],
    )
    .exits(0);
}

/// Cancelled with a prompt open, which is answered too late.
pub(in crate::logs) fn late_answer(it: &mut Making) {
    let script =
        r#"{ step = 1 } => ask_user ask { question = "Which name?", answer_type = "text" }"#;
    let mut client = it.editor(script);
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));
    client.play(&turn, nobody);
    client.reply(&prompt, yes(&prompt["params"]));
    until("a late answer", || {
        it.world.log().all("late_answer").len() == 1
    });
}

/// Three questions of a tool: one whose answer is remembered, one that it answers, and a secret.
pub(in crate::logs) fn remembered_and_secret(it: &mut Making) {
    let script = r#"
        asker first { questions = [
            { id = "where", text = "Where?", answer_type = { type = "select", options = ["here", "there"] }, remember = true },
            { id = "password", text = "Password?", answer_type = { type = "secret" } },
        ] }

        { step = 2 } => asker second { questions = [
            { id = "where", text = "Where?", answer_type = { type = "select", options = ["here", "there"] }, remember = true },
            { id = "sure", text = "Sure?", answer_type = { type = "boolean" } },
        ] }

        { step = 3 } => "Done."
    "#;
    let mut client = it.asking_editor(script);
    let turn = client.turn(json!({ "message": "Go" }));
    client.play(&turn, |prompt| {
        let mut answer = yes(prompt);
        if prompt["text"] == "Where?" {
            answer["remember"] = json!(true);
        }
        answer
    });
}

/// Killed with a question open that its tool asked while it ran on. No tool of the program does that yet, so the log's
/// last lines are not the program's.
pub(in crate::logs) fn live(it: &mut Making) {
    let script = r#"
        asker first { questions = [
            { id = "sure", text = "Sure?", answer_type = { type = "boolean" } },
        ] }
    "#;
    let mut client = it.asking_editor(script);
    client.turn(json!({ "message": "Go" }));
    client.expect("aside/prompt");
    client.leave();
    it.damage(|lines| {
        let at = lines
            .iter()
            .position(|line| line.contains("inquiry_request"))
            .unwrap();
        let mut asked = event(lines[at].as_bytes()).unwrap();
        asked["live"] = json!(true);
        lines[at] = String::from_utf8(line(asked)).unwrap();
    });
}
