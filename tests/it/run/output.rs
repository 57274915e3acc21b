//! Standard output: the answer, its params, or every notification.

use serde_json::Value;

use crate::world::{ProgramResult, TestWorld};

/// A retry, a tool's question that the model answers, an edit, a command, a question that nobody answers.
const EVERYTHING: &str = r#"
    & reasoning = true
    & context_window = 1000
    {} => { text = "I look. And", pieces = 3 }
    & fault = { cut_after = 2 }
    { step = 1 } => reasoning "Where is it?"
    + { text = "I look.", pieces = 3 }
    + read_file read { path = "a.txt" }
    + run_command list { command = "echo listed" }
    { step = 2 } => edit_file edit { path = "a.txt", old_text = "one", new_text = "two" }
    + ask_user ask { question = "Which?" }
    {} => -
    & answers = { occurrence = "all" }
    { step = 3 } => "Done:\n"
    + "two twos."
    & usage = { input = 5, cache_read = 4, cache_write = 3, output = 2, cost = 0.5 }
"#;

fn world() -> TestWorld {
    let world = TestWorld::new();
    world.write("a.txt", "one\none\n");
    world
}

const ALLOWED: [&str; 4] = ["--trust", "--mode", "auto", "--unsandboxed"];

/// The fields that an update of a kind has, and those that it may have.
fn fields(update: &Value) -> (&'static [&'static str], &'static [&'static str]) {
    match update["kind"].as_str().unwrap() {
        "text" | "reasoning" => (&["step", "text"], &[]),
        "toolCall" => (
            &["step", "callId", "name", "title", "arguments", "status"],
            &[],
        ),
        "toolOutput" => (&["callId", "text"], &[]),
        "toolResult" => (&["callId", "status", "summary"], &["content", "exitStatus"]),
        "question" if update.get("outcome").is_some() => (
            &["promptId", "outcome", "text"],
            &["by", "reason", "answer"],
        ),
        "question" => (&["promptId", "callId", "promptKind", "label", "text"], &[]),
        "inquiry" => (&["callIds", "status"], &[]),
        "edit" => (&["callId", "changes"], &[]),
        "retry" => (&["attempt", "afterMs", "reason"], &["discardStep"]),
        "notice" => (&["level", "text"], &[]),
        "usage" => (
            &[
                "inputTokens",
                "outputTokens",
                "cacheReadTokens",
                "cacheWriteTokens",
            ],
            &["costUsd", "atLeast", "contextTokens", "contextWindow"],
        ),
        "summary" => (&["status"], &["text"]),
        "title" => (&["title"], &[]),
        kind => panic!("no such kind: {kind}"),
    }
}

/// Checks every line, and returns the kinds of the updates and the params of the end.
#[track_caller]
fn check_lines(done: &ProgramResult) -> (Vec<String>, Value) {
    let lines = done.lines();
    let (last, updates) = lines.split_last().unwrap();
    assert_eq!(last["method"], "aside/turn/completed");
    let turn = |message: &Value| {
        let params = &message["params"];
        [params["conversationId"].clone(), params["turnId"].clone()]
    };
    let mut kinds = vec![];
    for (place, message) in updates.iter().enumerate() {
        assert_eq!(message["jsonrpc"], "2.0");
        assert_eq!(message["method"], "aside/turn/update");
        assert_eq!(turn(message), turn(last));
        assert_eq!(message["params"]["seq"], place + 1);
        let update = &message["params"]["update"];
        kinds.push(update["kind"].as_str().unwrap().to_owned());
        let (needed, allowed) = fields(update);
        for field in needed {
            assert!(update.get(field).is_some(), "no {field} in {update}");
        }
        for (field, value) in update.as_object().unwrap() {
            let field = field.as_str();
            let is_known = field == "kind" || needed.contains(&field) || allowed.contains(&field);
            assert!(is_known && !value.is_null(), "{field} in {update}");
        }
    }
    (kinds, last["params"].clone())
}

#[test]
fn as_lines_it_is_every_notification_of_the_protocol() {
    let done = world()
        .run(EVERYTHING, &[&ALLOWED[..], &["--output", "jsonl"]].concat())
        .exits(0);
    let (kinds, end) = check_lines(&done);
    for kind in [
        "title",
        "notice",
        "text",
        "reasoning",
        "retry",
        "toolCall",
        "toolOutput",
        "toolResult",
        "inquiry",
        "edit",
        "usage",
    ] {
        assert!(kinds.iter().any(|it| it == kind), "no {kind}: {kinds:?}");
    }
    assert_eq!(end["outcome"], "completed");
    assert_eq!(end["answer"], "Done:\ntwo twos.");
}

