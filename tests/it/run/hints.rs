//! The command lines that the program prints are typed as they are printed, and do what they say.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::world::{ASIDE, ProgramResult, TestWorld, start};

/// A command that needs a person, and words for whatever came of it.
const RUNS: &str = r#"
    run_command run { command = "echo ran >ran.txt" }
    "Over."
"#;

/// An edit that asks which place is meant.
const EDITS: &str = r#"
    read_file { path = "a.txt" }
    edit_file edit { path = "a.txt", old_text = "one", new_text = "two" }
    "Over."
"#;

const ASKS_THE_USER: &str =
    "[conversation.tools.edit_file.questions.occurrence]\ntarget = 'user'\n";

const STALLS: &str = "'Half a '\n& fault = { stall = true }";

impl TestWorld {
    /// Types a line into a shell in which the program is found.
    fn types(&self, line: &str) -> ProgramResult {
        let folder = Path::new(ASIDE).parent().unwrap();
        let path = std::env::var("PATH").unwrap();
        let mut command = self.within("setsid", &["sh", "-c", line]);
        command.env("PATH", format!("{}:{path}", folder.display()));
        start(&mut command).end()
    }
}

/// The line that follows these words.
#[track_caller]
fn hint<'a>(done: &'a ProgramResult, before: &str) -> &'a str {
    let mut lines = done.stderr.lines();
    let hint = lines.find_map(|line| line.trim_start().strip_prefix(before));
    hint.unwrap_or_else(|| panic!("no {before:?} in {done:#?}"))
}

/// The command that answers, and each of the values that it may have.
#[track_caller]
fn how_to_answer(done: &ProgramResult) -> (&str, Vec<&str>) {
    let values = hint(done, "VALUE: ");
    (
        hint(done, "answer with: "),
        values.split(" or ").flat_map(|it| it.split(", ")).collect(),
    )
}

#[test]
fn a_permission_is_given_by_the_printed_line() {
    let flags = ["--trust", "--mode", "edits", "--detached", "stop"];
    let mut tried = 0;
    for (place, runs) in [true, true, true, false].into_iter().enumerate() {
        let world = TestWorld::new();
        let done = world.run(RUNS, &flags).exits(4);
        let (line, values) = how_to_answer(&done);
        assert_eq!(values, ["once", "turn", "always", "no"]);
        world
            .types(&line.replace("VALUE", values[place]))
            .exits(0)
            .writes("Over.\n");
        assert_eq!(world.at("ran.txt").exists(), runs, "{}", values[place]);
        tried += 1;
    }
    assert_eq!(tried, 4);
}

#[test]
fn a_question_is_answered_by_the_printed_line() {
    let flags = ["--trust", "--mode", "edits", "--detached", "stop"];
    let world = TestWorld::new();
    world.user_config(ASKS_THE_USER);
    world.write("a.txt", "one\none\n");
    let done = world.run(EDITS, &flags).exits(4);
    let (line, values) = how_to_answer(&done);
    assert_eq!(values.last(), Some(&"all"), "{values:?}");
    world.types(&line.replace("VALUE", "all")).exits(0);
    assert_eq!(world.read("a.txt"), "two\ntwo\n");
}

/// What an answer needs and a resume does not have is told before anything is done, whether the answer is given with the
/// resume or was to come later.
#[test]
fn without_trust_no_answer_is_used_up() {
    for (script, value, id, told) in [
        (RUNS, "once", "run", "Exit status 0."),
        (EDITS, "all", "edit", "Changed `a.txt`."),
    ] {
        let world = TestWorld::new();
        world.user_config(ASKS_THE_USER);
        world.write("a.txt", "one\none\n");
        let flags = ["--trust", "--mode", "edits", "--detached", "stop"];
        let done = world.run(script, &flags).exits(4);
        let line = hint(&done, "answer with: ").replace("VALUE", value);
        assert!(line.contains(" --trust "), "{line}");
        let before = world.log().events().to_vec();
        let (bare, _) = line.split_once(" --answer ").unwrap();
        for line in [&line, bare] {
            let refused = world.types(&line.replace(" --trust", "")).exits(2);
            let refused = refused.writes("").says("add --trust again");
            assert_eq!(refused.stderr.lines().count(), 1, "{refused:?}");
            assert_eq!(world.log().events(), before);
        }
        // Nor where the mode refuses what was allowed.
        world
            .types(&format!("{line} --mode plan"))
            .exits(2)
            .says("the mode does not allow it");
        assert_eq!(world.log().events(), before);
        world.types(&line).exits(0).writes("Over.\n");
        assert_eq!(world.log().told(id).lines().next(), Some(told));
    }
}

/// A permission to run a command without a sandbox is none to run it inside of one, and the other way round.
#[test]
fn without_the_freedom_that_it_was_asked_with_no_answer_is_used_up() {
    let world = TestWorld::new();
    let flags = ["--trust", "--unsandboxed", "--detached", "stop"];
    let done = world.run(RUNS, &flags).exits(4);
    let line = hint(&done, "answer with: ").replace("VALUE", "once");
    assert!(line.contains(" --unsandboxed"), "{line}");
    let before = world.log().events().to_vec();
    let (bare, _) = line.split_once(" --answer ").unwrap();
    for line in [&line, bare] {
        let refused = world.types(&line.replace(" --unsandboxed", "")).exits(2);
        let refused = refused.writes("").says("add --unsandboxed again");
        assert_eq!(refused.stderr.lines().count(), 1, "{refused:?}");
        assert_eq!(world.log().events(), before);
    }
    world.types(&line).exits(0).writes("Over.\n");
    assert!(world.at("ran.txt").exists());
}

