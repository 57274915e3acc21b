//! Tools that ask.

use serde_json::json;

use super::{
    super::lines::{event, line},
    Making, yes,
};
use crate::{lsp::client::nobody, world::until};

const ASKS_TWICE: &str = r#"
    [[reply]]
    when = { step = 1 }
    say = [
        { call = "ask_user", id = "ship", arguments = { question = "Ship it?", context = "All is built.", answer_type = "boolean", default = true } },
        { call = "list_files", id = "list", arguments = {} },
        { call = "ask_user", id = "color", arguments = { question = "Which color?", answer_type = "select", options = ["red", "blue"] } },
    ]

    [[reply]]
    when = { step = 2 }
    say = [{ text = "Shipped." }]
"#;
const PARKS: [&str; 2] = ["--detached", "tool=stop"];

/// Parked at two questions, of which one is answered.
pub(in super::super) fn two_parked(it: &mut Making) {
    it.go(ASKS_TWICE, &PARKS).exits(4);
    it.resume(&["true"], &PARKS).exits(4);
}

/// Both are answered at last.
pub(in super::super) fn both_answered(it: &mut Making) {
    it.go(ASKS_TWICE, &PARKS).exits(4);
    it.resume(&["false"], &PARKS).exits(4);
    it.resume(&["blue"], &PARKS).exits(0);
}

const ASKS_AGAIN: &str = r#"
    [[reply]]
    when = { step = 1 }
    say = [{ call = "ask_user", id = "ask", arguments = { question = "Which name?", answer_type = "text" } }]

    [[reply]]
    when = { step = 2 }
    say = [{ call = "ask_user", id = "again", arguments = { question = "Which name?", answer_type = "text" } }]

    [[reply]]
    when = { step = 3 }
    say = [{ text = "Without, then." }]
"#;

/// Dismissed: the same question is not asked again.
pub(in super::super) fn dismissed_and_again(it: &mut Making) {
    let mut client = it.editor(ASKS_AGAIN);
    let turn = client.turn(json!({ "message": "Go" }));
    client.play(&turn, |_| json!({ "action": "cancel" }));
}

/// Declined with a note: it may be asked again.
pub(in super::super) fn declined_with_a_note(it: &mut Making) {
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

/// A client that cannot show the question.
pub(in super::super) fn question_not_shown(it: &mut Making) {
    let mut client = it.editor(ASKS_AGAIN);
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    client.fail(&prompt, "no window");
    client.play(&turn, nobody);
}

/// Only a person may answer, and nobody is there.
pub(in super::super) fn nobody_to_ask(it: &mut Making) {
    it.go(ASKS_AGAIN, &[]).exits(0);
}

const EDITS: &str = r#"
    [[reply]]
    when = { step = 1 }
    say = [{ call = "read_file", id = "read", arguments = { path = "notes.txt" } }]

    [[reply]]
    when = { step = 2 }
    say = [{ call = "edit_file", id = "edit", arguments = { path = "notes.txt", old_text = "x", new_text = "y" } }]
"#;

fn edits(rest: &str) -> String {
    format!("{EDITS}{}", rest.trim_start_matches('\n'))
}

/// A model answers a question in an inquiry.
pub(in super::super) fn answered_by_inquiry(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(
        r#"
    [[reply]]
    answers = { occurrence = "2" }

    [[reply]]
    when = { result = { tool = "edit_file" } }
    say = [{ text = "Edited." }]
"#,
    );
    it.go(&script, &["--mode", "edits"]).exits(0);
    assert_eq!(it.world.read("notes.txt"), "x\ny\n");
}

/// The model does not answer, and is asked the same once more.
pub(in super::super) fn inquiry_fails(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(
        r#"
    [[reply]]
    when = { inquiry = true }
    repeat = true
    say = [{ text = "I would rather not." }]

    [[reply]]
    when = { step = 3 }
    repeat = true
    say = [{ text = "Not edited." }]

    [[reply]]
    when = { result = { tool = "edit_file", contains = "Inquiry failed" } }
    say = [{ call = "edit_file", id = "again", arguments = { path = "notes.txt", old_text = "x", new_text = "y" } }]

    [[reply]]
    say = [{ text = "Not edited." }]
"#,
    );
    it.go(&script, &["--mode", "edits"]).exits(0);
    assert_eq!(it.world.read("notes.txt"), "x\nx\n");
}

/// Killed while a model is asked.
pub(in super::super) fn killed_amid_inquiry(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(
        r#"
    [[reply]]
    when = { inquiry = true }
    fault = { stall = true }
"#,
    );
    it.script(&script);
    let running = it
        .world
        .start_until(&script, &["--trust", "--mode", "edits"], "inquiry_request");
    drop(running);
}

/// A configured answer that does not fit.
pub(in super::super) fn unfit_answer(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(
        r#"
    [[reply]]
    when = { step = 3 }
    say = [{ text = "Not edited." }]
"#,
    );
    it.go(
        &script,
        &["--mode", "edits", "--answer", "edit_file.occurrence=17"],
    )
    .exits(0);
}

/// A configured answer.
pub(in super::super) fn configured_answer(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(
        r#"
    [[reply]]
    when = { step = 3 }
    say = [{ text = "Edited." }]
"#,
    );
    it.go(
        &script,
        &["--mode", "edits", "--answer", "edit_file.occurrence=all"],
    )
    .exits(0);
    assert_eq!(it.world.read("notes.txt"), "y\ny\n");
}

/// Policy refuses all questions.
pub(in super::super) fn questions_denied(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = edits(
        r#"
    [[reply]]
    when = { step = 3 }
    say = [{ text = "Not edited." }]
"#,
    );
    it.go(&script, &["--mode", "edits", "--detached", "tool=deny"])
        .exits(0);
}

/// Defaults answer what has one.
pub(in super::super) fn defaults(it: &mut Making) {
    it.go(ASKS_TWICE, &["--detached", "tool=defaults"]).exits(0);
}

/// Only a person may answer, but the configuration sends it to the assistant.
pub(in super::super) fn routed_to_assistant(it: &mut Making) {
    it.go(
        ASKS_AGAIN,
        &[
            "--set",
            "conversation.tools.ask_user.questions.answer.target='assistant'",
        ],
    )
    .exits(0);
}

/// Cancelled with prompts open, which are answered too late.
pub(in super::super) fn late_answer(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { step = 1 }
        say = [
            { call = "ask_user", id = "ask", arguments = { question = "Which name?", answer_type = "text" } },
            { call = "write_file", id = "write", arguments = { path = "a.txt", content = "a" } },
        ]
    "#;
    let mut client = it.editor(script);
    let turn = client.turn(json!({ "message": "Go" }));
    let prompts = [client.expect("aside/prompt"), client.expect("aside/prompt")];
    client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));
    client.play(&turn, nobody);
    for prompt in &prompts {
        client.reply(prompt, yes(&prompt["params"]));
    }
    until("late answers", || {
        it.world.log().all("late_answer").len() == 2
    });
}

