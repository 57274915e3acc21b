//! Edits, commands and results that need a person's consent.

use serde_json::{Value, json};

use super::{
    person::{PtyPerson, PtyStart},
    screen::matches,
    table::{TerminalCase, page, script},
};
use crate::world::TestWorld;

const NOTES: &str = "# Notes\n\n- milk\n- bread\n\n# Later\n\n- milk\n";
/// The person, not the model, says which place is meant.
const WHICH: &str = "conversation.tools.edit_file.questions.occurrence.target='user'";
const LABEL: &str = "conversation.tools.edit_file.questions.occurrence.prompt_label='Which place'";

fn edit(old: &str, new: &str) -> Value {
    json!({"path": "notes.md", "old_text": old, "new_text": new})
}

fn read() -> TerminalCase {
    TerminalCase::new(
        "reading asks nobody",
        "read_file",
        json!({"path": "notes.md"}),
        &[],
    )
}

#[test]
fn an_edit_that_could_be_in_several_places() {
    let world = TestWorld::new();
    world.write("notes.md", NOTES);
    let milk = edit("- milk", "- oat milk");
    let cases = [
        read(),
        TerminalCase::new(
            "which place, then whether",
            "edit_file",
            milk,
            &["7\n", "8\n", "o\n"],
        ),
        TerminalCase::new(
            "no, with a note",
            "edit_file",
            edit("# Later", "# Sometime"),
            &["!keep the headings\n"],
        ),
        TerminalCase::new(
            "no",
            "edit_file",
            edit("- bread\n", ""),
            &["always\n", "n\n"],
        ),
        TerminalCase::new("the same again", "edit_file", edit("- bread\n", ""), &[]),
        TerminalCase::new(
            "a new file, and all edits of the turn",
            "write_file",
            json!({"path": "new.md", "content": "one\ntwo"}),
            &["t\n"],
        ),
        TerminalCase::new(
            "another edit",
            "edit_file",
            edit("# Notes", "# My notes"),
            &[],
        ),
    ];
    let args = ["--trust", "--set", WHICH];
    let person = PtyPerson::runs(&world, &script(&cases), &args);
    matches("edits.txt", &page(&world, person, &cases));
    let now = "# My notes\n\n- milk\n- bread\n\n# Later\n\n- oat milk\n";
    assert_eq!(world.read("notes.md"), now);
    assert_eq!(world.read("new.md"), "one\ntwo");
}

#[test]
fn all_edits_of_the_turn_are_those_too_that_wait_already() {
    let world = TestWorld::new();
    for name in ["a.md", "b.md"] {
        world.write(name, "one\ntwo\n");
    }
    let call = |tool: &str, arguments: Value| json!({ "call": tool, "arguments": arguments });
    let read = |path: &str| call("read_file", json!({ "path": path }));
    let edit = |path: &str, old: &str, new: &str| {
        call(
            "edit_file",
            json!({ "path": path, "old_text": old, "new_text": new }),
        )
    };
    let replies = json!([
        { "say": [read("a.md"), read("b.md")] },
        { "say": [edit("a.md", "two", "2"), edit("b.md", "two", "2"), edit("a.md", "one", "1")] },
        { "say": [{ "text": "Done." }] },
    ]);
    let script = toml::to_string(&json!({ "reply": replies })).unwrap();
    let mut person = PtyPerson::runs(&world, &script, &["--trust"]);
    person.is_asked();
    person.types("t\n");
    // Nothing more is typed.
    person.ends(0);
    assert_eq!(world.read("a.md"), "1\n2\n");
    assert_eq!(world.read("b.md"), "one\n2\n");
}