#[test]
fn a_resume_has_mode_limits_and_model_of_the_log() {
    let world = TestWorld::new();
    let script = r#"
        ask_user { question = "Which?" }
        & usage = { cost = 0.2 }
        write_file write { path = "a.txt", content = "a" }
        & usage = { cost = 0.2 }
        "Over."
    "#;
    let flags = [
        "--trust",
        "--mode",
        "edits",
        "--max-cost",
        "0.3",
        "--max-steps",
        "7",
    ];
    let stop = ["--timeout", "90s", "--detached", "stop"];
    let done = world.run(script, &[&flags[..], &stop].concat()).exits(4);
    let options = world.log().one("turn_start")["options"].clone();
    let limits = json!({"steps": 7, "turn_seconds": 90, "cost_usd": 0.3});
    assert_eq!(options["limits"], limits);
    let line = hint(&done, "answer with: ").replace("VALUE", "'this one'");
    let line = format!("{line} --output json");
    let end: Value = world.types(&line).exits(5).json();
    assert_eq!(end["error"]["code"], "budget", "{end}");
    // The edit ran, so the mode was that of the log.
    assert_eq!(world.read("a.txt"), "a");

    let allowed = TestWorld::new();
    let done = allowed.run(script, &[&flags[..], &stop].concat()).exits(4);
    let line = hint(&done, "answer with: ").replace("VALUE", "'this one'");
    allowed.types(&format!("{line} --max-cost 0.9")).exits(0);
}

#[test]
fn what_was_cancelled_or_interrupted_goes_on_by_the_printed_line() {
    let check = |signal, before: &str| {
        let world = TestWorld::new();
        let mut running = world.start_until(STALLS, &["--trust"], "request_sent");
        running.signal(signal);
        let done = running.end();
        world.script("'A whole answer.'");
        world
            .types(hint(&done, before))
            .exits(0)
            .writes("A whole answer.\n");
        assert_eq!(world.conversations().len(), 1);
    };
    check(Signal::INT, "cancelled; continue with: ");
    check(Signal::TERM, "interrupted; continue with: ");
}

#[test]
fn the_printed_line_names_the_folder() {
    let world = TestWorld::new();
    world.write("sub dir/a.txt", "");
    let flags = ["--trust", "--detached", "stop", "--cwd", "sub dir"];
    let done = world.run(RUNS, &flags).exits(4);
    let line = hint(&done, "answer with: ").replace("VALUE", "once");
    world.types(&line).exits(0).writes("Over.\n");
    assert!(world.at("sub dir/ran.txt").exists());
}

/// The files of the program, each with its text.
fn sources(folder: &Path, all: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            all.push((path, text));
        }
    }
}

/// What a sentence of the program tells a person to type is a command that there is.
#[test]
fn every_command_that_a_sentence_names_is_one() {
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("server"),
        &mut files,
    );
    let world = TestWorld::new();
    let mut named = BTreeSet::new();
    for (path, text) in &files {
        let code = text.split("\n#[cfg(test)]\nmod tests {").next().unwrap();
        for line in code.lines().filter(|line| !line.trim().starts_with("//")) {
            for span in line.split('`').skip(1).step_by(2) {
                if let Some(words) = span.strip_prefix("aside ")
                    && !words.starts_with("__")
                    && !words.contains('…')
                {
                    named.insert((words.to_owned(), path));
                }
            }
        }
    }
    assert!(named.len() > 10, "{named:?}");
    for (words, path) in named {
        let words: Vec<&str> = words
            .split(' ')
            .map(|word| if word.contains('{') { "x" } else { word })
            .chain(["--help"])
            .collect();
        let done = world.aside(&words);
        assert_eq!(done.code, 0, "{words:?} in {}: {done:?}", path.display());
    }
}

#[test]
fn a_conversation_goes_on_with_its_model_and_mode() {
    let world = TestWorld::new();
    let script = r#"
        { turn = 1 } => "First."
        { turn = 2, step = 1 } => write_file { path = "a.txt", content = "a" }
        { turn = 2, step = 2 } => "Second."
        { turn = 3 } => "Third."
    "#;
    world.user_config("[assistant]\nmodel = 'rehearsal/hello'\n");
    world.run(script, &["--trust", "--mode", "edits"]).exits(0);
    let run = |args: &[&str]| world.aside(&[&["run", "--trust"], args].concat());
    run(&["--continue", "Next"]).exits(0).writes("Second.\n");
    assert_eq!(world.read("a.txt"), "a");
    let id = world.conversation();
    run(&["-c", &id, "--mode", "plan", "Next"])
        .exits(0)
        .writes("Third.\n");
    let log = world.log();
    let modes = log.all("turn_start").into_iter();
    let modes: Vec<&Value> = modes.map(|turn| &turn["options"]["mode"]).collect();
    assert_eq!(modes, ["edits", "edits", "plan"]);
}
