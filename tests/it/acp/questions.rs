//! Questions, as forms and where there are none.

use serde_json::{Value, json};

use super::client::{Client, choose, forms, nobody, said};
use crate::{asker::Asker, world::TestWorld};

/// The model asks the user a question of this type, and says what it was told.
fn asks(question: &str) -> String {
    format!("ask_user ask {{ question = 'Which?', {question} }}\n{{ step = 2 }} => 'Done.'")
}

/// Answers every form so.
fn accept(content: Value) -> Value {
    json!({ "action": "accept", "content": content })
}

/// What the model was told in answer to the call, and the forms that were shown.
fn told(question: &str, answers: &[Value]) -> (String, Vec<Value>) {
    let world = TestWorld::new();
    let mut client = Client::start(&world, &asks(question), forms());
    let mut shown = Vec::new();
    let (_, reason) = client.play("Go", |request| {
        assert_eq!(request["method"], "elicitation/create", "{request}");
        shown.push(request["params"].clone());
        answers[(shown.len() - 1).min(answers.len() - 1)].clone()
    });
    assert_eq!(reason, "end_turn");
    client.leave();
    (world.log().told("ask").to_owned(), shown)
}

#[test]
fn each_type_of_question_is_a_form_whose_answer_keeps_its_type() {
    for (question, given, expected) in [
        ("answer_type = 'boolean'", json!("yes"), json!(true)),
        ("answer_type = 'boolean'", json!("no"), json!(false)),
        (
            "answer_type = 'select', options = ['one', 'two']",
            json!("two"),
            json!("two"),
        ),
        (
            "answer_type = 'text'",
            json!("some words"),
            json!("some words"),
        ),
    ] {
        let (told, shown) = told(question, &[accept(json!({ "answer": given }))]);
        let told: Value = serde_json::from_str(&told).unwrap();
        assert_eq!((&told["answer"], shown.len()), (&expected, 1), "{question}");
        assert!(
            shown[0]["message"].as_str().unwrap().ends_with("Which?"),
            "{shown:?}"
        );
        let property = &shown[0]["requestedSchema"]["properties"]["answer"];
        // A tick or a choice that is required would be an answer that nobody gave.
        assert_eq!(property["type"], "string");
        let is_choice = property["oneOf"].is_array();
        let required = &shown[0]["requestedSchema"]["required"];
        assert_eq!(required == &json!(["answer"]), !is_choice, "{shown:?}");
        // The client was never told of a call of a hidden tool.
        assert!(shown[0]["toolCallId"].is_null());
    }
}

#[test]
fn what_is_no_answer_is_asked_again_and_then_given_up() {
    let select = "answer_type = 'select', options = ['one', 'two']";
    for wrong in [
        json!({}),
        json!({ "answer": "three" }),
        json!({ "answer": 1 }),
        json!({ "answer": ["one"] }),
        json!(null),
    ] {
        let (last, shown) = told(
            select,
            &[accept(wrong.clone()), accept(json!({ "answer": "one" }))],
        );
        assert!(shown.len() == 2 && last.contains("one"), "{wrong}: {last}");
        let (last, shown) = told(select, &[accept(wrong.clone())]);
        assert_eq!(shown.len(), 3, "{wrong}");
        assert!(last.contains("the question could not be shown"), "{last}");
    }
}

#[test]
fn a_person_who_will_not_answer_and_a_client_that_cannot_ask_are_told_apart() {
    let text = "answer_type = 'text'";
    for action in ["decline", "cancel"] {
        let (told, _) = told(text, &[json!({ "action": action })]);
        assert!(
            told.starts_with("The user dismissed the question."),
            "{told}"
        );
    }
    for failed in [json!(null), json!({ "action": "later" }), json!({})] {
        let (told, shown) = told(text, &[failed]);
        assert!(
            told.contains("the question could not be shown") && shown.len() == 1,
            "{told}"
        );
    }
    let world = TestWorld::new();
    let mut client = Client::start(&world, &asks(text), forms());
    let id = client.prompt("Go");
    let asked = client.expect("elicitation/create");
    client.fail(&asked, "no window");
    assert_eq!(client.stopped(id), "end_turn");
    client.leave();
    assert!(world.log().told("ask").contains("no window"));
}

