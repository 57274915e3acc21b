//! Lines that are printed once, for who hears the screen, and long ones of which only the surroundings of a change are shown.

use serde_json::json;

use super::person::{PtyPerson, PtyStart};
use crate::world::TestWorld;

const ASKS: &str = r##"
run_command { command = 'for i in 1 2 3 4 5 6 7 8 9; do echo line $i; sleep 0.1; done' }
edit_file { path = 'new.txt', old_text = 'a', new_text = 'b' }
ask_user { question = 'Which way?' }
"# Title\n\n*Done*."
"##;

/// All that is on a terminal which could be drawn on, of a run that takes a while and asks.
fn printed(world: &TestWorld, term: &'static str) -> String {
    let model = world.script(ASKS);
    let args = [
        "run",
        "--trust",
        "--unsandboxed",
        "--mode",
        "auto",
        "-m",
        &model,
        "Go",
    ];
    let start = PtyStart {
        shell: r#"exec "$@""#,
        env: vec![("TERM", term)],
        ..PtyStart::aside(&args)
    };
    let mut person = PtyPerson::starts(world, &start);
    let mut shown = person.sees("> ");
    person.types("left\n");
    shown += &person.ends(0);
    shown
}

/// A text without what sets colours and letters.
fn uncoloured(text: &str) -> String {
    let mut parts = text.split("\x1b[");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |shown, part| {
        let codes = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        match codes.strip_prefix('m') {
            Some(rest) => shown + rest,
            None => shown + "\x1b[" + part,
        }
    })
}

#[test]
fn lines_are_printed_once_for_a_screen_reader_and_on_a_dumb_terminal() {
    for (term, setting, is_once, is_coloured) in [
        ("xterm-256color", "", false, true),
        ("xterm-256color", "screen_reader = true\n", true, true),
        ("dumb", "", true, false),
    ] {
        let world = TestWorld::new();
        world.user_config(setting);
        let shown = printed(&world, term);
        let plain = uncoloured(&shown);
        assert_eq!(plain != shown, is_coloured, "{setting}{term}: {shown:?}");
        let moves = plain.contains(['\x1b', '\r', '\x08', '⠹']);
        assert_eq!(!moves, is_once, "{setting}{term}: {shown:?}");
        if is_once {
            for line in ["run_command: Run", "Which way?", "Title", "Done"] {
                assert!(plain.matches(line).count() <= 2, "{line}: {plain}");
            }
        }
    }
}

/// A word in the middle of a line that is as long as a book.
#[test]
fn a_change_in_a_long_line_is_shown_with_its_surroundings() {
    let around = |word: &str| {
        let (left, right) = ("left of it ".repeat(14_000), " right of it".repeat(14_000));
        format!("{left}{word}{right}\n")
    };
    for pager in ["", "less"] {
        let world = TestWorld::new();
        world.write("long.txt", &around("old"));
        let new = json!({ "path": "long.txt", "old_text": " old ", "new_text": " newer " });
        let replies = json!([
            { "say": [{ "call": "read_file", "arguments": { "path": "long.txt" } }] },
            { "say": [{ "call": "edit_file", "arguments": new }] },
            { "say": [{ "text": "Done." }] },
        ]);
        let script = toml::to_string(&json!({ "reply": replies })).unwrap();
        let model = world.script(&script);
        let mut start = PtyStart::aside(&["run", "--trust", "--mode", "ask", "-m", &model, "Go"]);
        start.env.push(("PAGER", pager));
        let mut person = PtyPerson::starts(&world, &start);
        let shown = person.is_asked();
        assert!(shown.len() < 4000, "{} bytes: {shown}", shown.len());
        for part in ["left of it old right", "left of it newer right"] {
            assert!(shown.contains(part), "{part}: {shown}");
        }
        person.types("y\n");
        person.ends(0);
        assert_eq!(world.read("long.txt"), around("newer"));
    }
}
