//! Programs that commands start and that would wait for a person whom nobody shows them to.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::world::TestWorld;

/// An editor that waits for ever, as one does on a screen that nobody sees.
const WAITS: &str = "tail -f /dev/null";

/// Commands that open an editor, a pager or a prompt, with the text that shows how each ended.
const COMMANDS: [(&str, &str); 9] = [
    ("git commit", "editor 'false'"),
    ("git commit --amend", "editor 'false'"),
    ("git tag -a one", "editor 'false'"),
    ("git rebase -i --autostash HEAD~1", "editor 'false'"),
    ("git config --edit", "editor 'false'"),
    (
        "git -c pager.log=true --paginate log -1 --format=%s",
        "second",
    ),
    (
        "echo url=https://localhost | git -c credential.helper= credential fill",
        "terminal prompts disabled",
    ),
    ("$EDITOR notes.txt; echo ended", "ended"),
    ("seq 100 | $PAGER | tail -1", "100"),
];

#[test]
fn editors_pagers_and_prompts_end_at_once() {
    let world = TestWorld::new();
    let git = |args: &[&str]| {
        let done = world.within("git", args).output().unwrap();
        assert!(done.status.success(), "{args:?}: {done:?}");
    };
    git(&["init", "-q", "."]);
    for (name, value) in [
        ("user.name", "Ada"),
        ("user.email", "ada@example.org"),
        ("core.editor", WAITS),
        ("sequence.editor", WAITS),
        ("core.pager", WAITS),
        ("core.askPass", WAITS),
    ] {
        git(&["config", name, value]);
    }
    for text in ["first", "second"] {
        world.write("notes.txt", text);
        git(&["add", "."]);
        git(&["commit", "-qm", text]);
    }
    world.write("notes.txt", "third");
    git(&["add", "."]);
    let call = |(at, (command, _)): (usize, &(&str, &str))| {
        let id = format!("c{at}");
        let call = json!({"call": "run_command", "id": id, "arguments": {"command": command}});
        json!({"say": [call]})
    };
    // One after another, as Git locks what it changes.
    let calls = COMMANDS.iter().enumerate().map(call);
    let done = json!({"say": [{"text": "Done."}]});
    let script = json!({"reply": calls.chain([done]).collect::<Vec<_>>()});
    let begun = Instant::now();
    world
        .run(
            &toml::to_string(&script).unwrap(),
            &["--trust", "--unsandboxed", "--mode", "auto"],
        )
        .exits(0);
    assert!(
        begun.elapsed() < Duration::from_secs(30),
        "something waited"
    );
    let log = world.log();
    for (at, (command, shows)) in COMMANDS.iter().enumerate() {
        let told = log.told(&format!("c{at}"));
        assert!(told.contains(shows), "{command}: {told}");
    }
}