#[test]
fn an_answer_counts_once_and_a_late_one_is_on_record() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, &asks("answer_type = 'text'"), forms());
    let id = client.prompt("Go");
    let asked = client.expect("elicitation/create");
    client.cancel();
    assert_eq!(client.stopped(id), "cancelled");
    let withdrawn = client.expect("$/cancel_request");
    assert_eq!(withdrawn["params"]["requestId"], asked["id"]);
    for _ in 0..2 {
        client.reply(&asked, accept(json!({ "answer": "too late" })));
    }
    // What comes behind it is handled behind it.
    let list = client.request("session/list", json!({}));
    assert_eq!(list["sessions"].as_array().unwrap().len(), 1);
    client.leave();
    let log = std::fs::read_to_string(world.conversations()[0].join("events.jsonl")).unwrap();
    assert_eq!(log.matches("late_answer").count(), 1, "{log}");
    assert!(!log.contains("too late"), "{log}");
}

#[test]
fn a_client_without_forms_is_asked_nothing_but_permissions() {
    for can in [
        json!({}),
        json!({ "elicitation": {} }),
        json!({ "elicitation": { "url": {} } }),
    ] {
        let world = TestWorld::new();
        let mut client = Client::start(&world, &asks("answer_type = 'text'"), can);
        let (updates, reason) = client.play("Go", nobody);
        assert_eq!(
            (
                reason.as_str(),
                said(&updates, "agent_message_chunk").as_str()
            ),
            ("end_turn", "Done.")
        );
        client.leave();
        let log = world.log();
        log.told_has("ask", "no interactive client is attached");
    }
}

#[test]
fn a_secret_never_goes_through_a_form() {
    let world = TestWorld::new();
    let script = r#"
        asker ask { questions = [
            { id = "q", text = "Password?", answer_type = { type = "secret" } },
        ] }
        { step = 2 } => "Done."
    "#;
    let mut client = Client::in_memory(&world, Asker::new(), script, forms());
    let (_, reason) = client.play("Go", |request| {
        assert_eq!(request["method"], "session/request_permission", "{request}");
        choose("once")
    });
    assert_eq!(reason, "end_turn");
    client.leave();
    let log = world.log();
    log.told_has("ask", "no interactive client is attached");
}

#[test]
fn numbers_lists_and_what_may_be_left_out_are_forms_too() {
    let world = TestWorld::new();
    let script = r#"
        asker ask { questions = [
            { id = "n", text = "How many?", answer_type = { type = "number", integer = true, minimum = 1, maximum = 9 } },
            { id = "m", text = "Which ones?", answer_type = { type = "multi_select", options = ["a", "b", "c"], maximum = 2 } },
            { id = "o", text = "A name?", optional = true, answer_type = { type = "text", maximum = 8 } },
            { id = "b", text = "Sure?", answer_type = { type = "boolean" }, default = true },
        ] }
        { step = 2 } => "Done."
    "#;
    let mut client = Client::in_memory(&world, Asker::new(), script, forms());
    let (_, reason) = client.play("Go", |request| {
        if request["method"] == "session/request_permission" {
            return choose("once");
        }
        let params = &request["params"];
        let property = &params["requestedSchema"]["properties"]["answer"];
        let text = params["message"]
            .as_str()
            .unwrap()
            .lines()
            .last()
            .unwrap()
            .to_owned();
        assert!(params["toolCallId"].is_string(), "{params}");
        accept(match text.as_str() {
            "How many?" => {
                assert_eq!(
                    (&property["type"], &property["maximum"]),
                    (&json!("integer"), &json!(9))
                );
                json!({ "answer": 3 })
            }
            "Which ones?" => {
                assert_eq!(
                    (&property["minItems"], &property["maxItems"]),
                    (&json!(1), &json!(2))
                );
                json!({ "answer": ["c", "a"] })
            }
            "A name?" => json!({}),
            "Sure?" => {
                assert_eq!(property["default"], "yes");
                let remember = &params["requestedSchema"]["properties"]["remember"];
                assert_eq!(remember["default"], false);
                json!({ "answer": "no", "remember": true })
            }
            other => panic!("{other}"),
        })
    });
    assert_eq!(reason, "end_turn");
    client.leave();
    assert_eq!(world.log().told("ask"), r#"3, ["a","c"], null, false"#);
}
