//! Conversations in which things changed between turns.

use serde_json::json;

use super::{Making, yes};

/// A turn's edits are taken back; the model is told with the next message.
pub(in super::super) fn undone(it: &mut Making) {
    it.file("a.txt", "one\n");
    let script = r#"
        [[reply]]
        when = { turn = 1, step = 1 }
        say = [{ call = "read_file", id = "read", arguments = { path = "a.txt" } }]

        [[reply]]
        when = { turn = 1, step = 2 }
        say = [
            { call = "edit_file", id = "edit", arguments = { path = "a.txt", old_text = "one", new_text = "1" } },
            { call = "write_file", id = "write", arguments = { path = "b.txt", content = "two\n" } },
        ]

        [[reply]]
        say = [{ text = "Done." }]

        [[reply]]
        when = { turn = 2 }
        say = [{ text = "Gone, then." }]
    "#;
    let edits = ["--mode", "edits"];
    it.go(script, &edits).exits(0);
    let undone = it.world.aside(&["conversation", "undo"]).exits(0);
    assert!(undone.stdout.contains("a.txt"), "{undone:?}");
    assert_eq!(it.world.read("a.txt"), "one\n");
    it.say("And now?", &edits).exits(0);
}

/// Messages while prompts of each kind are open: each closes what waited.
pub(in super::super) fn left_open(it: &mut Making) {
    it.file("notes.txt", "x\nx\n");
    let script = r#"
        [[reply]]
        when = { turn = 1 }
        say = [
            { call = "run_command", id = "run", arguments = { command = "echo ran" } },
            { call = "write_file", id = "write", arguments = { path = "a.txt", content = "a" } },
        ]

        [[reply]]
        when = { turn = 2 }
        say = [
            { call = "ask_user", id = "ask", arguments = { question = "Which?", answer_type = "text" } },
            { call = "list_files", id = "list", arguments = {} },
        ]

        [[reply]]
        when = { turn = 3 }
        say = [{ call = "read_file", id = "read", arguments = { path = "notes.txt" } }]

        [[reply]]
        when = { turn = 4, step = 1 }
        say = [{ call = "edit_file", id = "edit", arguments = { path = "notes.txt", old_text = "x", new_text = "y" } }]

        [[reply]]
        when = { turn = 5 }
        say = [{ text = "Never mind." }]
    "#;
    let parks = [
        "--detached",
        "stop",
        "--set",
        "conversation.tools.read_file.result='ask'",
    ];
    it.go(script, &parks).exits(4);
    it.say("Ask me", &parks).exits(4);
    it.say("Read", &parks).exits(4);
    it.say("Edit", &parks);
    it.say("Forget it", &parks).exits(0);
}

/// An image is attached, the model changes, and the conversation gets another title.
pub(in super::super) fn attached_and_renamed(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { turn = 1 }
        say = [{ text = "It is red." }]

        [[reply]]
        when = { turn = 3 }
        say = [{ text = "Redder." }]
    "#;
    let media = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/media/red.png");
    it.world.write("notes.txt", "one\ntwo\nthree\n");
    it.go(script, &["--attach", media, "--attach", "notes.txt:2-3"])
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

/// Forked behind its first turn while a prompt of the second is open.
pub(in super::super) fn forked(it: &mut Making) {
    let script = r#"
        [[reply]]
        when = { turn = 1 }
        say = [{ text = "Hello." }]

        [[reply]]
        when = { turn = 2, step = 1 }
        say = [{ call = "ask_user", id = "ask", arguments = { question = "Which?", answer_type = "text" } }]

        [[reply]]
        when = { turn = 3 }
        say = [{ text = "In a fork." }]
    "#;
    let parks = ["--detached", "stop"];
    it.go(script, &parks).exits(0);
    it.say("Ask me", &parks).exits(4);
    let id = it.world.conversation();
    let fork = it.world.aside(&["conversation", "fork", &id]).exits(0);
    it.world.aside(&["conversation", "delete", &id]).exits(0);
    assert_eq!(it.world.conversation(), fork.stdout.trim());
    it.say("And now?", &parks).exits(0);
}

/// A turn in an editor: an edit that was asked about, in an unfinished second turn.
pub(in super::super) fn edited_and_killed(it: &mut Making) {
    it.file("a.txt", "one\n");
    let script = r#"
        [[reply]]
        when = { turn = 1, step = 1 }
        say = [{ call = "read_file", id = "read", arguments = { path = "a.txt" } }]

        [[reply]]
        when = { turn = 1, step = 2 }
        say = [{ call = "edit_file", id = "edit", arguments = { path = "a.txt", old_text = "one", new_text = "1" } }]

        [[reply]]
        when = { turn = 1, step = 3 }
        say = [{ text = "Done." }]

        [[reply]]
        when = { turn = 2, step = 1 }
        say = [
            { text = "Again." },
            { call = "edit_file", id = "edit_again", arguments = { path = "a.txt", old_text = "1", new_text = "2" } },
            { call = "run_command", id = "run", arguments = { command = "cat a.txt" } },
            { call = "ask_user", id = "ask", arguments = { question = "Which?", answer_type = "text" } },
        ]
    "#;
    let mut client = it.editor(script);
    let turn = client.turn(json!({ "message": "Go" }));
    client.play(&turn, yes);
    client.turn(json!({ "conversationId": turn["conversationId"], "message": "Again" }));
    for _ in 0..3 {
        client.expect("aside/prompt");
    }
    client.crash();
}
