//! Each kind of question as a person sees it: answer type × persistence × label × default.

use aside_test_table::rows;
use serde_json::{Value, json};

use super::{
    asking::{self, LABELLED},
    screen::matches,
    table::{TerminalCase, page, script},
};
use crate::world::TestWorld;

/// A question of a tool.
fn question(kind: &str, turn: bool, labelled: bool, default: bool) -> Value {
    let (id, text, answer_type, value) = match kind {
        "boolean" => (
            "backup",
            "Keep a backup?",
            json!({"type": "boolean"}),
            json!(false),
        ),
        "select" => (
            "place",
            "Which place is meant?",
            json!({"type": "select", "options": ["line 12", "line 40", "all"]}),
            json!("line 40"),
        ),
        "text" => (
            "branch",
            "What is the branch called?",
            json!({"type": "text"}),
            json!("tidy"),
        ),
        _ => (
            "password",
            "What is the password of the key?",
            json!({"type": "secret"}),
            json!(null),
        ),
    };
    let mut question = json!({"id": id, "text": text, "answer_type": answer_type});
    if labelled {
        question["id"] = LABELLED.into();
    }
    if default {
        question["default"] = value;
    }
    if !turn {
        question["persistence"] = "none".into();
    }
    if kind == "select" {
        question["context"] = "12: let attempts = 3;\n40: let attempts = 3;".into();
    }
    question
}

/// What is typed for a question, in turn all that may be.
fn keys(kind: &str, turn: bool, labelled: bool, default: bool) -> Vec<&'static str> {
    match (kind, turn, labelled, default) {
        (_, _, _, true) if kind != "secret" && !labelled => vec!["\n"],
        ("boolean", true, false, false) => vec!["perhaps\n", "\n", "y\n"],
        ("boolean", true, true, false) => vec!["n\n"],
        ("boolean", true, true, true) => vec!["Y\n"],
        ("boolean", false, false, false) => vec!["N\n"],
        ("boolean", false, true, false) => vec!["YES\n"],
        ("boolean", false, true, true) => vec!["!\n"],
        ("select", true, false, false) => vec!["4\n", "LINE 12\n", "2\n"],
        ("select", true, true, false) => vec!["all\n"],
        ("select", true, true, true) => vec!["1\n"],
        ("select", false, false, false) => vec!["!neither, look at main.rs\n"],
        ("select", false, true, false) => vec!["line 12\n"],
        ("select", false, true, true) => vec!["\x04"],
        ("text", true, false, false) => vec!["\n", "  \n", "tidy imports \n"],
        ("text", true, true, false) => vec!["\\!important\n"],
        ("text", true, true, true) => vec!["other\n"],
        ("text", false, false, false) => vec!["main\x04\x04"],
        ("text", false, true, false) => vec!["\\path\n"],
        ("text", false, true, true) => vec!["\x1b\n"],
        ("secret", true, false, _) => vec!["\n", "hunter2\n"],
        ("secret", true, true, _) => vec!["!hunter2 \n"],
        ("secret", false, false, _) => vec!["\x04"],
        _ => vec!["hunter2\n"],
    }
}

#[test]
fn each_question_of_a_tool() {
    asking::become_program();
    let mut cases = Vec::new();
    for kind in ["boolean", "select", "text", "secret"] {
        for turn in [true, false] {
            for labelled in [false, true] {
                for default in [false, true] {
                    if default && kind == "secret" {
                        continue;
                    }
                    let kept = if turn { "for the turn" } else { "not kept" };
                    let label = if labelled {
                        "label configured"
                    } else {
                        "label of the tool"
                    };
                    let by_default = if default {
                        "with a default"
                    } else {
                        "no default"
                    };
                    let name = format!("{kind}, {kept}, {label}, {by_default}");
                    let arguments = json!({"questions": [question(kind, turn, labelled, default)]});
                    let keys = keys(kind, turn, labelled, default);
                    cases.push(TerminalCase::new(name, "asker", arguments, &keys));
                }
            }
        }
    }
    let world = TestWorld::new();
    let person = asking::runs(&world, &script(&cases));
    matches("questions.txt", &page(&world, person, &cases));
}

/// Numbers, several options, bounded text, and answers that are left out: a name, a type of [`answer_type`], more of the
/// question, and what is typed for it.
const FORMS: &str = r#"
    a number                            | number  | {}                                     | ["\n", "many\n", "-0.5\n"]
    a whole number                      | whole   | {"default": 3}                         | ["2.5\n", "11\n", "7\n"]
    the number that it is without more  | whole   | {"default": 3}                         | ["\n"]
    several options                     | colours | {}                                     | ["4\n", "pink\n", "3, red\n"]
    none of several                     | colours | {"default": ["green"]}                 | ["none\n"]
    bounded                             | bounded | {}                                     | ["none\n", "1, 2, 3\n", "2\n"]
    the options that it is without more | bounded | {"default": ["blue"]}                  | ["\n"]
    a text of a form                    | mail    | {}                                     | ["ada\n", "ada@example.org\n"]
    left out with Enter                 | mail    | {"optional": true}                     | ["\n"]
    left out in spite of a default      | colours | {"optional": true, "default": ["red"]} | ["-\n"]
    not left out                        | text    | {"optional": true}                     | ["\\-\n"]
    a yes or no that is left out        | boolean | {"optional": true}                     | ["\n"]
    a secret that is left out           | secret  | {"optional": true}                     | ["\n"]
    declined all the same               | whole   | {"optional": true}                     | ["!later\n"]
"#;

/// A type of answer by its name in [`FORMS`].
fn answer_type(name: &str) -> Value {
    let colours = ["red", "green", "blue"];
    match name {
        "whole" => json!({"type": "number", "integer": true, "minimum": 1, "maximum": 10}),
        "colours" => json!({"type": "multi_select", "options": colours}),
        "bounded" => {
            json!({"type": "multi_select", "options": colours, "minimum": 1, "maximum": 2})
        }
        "mail" => json!({"type": "text", "format": "email"}),
        name => json!({"type": name}),
    }
}

#[test]
fn numbers_several_options_and_answers_that_are_left_out() {
    asking::become_program();
    let case = |[name, kind, more, keys]: [&str; 4]| {
        let question =
            json!({"id": "it", "text": "What shall it be?", "answer_type": answer_type(kind)});
        let mut question: serde_json::Map<_, _> = serde_json::from_value(question).unwrap();
        let more: serde_json::Map<_, _> = serde_json::from_str(more).unwrap();
        question.extend(more);
        let keys: Vec<String> = serde_json::from_str(keys).unwrap();
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        let arguments = json!({ "questions": [question] });
        TerminalCase::new(name.to_owned(), "asker", arguments, &keys)
    };
    let cases: Vec<TerminalCase> = rows(FORMS).into_iter().map(case).collect();
    let world = TestWorld::new();
    let person = asking::runs(&world, &script(&cases));
    matches("forms.txt", &page(&world, person, &cases));
}
