//! The Language Server in this process, on pipes in memory, with a tool that asks each kind of question.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{
    client::{Client, answer, initialize},
    fallback::{actions_on, page, report_saved, save, take},
};
use crate::{
    asker::Asker,
    world::{EventLog, TestWorld, conversations},
};

/// Four calls at once, each with its question.
const SCRIPT: &str = r#"
    asker boolean { questions = [{ id = "a", text = "Push?", answer_type = { type = "boolean" } }] }
    + asker select { questions = [{ id = "b", text = "Which?", answer_type = { type = "select", options = ["one", "two"] } }] }
    + asker text { questions = [{ id = "c", text = "Why?", answer_type = { type = "text" } }] }
    + asker secret { questions = [{ id = "d", text = "Password?", answer_type = { type = "secret" } }] }
    "Done."
"#;
const SECRET: &str = "correct horse battery";
const NOBODY: &str = "asker cannot run because no interactive client is attached. Do not retry this tool call in this \
                      turn; continue without user input or explain what information is missing.";

/// One call that asks for a number, several options and a day, and then for a name that may be left out.
const FORM: &str = r#"
    asker form { questions = [
        { id = "a", text = "How many?", answer_type = { type = "number", integer = true, minimum = 1, maximum = 10 }, default = 3 },
        { id = "b", text = "Which?", answer_type = { type = "multi_select", options = ["one", "two", "three"], minimum = 1 } },
        { id = "c", text = "When?", answer_type = { type = "text", format = "date" } },
        { id = "d", text = "Who?", answer_type = { type = "text" }, optional = true },
    ] }
    "Done."
"#;
const FORM_TOLD: &str = "7, [\"one\",\"three\"], \"2025-05-30\", null";

/// A client with these capabilities of a server with the asking tool. State is kept in the world.
fn client(world: &TestWorld, capabilities: Value) -> Client {
    client_of(world, SCRIPT, capabilities)
}

fn client_of(world: &TestWorld, script: &str, capabilities: Value) -> Client {
    let mut client = Client::in_memory(world, Asker::new());
    let model = world.script(script);
    let mut options = json!({
        "trusted": true,
        "config": { "assistant": { "model": model }, "conversation": { "mode": "ask" } },
    });
    if capabilities["experimental"]["aside"].is_null() {
        // Such a client's word counts as the workspace's, so that the user trusts it.
        world.write("aside.toml", &format!("assistant.model = '{model}'\n"));
        world.aside(&["trust", "--yes"]).exits(0);
        options = json!({});
    }
    client.request("initialize", initialize(world, capabilities, options));
    client.notify("initialized", json!({}));
    client
}

/// The log of the only conversation.
fn log(world: &TestWorld) -> EventLog {
    let all = conversations(&world.folder().join("state/aside"));
    let [only] = all.as_slice() else {
        panic!("{all:?}");
    };
    EventLog::read(only)
}

/// What the tool, or the record, says of each question: id of the call and content of its result.
fn check(log: &EventLog, expected: [(&str, &str); 4]) {
    for (call, content) in expected {
        assert_eq!(log.result(call)["content"], content, "{call}");
    }
}

fn aside(secret: bool) -> Value {
    json!({ "experimental": { "aside": { "version": 1, "prompt": true, "secret": secret } } })
}

/// The person answers every prompt.
fn person(prompt: &Value) -> Value {
    match prompt["answerType"]["type"].as_str().unwrap() {
        "boolean" => answer(true),
        "select" => answer("two"),
        "text" => answer("because"),
        _ => answer(SECRET),
    }
}

#[test]
fn every_kind_of_question_is_answered_and_a_secret_reaches_the_tool_alone() {
    let world = TestWorld::new();
    let mut client = client(&world, aside(true));
    let turn = client.turn(json!({ "message": "Go" }));
    let (updates, end) = client.play(&turn, person);
    assert_eq!(
        (&end["answer"], &end["refusals"]),
        (&json!("Done."), &json!([]))
    );
    let log = log(&world);
    let secret = "it was [secret]!";
    check(
        &log,
        [
            ("boolean", "true"),
            ("select", "\"two\""),
            ("text", "\"because\""),
            ("secret", secret),
        ],
    );
    let answered = log.all("inquiry_response");
    let of_secret = answered
        .iter()
        .find(|it| it["id"].as_str().unwrap().contains("secret"));
    let of_secret = of_secret.unwrap();
    assert_eq!(of_secret["outcome"], "redacted");
    assert_eq!(of_secret["answer"], Value::Null);
    assert!(!json!(updates).to_string().contains(SECRET), "{updates:#?}");
    assert!(!json!(log.events()).to_string().contains(SECRET));
}

#[test]
fn a_client_that_cannot_hide_what_is_typed_is_asked_for_no_secret() {
    let world = TestWorld::new();
    let mut client = client(&world, aside(false));
    let turn = client.turn(json!({ "message": "Go" }));
    let (_, end) = client.play(&turn, person);
    let refusals = end["refusals"].as_array().unwrap();
    let refused: Vec<_> = refusals
        .iter()
        .map(|it| (&it["tool"], &it["reason"]))
        .collect();
    assert_eq!(refused, [(&json!("asker"), &json!("no_prompt_backend"))]);
    check(
        &log(&world),
        [
            ("boolean", "true"),
            ("select", "\"two\""),
            ("text", "\"because\""),
            ("secret", NOBODY),
        ],
    );
}

