//! Several turns, and what comes with a message.

use std::fs;

use serde_json::json;

use crate::{
    traced::seen_into,
    world::{ASIDE, EventLog, TestWorld, start},
};

const SAYS: &str = r#"
    { turn = 1, user = "First" } => "The first."
    { turn = 2, user = "Second" } => "The second."
    { turn = 3, user = "Third" } => "The third."
"#;

#[test]
fn a_conversation_goes_on_by_itself_or_by_its_id() {
    let world = TestWorld::new();
    let model = world.script(SAYS);
    let run = |args: &[&str]| world.aside(&[&["run", "-m", &model], args].concat());
    run(&["First"]).exits(0).writes("The first.\n");
    let id = world.conversation();
    run(&["--continue", "Second"])
        .exits(0)
        .writes("The second.\n");
    run(&["-c", &id[..4], "Third"])
        .exits(0)
        .writes("The third.\n");
    let log = world.log();
    assert_eq!(log.all("turn_start").len(), 3);
    assert_eq!(log.all("conversation").len(), 1);
    assert!(log.all("changed").is_empty(), "equal prefixes stay equal");

    // Without either it is a new one, and the newest is the one that goes on.
    run(&["First, again"]).exits(0);
    run(&["--continue", "Second"]).exits(0);
    let turns = world
        .conversations()
        .iter()
        .map(|it| EventLog::read(it).all("turn_start").len())
        .collect::<Vec<_>>();
    assert_eq!(turns.iter().sum::<usize>(), 5);
    assert!(turns.contains(&2), "{turns:?}");
    run(&["-c", "nonesuch", "Third"])
        .exits(2)
        .says("there is no conversation nonesuch");
}

#[test]
fn another_folder_has_conversations_of_its_own() {
    let world = TestWorld::new();
    let model = world.script(SAYS);
    world.aside(&["run", "-m", &model, "First"]).exits(0);
    world.write("sub/a.txt", "");
    let elsewhere = ["run", "--cwd", "sub", "-m", &model, "--continue", "Second"];
    world
        .aside(&elsewhere)
        .exits(2)
        .says("there is no conversation to continue here");
}

const ECHOES: &str = "'Seen.'";

#[test]
fn files_and_lines_of_files_are_attached() {
    let world = TestWorld::new();
    world.write("a.txt", "one\ntwo\nthree\n");
    world
        .run(ECHOES, &["--attach", "a.txt", "--attach", "a.txt:2-3"])
        .exits(0);
    let log = world.log();
    assert_eq!(
        log.one("user_message")["attachments"],
        json!([{"name": "a.txt", "text": "one\ntwo\nthree\n"}, {"name": "a.txt:2-3", "text": "two\nthree\n"}])
    );
}

#[test]
fn a_pipe_is_the_message_or_an_attachment() {
    let world = TestWorld::new();
    let model = world.script(ECHOES);
    let message = |input: &str, args: &[&str]| {
        let world = TestWorld::new();
        world
            .aside_with(input, &[&["run", "-m", &model], args].concat())
            .exits(0);
        let log = world.log();
        let message = log.one("user_message");
        json!([message["text"], message["attachments"][0]["text"]])
    };
    assert_eq!(message("Fix it\n", &[]), json!(["Fix it\n", null]));
    assert_eq!(message("Fix it", &["-"]), json!(["Fix it", null]));
    assert_eq!(
        message("error: x\n", &["Fix it"]),
        json!(["Fix it", "error: x\n"])
    );
    assert_eq!(message("", &["Fix it"]), json!(["Fix it", null]));
}

const SCHEMA: &str = r#"{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}}"#;