#[test]
fn a_question_that_waits_is_in_the_lines_and_so_is_its_answer() {
    let world = world();
    let stop = ["--output", "jsonl", "--detached", "tool=stop"];
    let stopped = world
        .run(EVERYTHING, &[&ALLOWED[..], &stop].concat())
        .exits(4);
    let (kinds, end) = check_lines(&stopped);
    let questions = |kinds: &[String]| kinds.iter().filter(|kind| *kind == "question").count();
    // The model answered another one.
    assert_eq!(questions(&kinds), 3, "{kinds:?}");
    let answer = format!("{}=this", end["prompts"][0]["promptId"].as_str().unwrap());
    // Who watches the resume may not have seen it before: it is shown again, and then settled.
    let resume = ["run", "--resume", "--output", "jsonl", "--answer", &answer];
    let (kinds, end) = check_lines(&world.aside(&resume).exits(0));
    assert_eq!(questions(&kinds), 2, "{kinds:?}");
    assert_eq!(end["outcome"], "completed");
}

#[test]
fn a_client_that_follows_the_pieces_has_the_text() {
    let done = world()
        .run(EVERYTHING, &[&ALLOWED[..], &["--output", "jsonl"]].concat())
        .exits(0);
    let mut text = [const { String::new() }; 4];
    for message in done.lines() {
        let update = &message["params"]["update"];
        if let Some(step) = update["discardStep"].as_u64() {
            text[step as usize].clear();
        }
        if update["kind"] == "text" {
            text[update["step"].as_u64().unwrap() as usize] += update["text"].as_str().unwrap();
        }
    }
    assert_eq!(text, ["", "I look.", "", "Done:\ntwo twos."]);
}

#[test]
fn a_hidden_tool_shows_nothing_but_its_question() {
    let done = world()
        .run(EVERYTHING, &[&ALLOWED[..], &["--output", "jsonl"]].concat())
        .exits(0);
    let lines = done.lines();
    let of = |id: &str| -> Vec<&str> {
        let updates = lines.iter().map(|message| &message["params"]["update"]);
        updates
            .filter(|update| update["callId"] == id)
            .map(|update| update["kind"].as_str().unwrap())
            .collect()
    };
    assert_eq!(of("read"), ["toolCall", "toolCall", "toolResult"]);
    assert!(
        of("ask").iter().all(|kind| *kind == "question"),
        "{:?}",
        of("ask")
    );
}

#[test]
fn as_json_it_is_the_params_of_the_end() {
    let done = world()
        .run(EVERYTHING, &[&ALLOWED[..], &["--output", "json"]].concat())
        .exits(0);
    let end = done.json();
    let fields: Vec<&String> = end.as_object().unwrap().keys().collect();
    assert_eq!(
        fields,
        [
            "conversationId",
            "turnId",
            "outcome",
            "answer",
            "usage",
            "refusals",
            "prompts",
            "model",
            "changed",
            "steps",
            "durationMs",
            "runUsage",
            "warnings"
        ]
    );
    assert_eq!(end["runUsage"], end["usage"], "{end:#}");
    assert_eq!(end["usage"]["costUsd"], 0.5, "{end:#}");
    assert_eq!(end["usage"]["cacheReadTokens"], 4);
    assert_eq!(end["refusals"][0]["tool"], "ask_user");
    assert_eq!(end["refusals"][0]["reason"], "no_prompt_backend");
    assert_eq!(end["prompts"], Value::Array(vec![]));
}

#[test]
fn as_text_it_is_the_answer_alone() {
    let world = world();
    let done = world
        .run(EVERYTHING, &ALLOWED)
        .exits(0)
        .writes("Done:\ntwo twos.\n");
    // What ran is told on standard error, commands without a sandbox and refusals included.
    let done = done
        .says("Commands run without a sandbox.")
        .says("refused: ask_user `Which?`: ");
    done.says("I look.\n").says("\u{25b8} read_file: ");
    assert_eq!(world.read("a.txt"), "two\ntwo\n");
}
