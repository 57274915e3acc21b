//! A command that fails inside the sandbox because of it, and a person who may let it run outside.

use std::path::Path;

use super::person::PtyPerson;
use crate::world::TestWorld;

/// Calls of one command, one after another.
fn calls(command: &str, ids: &[&str]) -> String {
    let call = |id: &&str| format!("run_command {id} {{ command = '{command}' }}\n");
    let calls: String = ids.iter().map(call).collect();
    format!("{calls}'Done.'")
}

/// A workspace whose surroundings are not a folder that is empty inside the sandbox.
fn world() -> TestWorld {
    TestWorld::below(Path::new(env!("CARGO_TARGET_TMPDIR")))
}

const AUTO: [&str; 5] = ["--trust", "--mode", "auto", "--set", "sandbox=auto"];
const WRITES: &str = "echo x >../f && echo written";
const OUTSIDE: &str = "Inside the sandbox it failed, and the user let it run outside. Inside: Exit status 2.\n\
                       Exit status 0.\nwritten";
const INSIDE: &str = "[The sandbox is why: it wants to write where the sandbox lets nothing write.";

#[test]
fn it_is_shown_whole_and_runs_outside_once_or_not_at_all() {
    let world = world();
    let mut person = PtyPerson::runs(&world, &calls(WRITES, &["one", "two", "three"]), &AUTO);
    let screen = person.is_asked();
    for part in [
        "Outside the sandbox",
        "echo x >../f && echo written\n",
        "Inside it failed: it wants to write where the sandbox lets nothing",
        "Run `echo x >../f && echo written` outside the sandbox?",
    ] {
        assert!(screen.contains(part), "{part}: {screen}");
    }
    assert!(!world.folder().join("f").exists());
    person.types("once\n");
    person.is_asked();
    assert!(world.folder().join("f").exists());
    person.types("no\n");
    // The same is asked again, for once is once, and so is a no.
    person.is_asked();
    person.types("4\n");
    person.ends(0);
    let log = world.log();
    assert_eq!(log.told("one"), OUTSIDE);
    for refused in ["two", "three"] {
        let told = log.told(refused);
        assert!(told.starts_with("Exit status 2.\n"), "{told}");
        assert!(told.contains(INSIDE), "{told}");
        assert!(
            told.contains("The user was asked and does not let it run outside"),
            "{told}"
        );
    }
}

#[test]
fn what_is_let_out_for_the_turn_is_not_asked_again() {
    let world = world();
    let mut person = PtyPerson::runs(&world, &calls(WRITES, &["one", "two"]), &AUTO);
    person.is_asked();
    person.types("turn\n");
    person.ends(0);
    let log = world.log();
    assert_eq!(log.told("one"), OUTSIDE);
    assert_eq!(log.told("two"), "Exit status 0.\nwritten");
    world.aside(&["approvals", "list"]).exits(0).writes("");
}

#[test]
fn what_is_let_out_is_asked_again_once_commands_made_what_other_programs_run() {
    let world = world();
    let plants = "mkdir -p .git/hooks; echo x >.git/hooks/pre-push; echo made";
    let script = format!(
        "run_command one {{ command = '{WRITES}' }}\nrun_command plant {{ command = '{plants}' }}\n\
         run_command two {{ command = '{WRITES}' }}\n'Done.'"
    );
    let mut person = PtyPerson::runs(&world, &script, &AUTO);
    person.is_asked();
    person.types("always\n");
    let screen = person.is_asked();
    let why = ".git, from which other programs take code";
    assert!(screen.contains(why), "{screen}");
    person.types("no\n");
    person.ends(0);
    assert_eq!(world.log().told("one"), OUTSIDE);
}

#[test]
fn what_is_let_out_does_not_run_once_a_command_beside_it_made_what_other_programs_run() {
    let world = world();
    // Its end comes after the answer, so that whoever answers knows nothing of it.
    let plants = "until [ -e answered ]; do sleep 0.02; done; mkdir -p .git/hooks; echo x >.git/hooks/pre-push; echo made";
    let script = format!(
        "[[reply]]\nsay = [\n{{ call = 'run_command', id = 'plant', arguments = {{ command = '{plants}' }} }},\n\
         {{ call = 'run_command', id = 'one', arguments = {{ command = '{WRITES}' }} }},\n]\n\
         [[reply]]\nsay = [{{ text = 'Done.' }}]\n"
    );
    let mut person = PtyPerson::runs(&world, &script, &AUTO);
    person.is_asked();
    person.types("once\n");
    world.write("answered", "");
    person.ends(0);
    let log = world.log();
    assert!(log.told("plant").ends_with("made"), "{}", log.told("plant"));
    let why = "It did not run outside the sandbox, as a command beside it made or replaced .git, from which other \
               programs take code; call it again.";
    assert_eq!(log.told("one"), why);
    assert!(!world.folder().join("f").exists());
}

#[test]
fn what_is_let_out_for_good_is_listed_and_can_be_revoked() {
    let world = world();
    let mut person = PtyPerson::runs(&world, &calls(WRITES, &["one"]), &AUTO);
    person.is_asked();
    person.types("always\n");
    person.ends(0);
    let listed = world.aside(&["approvals", "list"]).exits(0).stdout;
    assert!(listed.contains("  outside the sandbox\n"), "{listed}");
    assert!(listed.contains(WRITES), "{listed}");
    let name = listed.split_whitespace().next().unwrap();
    // With nobody there it runs outside now, and nothing else does.
    let told = |command: &str| {
        let script = calls(command, &["call"]);
        let model = world.script(&script);
        let args = ["run", "-m", &model, "Go", "--non-interactive"];
        let before = world.conversations();
        world.aside(&[&args[..], &AUTO].concat()).exits(0);
        let mut new = world.conversations();
        new.retain(|it| !before.contains(it));
        crate::world::EventLog::read(&new[0])
            .told("call")
            .to_owned()
    };
    assert_eq!(told(WRITES), "Exit status 0.\nwritten");
    assert!(told("echo y >../f && echo written").contains(INSIDE));
    world.aside(&["approvals", "revoke", name]).exits(0);
    assert!(told(WRITES).contains(INSIDE));
}

#[test]
fn a_command_is_shown_as_what_it_is_and_not_as_what_it_looks_like() {
    let world = world();
    let line = "echo g\u{456}t \u{202e}hs.x a\u{301} z\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}\u{301}";
    let mut person = PtyPerson::runs(&world, &calls(line, &["one"]), &["--trust"]);
    let screen = person.is_asked();
    let shown = "echo g<U+0456>t <U+202E>hs.x a\u{301} z⟨9 marks⟩";
    // In the title and as what would run.
    assert_eq!(screen.matches(shown).count(), 2, "{screen}");
    person.types("no\n");
    person.ends(0);
}

#[test]
fn where_nobody_is_there_nothing_is_asked_or_refused() {
    let world = world();
    let args = [
        &AUTO[..],
        &["--non-interactive", "--strict", "--output", "json"],
    ]
    .concat();
    let done = world.run(&calls(WRITES, &["call"]), &args).exits(0);
    assert_eq!(done.json()["refusals"], serde_json::json!([]));
    world.log().told_has("call", &format!("{INSIDE}]"));
    assert!(world.log().all("prompt_opened").is_empty());
}