/// What `t` grants is said in the same words however the change is shown, and it grants that.
#[test]
fn a_pager_does_not_change_what_is_granted() {
    let lines = |word: &str| {
        (1..=300)
            .map(|n| format!("{word} {n}\n"))
            .collect::<String>()
    };
    let mut said = Vec::new();
    for pager in ["", "cat", "head -1", "false"] {
        let world = TestWorld::new();
        world.write("big.txt", &lines("value"));
        world.write("a.py", "x = 1\n");
        let call = |tool: &str, arguments: Value| json!({ "call": tool, "arguments": arguments });
        let write = json!({ "path": "big.txt", "content": lines("VALUE") });
        let edit = json!({ "path": "a.py", "old_text": "x = 1", "new_text": "x = 2" });
        let replies = json!([
            { "say": [call("read_file", json!({"path": "big.txt"})), call("read_file", json!({"path": "a.py"}))] },
            { "say": [call("write_file", write)] },
            { "say": [call("edit_file", edit)] },
            { "say": [{ "text": "Both." }] },
        ]);
        let model = world.script(&toml::to_string(&json!({ "reply": replies })).unwrap());
        let mut start = PtyStart::aside(&["run", "--trust", "-m", &model, "Go"]);
        start.env.push(("PAGER", pager));
        let mut person = PtyPerson::starts(&world, &start);
        let screen = person.is_asked();
        let turn = screen.lines().rfind(|line| line.starts_with("  t  "));
        said.push(turn.expect("a way to allow it for the turn").to_owned());
        person.types("t\n");
        person.ends(0);
        assert_eq!(world.read("a.py"), "x = 2\n", "{pager}");
    }
    assert_eq!(
        said[0],
        "  t  make this change and all other edits of this turn"
    );
    assert!(said.iter().all(|turn| *turn == said[0]), "{said:?}");
}

#[test]
fn the_label_of_which_place_can_be_set() {
    let world = TestWorld::new();
    world.write("notes.md", NOTES);
    let args = ["--trust", "--mode", "edits", "--set", WHICH, "--set", LABEL];
    let cases = [
        read(),
        TerminalCase::new("all", "edit_file", edit("- milk", "- oat milk"), &["all\n"]),
    ];
    let mut person = PtyPerson::runs(&world, &script(&cases), &args);
    let shown = person.is_asked();
    assert!(shown.contains("\n\n── Which place ──\n"), "{shown}");
    person.types("all\n");
    person.ends(0);
    assert_eq!(world.read("notes.md"), NOTES.replace("milk", "oat milk"));
}

#[test]
fn commands_that_may_run() {
    let world = TestWorld::new();
    let run = |name: &str, command: &str, keys| {
        TerminalCase::new(name, "run_command", json!({"command": command}), keys)
    };
    let hides = format!("true{}; rm log #{}", " ".repeat(70), ".".repeat(60));
    let poses = format!("{hides}{}  n  no", " ".repeat(20));
    let cases = [
        run("once", "echo 1 >>log", &["sure\n", "\n", "y\n"]),
        run("asked again, and for the turn", "echo 1 >>log", &["t\n"]),
        run("not asked again in the turn", "echo 1 >>log", &[]),
        run("no", "rm log", &["n\n"]),
        run("the same again", "rm log", &[]),
        run("no, with a note", "rm -r .", &["!leave the files alone\n"]),
        run("skipped", "rm *", &["\x04"]),
        run("hidden, and like the prompt", &poses, &["n\n"]),
        run("always", "echo 2 >>log; printf 'a\\033[31mb'", &["a\n"]),
    ];
    let script = script(&cases);
    let person = PtyPerson::runs(&world, &script, &["--trust"]);
    matches("commands.txt", &page(&world, person, &cases));
    assert_eq!(world.read("log"), "1\n1\n1\n2\n");
}

#[test]
fn always_is_for_later_runs_too_and_for_this_command_alone() {
    let world = TestWorld::new();
    let script_of = |command: &str| {
        let arguments = json!({ "command": command });
        script(&[TerminalCase::new("", "run_command", arguments, &[])])
    };
    let mut person = PtyPerson::runs(&world, &script_of("echo 1 >>log"), &["--trust"]);
    person.is_asked();
    person.types("a\n");
    person.ends(0);
    let person = PtyPerson::runs(&world, &script_of("echo 1 >>log"), &["--trust"]);
    let screen = person.ends(0);
    assert!(!screen.contains("── "), "{screen}");
    assert_eq!(world.read("log"), "1\n1\n");
    let mut person = PtyPerson::runs(&world, &script_of("echo 2 >>log"), &["--trust"]);
    person.is_asked();
    person.types("n\n");
    person.ends(0);
    assert_eq!(world.read("log"), "1\n1\n");
}

#[test]
fn results_that_the_model_may_see() {
    let world = TestWorld::new();
    world.write("notes.md", NOTES);
    let read =
        |name: &str, keys| TerminalCase::new(name, "read_file", json!({"path": "notes.md"}), keys);
    let cases = [
        read("yes", &["\n", "y\n"]),
        read("no", &["n\n"]),
        read("no, with a note", &["!it is not for you\n"]),
        read("skipped", &["\x04"]),
    ];
    let ask = "conversation.tools.read_file.result='ask'";
    let person = PtyPerson::runs(&world, &script(&cases), &["--trust", "--set", ask]);
    matches("results.txt", &page(&world, person, &cases));
}