#[test]
fn a_client_that_knows_nothing_of_the_protocol_is_asked_for_all_but_a_secret() {
    let world = TestWorld::new();
    let capabilities = json!({ "window": { "showDocument": { "support": true } } });
    let mut client = client(&world, capabilities);
    let command = json!({ "command": "aside.server.ask", "arguments": [{ "message": "Go" }] });
    client.request("workspace/executeCommand", command);
    // The calls run side by side, so their questions come in any order.
    let mut left = vec!["Push?", "Which?", "Why?"];
    while !left.is_empty() {
        let (said, page) = opened(&mut client);
        let found = left.iter().position(|text| said.ends_with(text));
        match left.swap_remove(found.expect(&said)) {
            "Push?" => take(&mut client, &page, "Aside: Yes"),
            "Which?" => take(&mut client, &page, "Aside: two"),
            _ => {
                save(&page, "because");
                report_saved(&mut client, &page);
            }
        }
    }
    let transcript = client.expect("window/showDocument");
    client.reply(&transcript, json!({ "success": true }));
    assert_eq!(client.came("window/showMessageRequest"), 0);
    let log = log(&world);
    check(
        &log,
        [
            ("boolean", "true"),
            ("select", "\"two\""),
            ("text", "\"because\""),
            ("secret", NOBODY),
        ],
    );
    let refused = log
        .all("inquiry_response")
        .into_iter()
        .find(|it| it["outcome"] == "cancelled");
    assert_eq!(refused.unwrap()["reason"], "no_prompt_backend");
}

#[test]
fn numbers_several_options_and_an_answer_that_is_left_out_reach_the_tool() {
    let world = TestWorld::new();
    let mut client = client_of(&world, FORM, aside(false));
    let turn = client.turn(json!({ "message": "Go" }));
    let mut unfit = [json!(11), json!([]), json!("tomorrow")];
    let (updates, _) = client.play(&turn, |prompt| {
        assert_eq!(
            prompt["optional"] == true,
            prompt["text"] == "Who?",
            "{prompt}"
        );
        let (at, fits) = match prompt["text"].as_str().unwrap() {
            "How many?" => (0, json!(7.0)),
            "Which?" => (1, json!(["three", "one"])),
            "When?" => (2, json!("2025-05-30")),
            _ => return answer(Value::Null),
        };
        match unfit[at].take() {
            Value::Null => answer(fits),
            unfit => answer(unfit),
        }
    });
    let log = log(&world);
    assert_eq!(log.result("form")["content"], FORM_TOLD);
    let recorded = log.all("inquiry_response");
    let answers: Vec<_> = recorded
        .iter()
        .map(|it| (&it["outcome"], &it["by"], it.get("answer")))
        .collect();
    let by_user = |value| (json!("answered"), json!("user"), value);
    let expected = [
        json!(7),
        json!(["one", "three"]),
        json!("2025-05-30"),
        Value::Null,
    ]
    .map(by_user);
    let expected: Vec<_> = expected
        .iter()
        .map(|(outcome, by, value)| (outcome, by, Some(value)))
        .collect();
    assert_eq!(answers, expected, "null is an answer");
    let closed: Vec<_> = updates
        .iter()
        .filter(|it| it.get("outcome").is_some())
        .map(|it| it.get("answer"))
        .collect();
    assert_eq!(closed.last(), Some(&Some(&Value::Null)), "{updates:#?}");
}

const DISMISS: &str = "Aside: Dismiss the question";

/// What the next message says, which opens the page on which its question is answered, and that page.
#[track_caller]
fn opened(client: &mut Client) -> (String, PathBuf) {
    let prompt = client.expect("window/showMessageRequest");
    let said = prompt["params"]["message"].as_str().unwrap().to_owned();
    let actions = json!([{ "title": "Later" }, { "title": "Answer…" }]);
    assert_eq!(prompt["params"]["actions"], actions);
    client.reply(&prompt, json!({ "title": "Answer…" }));
    (said, page(client))
}

#[test]
fn a_client_that_knows_nothing_of_the_protocol_writes_numbers_and_options() {
    let world = TestWorld::new();
    let capabilities = json!({ "window": { "showDocument": { "support": true } } });
    let mut client = client_of(&world, FORM, capabilities);
    let command = json!({ "command": "aside.server.ask", "arguments": [{ "message": "Go" }] });
    client.request("workspace/executeCommand", command);
    for (text, titles, written) in [
        (
            "asker: Write a whole number between 1 and 10.\nHow many?",
            &["Aside: Use \"3\"", DISMISS][..],
            Some(" 7\n"),
        ),
        (
            "asker: At least 1 of: one | two | three\nWhich?",
            &[DISMISS],
            Some("Three\n1.\n"),
        ),
        (
            "asker: Write a date (YYYY-MM-DD).\nWhen?",
            &[DISMISS],
            Some("2025-05-30\n"),
        ),
        ("asker: Who?", &["Aside: Leave it out", DISMISS], None),
    ] {
        let (said, page) = opened(&mut client);
        assert_eq!(said, text);
        let actions = actions_on(&mut client, &page);
        let offered: Vec<&str> = actions.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(offered, titles);
        let Some(written) = written else {
            take(&mut client, &page, "Aside: Leave it out");
            continue;
        };
        save(&page, written);
        report_saved(&mut client, &page);
    }
    let transcript = client.expect("window/showDocument");
    client.reply(&transcript, json!({ "success": true }));
    assert_eq!(log(&world).result("form")["content"], FORM_TOLD);
}
