//! Several turns, and what comes with a message.

use serde_json::json;

use crate::world::{EventLog, TestWorld};

const SAYS: &str = r#"
    [[reply]]
    when = { turn = 1, user = "First" }
    say = [{ text = "The first." }]
    [[reply]]
    when = { turn = 2, user = "Second" }
    say = [{ text = "The second." }]
    [[reply]]
    when = { turn = 3, user = "Third" }
    say = [{ text = "The third." }]
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

const ECHOES: &str = "[[reply]]\nsay = [{ text = 'Seen.' }]";

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
        [[reply]]
        when = { step = 1 }
        say = [{ text = '{"n":"one"}' }]
        [[reply]]
        when = { step = 2, directive = "Your answer does not fit the schema" }
        say = [{ text = '{"n":1}' }]
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
        .run(
            "[[reply]]\nsay = [{ text = '{\"n\": 2}' }]",
            &["--schema", SCHEMA],
        )
        .exits(0)
        .writes("{\"n\":2}\n");
    assert!(world.log().all("directive").is_empty());
}

#[test]
fn a_conversation_is_written_by_one_process_at_a_time() {
    let world = TestWorld::new();
    let stalls = "[[reply]]\nsay = []\nfault = { stall = true }";
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