/// Three questions of a tool: one whose answer is remembered, one that it answers, and a secret.
pub(in super::super) fn remembered_and_secret(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { step = 1 }
        say = [{ call = "asker", id = "first", arguments = { questions = [
            { id = "where", text = "Where?", answer_type = { type = "select", options = ["here", "there"] }, remember = true },
            { id = "password", text = "Password?", answer_type = { type = "secret" } },
        ] } }]

        [[reply]]
        when = { step = 2 }
        say = [{ call = "asker", id = "second", arguments = { questions = [
            { id = "where", text = "Where?", answer_type = { type = "select", options = ["here", "there"] }, remember = true },
            { id = "sure", text = "Sure?", answer_type = { type = "boolean" } },
        ] } }]

        [[reply]]
        when = { step = 3 }
        say = [{ text = "Done." }]
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

/// A question that is none, and a tool that never stops.
pub(in super::super) fn broken_and_endless(it: &mut Making) {
    let many: Vec<String> = (0..33)
        .map(|n| {
            format!("{{ id = 'q{n}', text = 'And {n}?', answer_type = {{ type = 'boolean' }} }}")
        })
        .collect();
    let script = format!(
        r#"
        [[reply]]
        when = {{ step = 1 }}
        say = [
            {{ call = "asker", id = "broken", arguments = {{ questions = [{{ id = "which", text = "Which?", answer_type = {{ type = "select", options = [] }} }}] }} }},
            {{ call = "asker", id = "endless", arguments = {{ questions = [{}] }} }},
        ]

        [[reply]]
        when = {{ step = 2 }}
        say = [{{ text = "Done." }}]
    "#,
        many.join(", ")
    );
    let mut client = it.asking_editor(&script);
    let turn = client.turn(json!({ "message": "Go" }));
    client.play(&turn, yes);
}

/// Killed with a question open that its tool asked while it ran on. No tool of the program does that yet, so the log's
/// last lines are not the program's.
pub(in super::super) fn live(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { step = 1 }
        say = [{ call = "asker", id = "first", arguments = { questions = [
            { id = "sure", text = "Sure?", answer_type = { type = "boolean" } },
        ] } }]
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
        let fields = asked.as_object_mut().unwrap();
        let turn = fields["turn"].as_str().unwrap().to_owned();
        for name in ["v", "seq", "time", "turn", "crc"] {
            fields.shift_remove(name);
        }
        let line = line(at + 1, Some(&turn), &asked);
        lines[at] = String::from_utf8(line).unwrap();
    });
}
