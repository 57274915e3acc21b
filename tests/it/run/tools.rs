//! Tools turned on and off.

use serde_json::Value;

use crate::world::TestWorld;

const ASKS: &str = r#"
    ask_user ask { question = "Which?" }
    + read_file read { path = "a.txt" }
    "Done."
"#;

/// The tools that the model is told of, and what it is told of its two calls.
#[track_caller]
fn check(args: &[&str], tools: &[&str], ask: &str, read: &str) {
    let world = TestWorld::new();
    world.write("a.txt", "the file\n");
    world.run(ASKS, args).exits(0).writes("Done.\n");
    let log = world.log();
    let told: Vec<&str> = log.one("conversation")["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert_eq!(told, tools, "{args:?}");
    assert!(
        log.told("ask").starts_with(ask),
        "{args:?}: {}",
        log.told("ask")
    );
    assert!(
        log.told("read").starts_with(read),
        "{args:?}: {}",
        log.told("read")
    );
}

const NOBODY: &str = "ask_user cannot run because no interactive client is attached.";
const NO_ASK: &str = "There is no tool ask_user.";
const NO_READ: &str = "There is no tool read_file.";

#[test]
fn a_bare_no_tool_leaves_what_only_its_name_turns_off() {
    check(&["-T"], &["ask_user", "answer_inquiry"], NOBODY, NO_READ);
    check(&["-T", "-T", "ask_user"], &[], NO_ASK, NO_READ);
    check(
        &["-T", "-t", "read_file"],
        &["read_file", "ask_user", "answer_inquiry"],
        NOBODY,
        "",
    );
}

#[test]
fn a_name_turns_one_tool_off() {
    let world = TestWorld::new();
    world.write("a.txt", "the file\n");
    world.run(ASKS, &["-T", "ask_user"]).exits(0);
    let log = world.log();
    assert_eq!(log.told("ask"), NO_ASK);
    assert!(log.told("read").contains("the file"));
    world
        .run(ASKS, &["-T", "no_such_tool"])
        .exits(2)
        .says("no_such_tool");
}

#[test]
fn setting_a_label_keeps_what_else_a_tool_says_of_its_question() {
    let world = TestWorld::new();
    let label = "conversation.tools.ask_user.questions.answer.prompt_label=Robot";
    let args = [
        "--set",
        label,
        "--detached",
        "tool=stop",
        "--output",
        "jsonl",
    ];
    let lines = world.run(ASKS, &args).exits(4).lines();
    let end = &lines.last().unwrap()["params"];
    let prompt = &end["prompts"][0];
    assert_eq!(prompt["label"], "Robot");
    assert_eq!(prompt["source"]["type"], "assistant");
    assert_eq!(
        world.log().one("inquiry_request")["source"]["type"],
        "assistant"
    );
    let shown: Vec<&Value> = lines
        .iter()
        .map(|message| &message["params"]["update"])
        .filter(|update| update["callId"] == "ask")
        .collect();
    assert_eq!(shown.len(), 1, "{shown:?}");
    assert_eq!(
        [&shown[0]["kind"], &shown[0]["label"]],
        ["question", "Robot"]
    );
    // It is on, also after a bare -T.
    check(
        &["-T", "--set", label],
        &["ask_user", "answer_inquiry"],
        NOBODY,
        NO_READ,
    );
}
