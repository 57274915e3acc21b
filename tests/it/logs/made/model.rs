//! Models that are cut, refuse, or do not do what they are told.

use serde_json::json;

use super::Making;
use crate::world::until;

/// Cut three times in a row.
pub(in crate::logs) fn cut_thrice(it: &mut Making) {
    let script = r#"
        always read_file read { path = "notes.txt" }
        & truncate_last = true
    "#;
    it.go(script, &[]);
}

const SCHEMA: [&str; 2] = [
    "--schema",
    r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#,
];

/// An answer that does not fit its schema, and is mended.
pub(in crate::logs) fn schema_mended(it: &mut Making) {
    let script = r#"
        "not JSON"
        '{"n":1}'
    "#;
    it.go(script, &SCHEMA).exits(0);
}

const FORCES: [&str; 2] = ["--tool-choice", "list_files"];

const MISSES: &str = r#"
    & forces_tools = false
    { step = 1 } => "No need."
"#;

/// It answers without the call, is told again, and calls.
pub(in crate::logs) fn told_twice(it: &mut Making) {
    let script = format!(
        "{MISSES}{}",
        r#"
            { step = 2 } => list_files list {}
            { step = 3 } => "Listed."
        "#
    );
    it.go(&script, &FORCES).exits(0);
}

/// A model that turns out not to take a forced tool.
pub(in crate::logs) fn learned(it: &mut Making) {
    let script = r#"
        { forced = true } => always -
        & fault = { status = 400, text = "tool_choice is not supported" }
        { step = 1 } => always list_files {}
        { step = 2 } => always "Listed."
    "#;
    it.go(script, &FORCES).exits(0);
    it.say("Again", &FORCES).exits(0);
}

/// Responses that end for other reasons, a turn each.
pub(in crate::logs) fn other_ends(it: &mut Making) {
    let script = r#"
        { turn = 1, step = 1 } => "Wait."
        & finish = "pause"
        { turn = 1 } => "Here."
        { turn = 2 } => "I will not."
        & finish = "refusal"
        { turn = 3 } => "It is"
        & finish = "content_filter"
        { turn = 4 } => "So much"
        & finish = "context_full"
        { turn = 5 } => -
        & fault = { status = 401, text = "who are you?" }
    "#;
    it.go(script, &[]).exits(0);
    it.say("Do it", &[]);
    it.say("Then tell me", &[]);
    it.say("All of it", &[]);
    it.say("Now", &[]).exits(6);
}

/// A tool that is not there, and arguments that are none.
pub(in crate::logs) fn broken_calls(it: &mut Making) {
    let script = r#"
        no_such_tool unknown {}
        + { call = "read_file", id = "broken", raw_arguments = "{malformed" }
        + read_file invalid { file = "notes.txt" }
        + answer_inquiry inquiry { id = "x", answer = "1" }
        + list_files list {}
        "Sorry."
    "#;
    it.go(script, &["--set", "conversation.limits.calls_in_message=4"])
        .exits(0);
}

/// A command that takes too long, then a turn that does.
pub(in crate::logs) fn too_slow(it: &mut Making) {
    let script = r#"
        { turn = 1, step = 1 } => run_command slow { command = "sleep 100", timeout_seconds = 1 }
        { turn = 1, step = 2 } => "Too slow."
        { turn = 2 } => run_command slower { command = "sleep 100" }
    "#;
    let auto = ["--mode", "auto", "--unsandboxed"];
    it.go(script, &auto).exits(0);
    it.say("Again", &[&auto[..], &["--timeout", "1s"]].concat())
        .exits(5);
}

/// Something is added while it runs, and it is killed before the model hears it.
pub(in crate::logs) fn steered_and_killed(it: &mut Making) {
    let script = r#"
        ask_user ask { question = "Go on?", answer_type = "boolean" }
        { step = 2 } => ask_user again { question = "And on?", answer_type = "boolean" }
    "#;
    let mut client = it.editor(script);
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    let steer = |text: &str| json!({ "turnId": turn["turnId"], "message": text });
    client.request("aside/turn/steer", steer("But quickly"));
    client.reply(&prompt, json!({ "action": "answer", "answer": true }));
    client.expect("aside/prompt");
    client.request("aside/turn/steer", steer("And quietly"));
    until("what was added", || it.world.log().all("steer").len() == 2);
    client.crash();
}
