//! Prompts that are open at once, and answers that count for more than one.

use serde_json::{Value, json};

use super::{asking, person::PtyPerson};
use crate::world::{EventLog, TestWorld};

/// One reply with these calls, then the end.
fn at_once(calls: &[(&str, Value)]) -> String {
    let call = |(place, (tool, arguments)): (usize, &(&str, Value))| json!({"call": tool, "id": format!("call_{place}"), "arguments": arguments});
    let calls: Vec<Value> = calls.iter().enumerate().map(call).collect();
    let replies = json!([{"say": calls}, {"say": [{"text": "Done."}]}]);
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

/// Who answered each question, in the order in which they ended.
fn answers(log: &EventLog) -> Vec<String> {
    let all = log.all("inquiry_response").into_iter();
    all.map(|it| {
        format!(
            "{} by {}",
            it["answer"],
            it["by"].as_str().unwrap_or_default()
        )
    })
    .collect()
}

#[test]
fn prompts_wait_for_each_other() {
    let world = TestWorld::new();
    let ask = |text: &str| ("ask_user", json!({ "question": text }));
    let script = at_once(&[ask("First?"), ask("Second?"), ask("Third?")]);
    let mut person = PtyPerson::runs(&world, &script, &["--trust"]);
    let first = person.is_asked();
    assert!(
        first.contains("── Assistant") && first.contains("\nFirst?\n"),
        "{first}"
    );
    assert!(!first.contains("Second?"), "{first}");
    // The second line is typed too early: nobody saw what it would answer.
    person.types("one\ntoo early\n");
    let second = person.is_asked();
    assert!(second.contains("\nSecond?\n"), "{second}");
    assert!(!second.contains("Third?"), "{second}");
    person.types("two\n");
    person.sees("\nThird?\n");
    person.is_asked();
    person.types("three\n");
    person.ends(0);
    let answers = answers(&world.log());
    assert_eq!(
        answers,
        [r#""one" by user"#, r#""two" by user"#, r#""three" by user"#]
    );
}

fn backup(text: &str) -> (&'static str, Value) {
    let question = json!({"id": "backup", "text": text, "answer_type": {"type": "boolean"}});
    ("asker", json!({ "questions": [question] }))
}

#[test]
fn an_answer_for_the_rest_of_the_turn_closes_prompts_that_wait() {
    let world = TestWorld::new();
    let mut person = asking::runs(
        &world,
        &at_once(&[backup("A?"), backup("B?"), backup("C?")]),
    );
    person.is_asked();
    person.types("Y\n");
    // The next one may be on the screen for a moment; nobody has to answer it.
    let rest = person.ends(0);
    assert!(
        rest.contains("\n  ? asker: B? yes (remembered)\n"),
        "{rest}"
    );
    assert!(
        rest.contains("\n  ? asker: C? yes (remembered)\n"),
        "{rest}"
    );
    assert_eq!(
        answers(&world.log()),
        ["true by user", "true by remembered", "true by remembered"]
    );
}

#[test]
fn an_answer_for_this_once_closes_no_other_prompt() {
    let world = TestWorld::new();
    let mut person = asking::runs(&world, &at_once(&[backup("A?"), backup("B?")]));
    person.is_asked();
    person.types("y\n");
    person.sees("\nB?\n");
    person.is_asked();
    person.types("n\n");
    person.ends(0);
    assert_eq!(answers(&world.log()), ["true by user", "false by user"]);
}

#[test]
fn an_answer_for_the_rest_of_the_turn_answers_what_is_asked_later() {
    let world = TestWorld::new();
    let say =
        |(tool, arguments): (&str, Value)| json!({"say": [{"call": tool, "arguments": arguments}]});
    let replies = json!([
        say(backup("A?")),
        say(backup("B?")),
        {"say": [{"text": "Done."}]},
    ]);
    let script = toml::to_string(&json!({ "reply": replies })).unwrap();
    let mut person = asking::runs(&world, &script);
    person.is_asked();
    person.types("N\n");
    let rest = person.ends(0);
    assert!(!rest.contains("── "), "{rest}");
    assert_eq!(
        answers(&world.log()),
        ["false by user", "false by remembered"]
    );
}
