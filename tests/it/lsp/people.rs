//! Prompts that outlive a process, are answered in another way, too late, or not at all.

use serde_json::{Value, json};

use super::client::{Client, answer, nobody, prompts};
use crate::world::TestWorld;

const SCRIPT: &str = r#"
    9 times ask_user ask { question = "Which?", context = "Two are there.", answer_type = "select", options = ["one", "two"], default = "one" }
    + write_file write { path = "a.txt", content = "a" }
    + run_command run { command = "true" }
    9 times "Done."
"#;

/// All three prompts, by the id of their call.
fn three(client: &mut Client) -> Vec<Value> {
    let mut all: Vec<Value> = (0..3).map(|_| client.expect("aside/prompt")).collect();
    let call = |it: &Value| it["params"]["tool"]["callId"].as_str().unwrap().to_owned();
    all.sort_by_key(call);
    all
}

#[test]
fn a_turn_that_was_killed_lists_its_prompts_and_goes_on() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, SCRIPT, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let before = three(&mut client);
    client.crash();

    let mut client = Client::start(&world, SCRIPT, prompts());
    let list = client.request("aside/conversation/list", json!({}));
    assert_eq!(
        (&list["items"][0]["status"], &list["items"][0]["prompts"]),
        (&json!("interrupted"), &json!(3))
    );
    let pending = client.request("aside/prompt/pending", json!({}));
    let mut pending = pending["prompts"].as_array().unwrap().clone();
    pending.sort_by_key(|it| it["tool"]["callId"].as_str().unwrap().to_owned());
    for (pending, before) in pending.iter().zip(&before) {
        assert_eq!(pending["resumable"], true);
        for same in [
            "promptId",
            "conversationId",
            "turnId",
            "tool",
            "kind",
            "label",
            "text",
            "answerType",
            "remember",
            "exclusive",
            "source",
        ] {
            assert_eq!(pending[same], before["params"][same], "{same}");
        }
        let early = json!({ "promptId": pending["promptId"], "answer": answer("once") });
        assert_eq!(client.refused("aside/prompt/answer", early).0, -32012);
    }
    // A question is there whole.
    for same in ["context", "default"] {
        assert_eq!(pending[0][same], before[0]["params"][same], "{same}");
    }

    let resumed = client.request(
        "aside/turn/resume",
        json!({ "conversationId": turn["conversationId"] }),
    );
    assert_eq!(resumed["turnId"], turn["turnId"]);
    let (_, end) = client.play(&turn, |prompt| {
        let same = before
            .iter()
            .any(|it| it["params"]["promptId"] == prompt["promptId"]);
        assert!(same, "another prompt: {prompt}");
        answer(if prompt["kind"] == "question" {
            "two"
        } else {
            "once"
        })
    });
    assert_eq!(end["answer"], "Done.");
    assert_eq!(world.read("a.txt"), "a");
    assert!(world.log().told("ask").contains("two"));
    let pending = client.request("aside/prompt/pending", json!({}));
    assert_eq!(pending["prompts"], json!([]));
}

#[test]
fn a_client_that_goes_away_decides_nothing() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, SCRIPT, prompts());
    client.turn(json!({ "message": "Go" }));
    three(&mut client);
    client.leave();
    let log = world.log();
    assert!(log.all("prompt_closed").is_empty() && log.all("inquiry_response").is_empty());
    assert_eq!(log.one("turn_end")["outcome"], "interrupted");
}

#[test]
fn prompts_are_answered_in_another_way_and_taken_off_the_screen() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, SCRIPT, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let [ask, run, write] = three(&mut client).try_into().unwrap();
    let by = |prompt: &Value, answer: Value| json!({ "promptId": prompt["params"]["promptId"], "answer": answer });
    client.request("aside/prompt/answer", by(&ask, answer("two")));
    let dismissed = client.expect("aside/prompt/dismiss");
    assert_eq!(dismissed["params"]["promptId"], ask["params"]["promptId"]);
    assert_eq!(
        client
            .refused("aside/prompt/answer", by(&ask, answer("one")))
            .0,
        -32012
    );
    client.reply(&ask, json!({ "action": "cancel" }));
    client.reply(&run, json!({ "action": "decline", "note": "Not today." }));
    // A client that cannot show a prompt decides nothing.
    client.fail(&write, "no window");
    let (updates, end) = client.play(&turn, nobody);
    assert_eq!(end["answer"], "Done.");
    let reasons: Vec<&Value> = updates
        .iter()
        .filter(|it| !it["reason"].is_null() && it["kind"] == "question")
        .map(|it| &it["reason"])
        .collect();
    assert_eq!(reasons, ["user", "backend_error"]);
    let log = world.log();
    assert!(log.told("ask").contains("two"));
    assert!(log.told("run").ends_with("The user said: Not today."));
    assert!(log.told("write").contains("no window"));
    assert!(log.all("late_answer").is_empty());
}

#[test]
fn an_answer_that_comes_too_late_is_on_record_and_changes_nothing() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, SCRIPT, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let [ask, run, write] = three(&mut client).try_into().unwrap();
    client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));
    assert_eq!(client.play(&turn, nobody).1["outcome"], "cancelled");
    client.reply(&run, json!({ "action": "cancel" }));
    client.reply(&write, answer("once"));
    client.reply(&ask, answer("two"));
    // What is asked for now comes after what was said before.
    let read = json!({ "conversationId": turn["conversationId"] });
    let late = || world.log().all("late_answer").len();
    for _ in 0..1000 {
        client.request("aside/conversation/read", read.clone());
        if late() == 2 {
            break;
        }
    }
    assert_eq!(late(), 2);
    assert!(!world.at("a.txt").exists());
    let list = client.request("aside/conversation/list", json!({}));
    assert_eq!(list["items"][0]["status"], "idle");
    let turn = client.turn(json!({ "message": "Go", "conversationId": turn["conversationId"] }));
    let end = client.play(&turn, |_| json!({ "action": "cancel" })).1;
    assert_eq!(end["outcome"], "completed");
}
