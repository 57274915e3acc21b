//! What the assistant itself asks: answer type × label × default.

use serde_json::{Value, json};

use super::{
    person::PtyPerson,
    screen::matches,
    table::{TerminalCase, page, script},
};
use crate::world::TestWorld;

/// Asks for one of two.
const WAYS: &str = r#"
ask_user ask { question = "Which way?", answer_type = "select", options = ["rebase", "merge"] }
"Done."
"#;

/// The label of the prompt as the user may set it.
const LABEL: &str = "conversation.tools.ask_user.questions.answer.prompt_label='Pair programmer'";

fn cases() -> Vec<TerminalCase> {
    let ask =
        |name: &str, arguments: Value, keys| TerminalCase::new(name, "ask_user", arguments, keys);
    let boolean = json!({
        "question": "Shall I push the branch?", "answer_type": "boolean",
        "context": "Tests pass.\nNobody has looked at it.",
    });
    let select = json!({
        "question": "Which way?", "answer_type": "select", "options": ["rebase", "merge"],
    });
    let text = json!({"question": "What is the release called?"});
    let with = |mut question: Value, default: Value| {
        question["default"] = default;
        question
    };
    vec![
        ask("boolean, no default", boolean.clone(), &["maybe\n", "y\n"]),
        ask(
            "boolean, with a default",
            with(boolean, false.into()),
            &["\n"],
        ),
        ask("select, no default", select.clone(), &["2\n"]),
        ask(
            "select, with a default",
            with(select, "rebase".into()),
            &["\n"],
        ),
        ask("text, no default", text.clone(), &["\n", "Autumn\n"]),
        ask("text, with a default", with(text, "Winter".into()), &["\n"]),
        ask(
            "declined with a note",
            json!({"question": "Which colour?"}),
            &["!ask the designer\n"],
        ),
        ask("skipped", json!({"question": "Which size?"}), &["\x04"]),
        ask(
            "asked again in that turn",
            json!({"question": "Which size?"}),
            &[],
        ),
    ]
}

#[test]
fn the_assistant_asks() {
    let (world, cases) = (TestWorld::new(), cases());
    let person = PtyPerson::runs(&world, &script(&cases), &["--trust"]);
    matches("ask_user.txt", &page(&world, person, &cases));
}

#[test]
fn the_assistant_asks_under_a_label_of_the_user_s_choice() {
    let (world, cases) = (TestWorld::new(), cases());
    let person = PtyPerson::runs(&world, &script(&cases), &["--trust", "--set", LABEL]);
    let page = page(&world, person, &cases);
    // All else is as it is under the usual label.
    assert!(!page.contains("Assistant"), "{page}");
    matches(
        "ask_user.txt",
        &page.replace("Pair programmer", "Assistant"),
    );
}

/// The assistant asks, whoever answers: that nobody was asked, and why, is on the screen as an answer of the person is.
#[test]
fn what_the_configuration_answers_is_shown_as_such() {
    for (answer, shown, told) in [
        ("merge", "merge (configured)", r#""answer":"merge""#),
        (
            "squash",
            "no answer (the configured answer does not fit)",
            "does not match the question's answer_type",
        ),
    ] {
        let world = TestWorld::new();
        let answer = format!("ask_user.answer={answer}");
        let person = PtyPerson::runs(&world, WAYS, &["--trust", "--answer", &answer]);
        let screen = person.ends(0);
        let line = format!("? Assistant: Which way? {shown}");
        assert!(screen.contains(&line), "{screen}");
        assert!(!screen.contains("── Assistant ──"), "{screen}");
        let is_refused = screen.contains("refused: ask_user `");
        assert_eq!(is_refused, shown.starts_with("no answer"), "{screen}");
        let log = world.log();
        log.told_has("ask", told);
    }
}
