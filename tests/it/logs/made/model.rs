//! Models that are cut, refuse, or do not do what they are told.

use serde_json::json;

use super::Making;
use crate::world::until;

/// Cut three times in a row.
pub(in crate::logs) fn cut_thrice(it: &mut Making) {
    let script = r#"
        [[reply]]
        truncate_last = true
        repeat = true
        say = [{ call = "read_file", id = "read", arguments = { path = "notes.txt" } }]
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
        [[reply]]
        when = { step = 1 }
        say = [{ text = "not JSON" }]

        [[reply]]
        when = { step = 2 }
        say = [{ text = '{"n":1}' }]
    "#;
    it.go(script, &SCHEMA).exits(0);
}

const FORCES: [&str; 2] = ["--tool-choice", "list_files"];

const MISSES: &str = r#"
    [model]
    forces_tools = false

    [[reply]]
    when = { step = 1 }
    say = [{ text = "No need." }]
"#;

/// It answers without the call, is told again, and calls.
pub(in crate::logs) fn told_twice(it: &mut Making) {
    let script = format!(
        "{MISSES}{}",
        r#"
    [[reply]]
    when = { step = 2 }
    say = [{ call = "list_files", id = "list", arguments = {} }]

    [[reply]]
    when = { step = 3 }
    say = [{ text = "Listed." }]
"#
    );
    it.go(&script, &FORCES).exits(0);
}

/// A model that turns out not to take a forced tool.
pub(in crate::logs) fn learned(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { forced = true }
        repeat = true
        fault = { status = 400, text = "tool_choice is not supported" }

        [[reply]]
        when = { step = 1 }
        repeat = true
        say = [{ call = "list_files", arguments = {} }]

        [[reply]]
        when = { step = 2 }
        repeat = true
        say = [{ text = "Listed." }]
    "#;
    it.go(script, &FORCES).exits(0);
    it.say("Again", &FORCES).exits(0);
}

/// Responses that end for other reasons, a turn each.
pub(in crate::logs) fn other_ends(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { turn = 1, step = 1 }
        finish = "pause"
        say = [{ text = "Wait." }]

        [[reply]]
        when = { turn = 1 }
        say = [{ text = "Here." }]

        [[reply]]
        when = { turn = 2 }
        finish = "refusal"
        say = [{ text = "I will not." }]

        [[reply]]
        when = { turn = 3 }
        finish = "content_filter"
        say = [{ text = "It is" }]

        [[reply]]
        when = { turn = 4 }
        finish = "context_full"
        say = [{ text = "So much" }]

        [[reply]]
        when = { turn = 5 }
        fault = { status = 401, text = "who are you?" }
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
        [[reply]]
        when = { step = 1 }
        say = [
            { call = "no_such_tool", id = "unknown", arguments = {} },
            { call = "read_file", id = "broken", raw_arguments = "{malformed" },
            { call = "read_file", id = "invalid", arguments = { file = "notes.txt" } },
            { call = "answer_inquiry", id = "inquiry", arguments = { id = "x", answer = "1" } },
            { call = "list_files", id = "list", arguments = {} },
        ]

        [[reply]]
        when = { step = 2 }
        say = [{ text = "Sorry." }]
    "#;
    it.go(script, &["--set", "conversation.limits.calls_in_message=4"])
        .exits(0);
}

/// A command that takes too long, then a turn that does.
pub(in crate::logs) fn too_slow(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { turn = 1, step = 1 }
        say = [{ call = "run_command", id = "slow", arguments = { command = "sleep 100", timeout_seconds = 1 } }]

        [[reply]]
        when = { turn = 1, step = 2 }
        say = [{ text = "Too slow." }]

        [[reply]]
        when = { turn = 2 }
        say = [{ call = "run_command", id = "slower", arguments = { command = "sleep 100" } }]
    "#;
    let auto = ["--mode", "auto", "--unsandboxed"];
    it.go(script, &auto).exits(0);
    it.say("Again", &[&auto[..], &["--timeout", "1s"]].concat())
        .exits(5);
}

/// Something is added while it runs, and it is killed before the model hears it.
pub(in crate::logs) fn steered_and_killed(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { step = 1 }
        say = [{ call = "ask_user", id = "ask", arguments = { question = "Go on?", answer_type = "boolean" } }]

        [[reply]]
        when = { step = 2 }
        say = [{ call = "ask_user", id = "again", arguments = { question = "And on?", answer_type = "boolean" } }]
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
