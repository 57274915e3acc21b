//! `aside trust` with a person at the terminal: what would count and be started is shown first, and a yes alone trusts.

use super::person::{PtyPerson, PtyStart};
use crate::world::TestWorld;

/// Standard output is the terminal, too.
const SHOWN: &str = r#"exec "$@""#;

/// A person gives `aside trust` and answers with this line. Returns all that was on the screen before the question.
fn answers(world: &TestWorld, line: &str, expected: &str) -> String {
    let start = PtyStart {
        shell: SHOWN,
        ..PtyStart::aside(&["trust"])
    };
    let mut person = PtyPerson::starts(world, &start);
    let screen = person.sees(" [y/N] ");
    person.types(line);
    let rest = person.ends(0);
    let root = world.at("").canonicalize().unwrap().display().to_string();
    let rest = rest.replace(&root, "~");
    assert!(rest.contains(expected), "{line:?}: {rest}");
    screen.replace(&root, "~")
}

/// Whether the workspace is trusted, as the program itself says.
fn is_trusted(world: &TestWorld) -> bool {
    let said = world.aside(&["doctor"]).stdout;
    assert!(said.contains(" is trusted") || said.contains(" is not trusted"));
    !said.contains(" is not trusted")
}

#[test]
fn what_trust_means_is_shown_before_it_is_given_and_whatever_is_no_yes_gives_nothing() {
    let world = TestWorld::new();
    let lint = "conversation.tools.lint.command = ['./lint.sh']\n";
    world.write("aside.toml", lint);
    world.write("lint.sh", "#!/bin/sh\n");
    for no in ["n\n", "\n", "maybe\n", "\x04"] {
        let screen = answers(&world, no, "~ is not trusted.\n");
        assert!(
            screen.starts_with("These settings of ~/aside.toml would count:\n"),
            "{screen}"
        );
        assert!(
            screen.contains("this can be started:\n  tool lint: [\"./lint.sh\"]\n"),
            "{screen}"
        );
        // Where the lines end depends on where the world is.
        let words: Vec<&str> = screen.split_whitespace().collect();
        assert!(
            words
                .join(" ")
                .ends_with("Trust ~, so that tools may change files and run commands here? [y/N]"),
            "{screen}"
        );
        assert!(!is_trusted(&world), "{no:?}");
    }
    answers(&world, "y\n", "~ is trusted.\n");
    assert!(is_trusted(&world));
}