#[test]
fn an_answer_that_does_not_fit_its_schema_is_repaired_once() {
    let repaired = r#"
        '{"n":"one"}'
        { step = 2, directive = "Your answer does not fit the schema" } => '{"n":1}'
    "#;
    let world = TestWorld::new();
    world.write("schema.json", SCHEMA);
    world
        .run(repaired, &["--schema", "schema.json"])
        .exits(0)
        .writes("{\"n\":1}\n");
    assert_eq!(world.log().all("directive").len(), 1);

    let end = TestWorld::new()
        .run(repaired, &["--schema", SCHEMA, "--output", "json"])
        .exits(0)
        .json();
    assert_eq!(end["structured"], json!({"n": 1}));

    // Nothing is repaired that fits.
    let world = TestWorld::new();
    world
        .run(r#"'{"n": 2}'"#, &["--schema", SCHEMA])
        .exits(0)
        .writes("{\"n\":2}\n");
    assert!(world.log().all("directive").is_empty());
}

#[test]
fn a_conversation_is_written_by_one_process_at_a_time() {
    let world = TestWorld::new();
    let stalls = "-\n& fault = { stall = true }";
    let mut first = world.start_until(stalls, &[], "request_sent");
    let before = world.log().events().to_vec();
    let id = world.conversation();
    let model = world.script(ECHOES);
    let second = world
        .aside(&["run", "-c", &id, "-m", &model, "Me too"])
        .exits(1)
        .writes("");
    assert_eq!(second.stderr.matches('\n').count(), 1, "{second:?}");
    assert!(
        second.stderr.contains(&first.id().to_string()),
        "{second:?}"
    );
    assert_eq!(world.log().events(), before);
    first.signal(rustix::process::Signal::TERM);
    first.end().exits(143);
    world
        .aside(&["run", "-c", &id, "-m", &model, "Me too"])
        .exits(0)
        .writes("Seen.\n");
}

#[test]
fn a_turn_takes_less_than_a_kibibyte_on_disk() {
    let script = r#"
        always "All tests pass."
        & usage = { input = 18342, cache_read = 17920, cache_write = 0, output = 112, cost = 0.0123 }
    "#;
    let world = TestWorld::new();
    let model = world.script(script);
    let message = "Why does the test fail?";
    let run = |args: &[&str]| {
        world
            .aside(&[&["run", "-m", &model], args].concat())
            .exits(0)
    };
    run(&[message]);
    let folder = world.conversations().remove(0);
    let size = || fs::metadata(folder.join("events.jsonl")).unwrap().len();
    let mut before = size();
    for _ in 0..2 {
        run(&["--continue", message]);
        let turn = size() - before;
        // With a model of a usual name.
        let usual = turn - model.len() as u64 + "anthropic/claude-opus-5-5".len() as u64;
        assert!(usual < 1024, "{usual} bytes");
        before += turn;
    }
}

/// How often the list of conversations makes each of these calls.
fn calls_of_list(world: &TestWorld, names: &[&str]) -> usize {
    let report = world.folder().join("calls");
    let trace = format!("trace={}", names.join(","));
    let strace = [
        "-f",
        "-qqq",
        "-o",
        report.to_str().unwrap(),
        "-e",
        &trace,
        "--",
    ];
    let list = seen_into(&[ASIDE, "conversation", "list"]);
    let listed = start(&mut world.within("strace", &[&strace[..], &list].concat())).end();
    assert_eq!(listed.exits(0).stdout.lines().count(), MANY);
    let calls = fs::read_to_string(&report).unwrap();
    let store = world.conversations()[0].parent().unwrap().to_owned();
    calls
        .lines()
        .filter(|line| line.contains(store.to_str().unwrap()))
        .count()
}

/// More conversations than are read one by one.
const MANY: usize = 300;

#[test]
fn a_list_of_many_conversations_writes_once_and_then_opens_one_file() {
    let world = TestWorld::new();
    world.run("'One.'", &[]).exits(0);
    let first = world.conversations().remove(0);
    for number in 1..MANY {
        let copy = first.with_file_name(format!("c{number:09}"));
        fs::create_dir(&copy).unwrap();
        fs::copy(first.join("events.jsonl"), copy.join("events.jsonl")).unwrap();
    }
    let written = calls_of_list(&world, &["rename", "renameat", "renameat2"]);
    assert_eq!(written, 1, "the index of all");
    let opened = calls_of_list(&world, &["openat", "openat2"]);
    assert!(opened < 20, "{opened} files and folders");
}
