//! Spelling, checking and answering of questions.

use serde_json::json;

use super::*;

/// A question as a tool wrote it, and as it is written again.
#[track_caller]
fn check_spelling(read: &str, written: &str) {
    let question: Question = serde_json::from_str(read).expect("a question");
    assert_eq!(serde_json::to_string(&question).expect("JSON"), written);
}

#[test]
fn old_spellings_are_read_with_their_defaults_and_never_written() {
    check_spelling(
        r#"{"id":"a","text":"Go on?","answer_type":"Boolean"}"#,
        r#"{"id":"a","text":"Go on?","answer_type":{"type":"boolean"}}"#,
    );
    check_spelling(
        r#"{"id":"a","text":"Which?","pre_amble":"Two.","answer_type":{"Select":{"options":["x","y"]}},"default":"x"}"#,
        r#"{"id":"a","text":"Which?","context":"Two.","answer_type":{"type":"select","options":["x","y"]},"default":"x"}"#,
    );
    check_spelling(
        r#"{"id":"a","text":"Name?","answer_type":"Text","default":null,"exclusive":false,"persistence":"turn"}"#,
        r#"{"id":"a","text":"Name?","answer_type":{"type":"text"}}"#,
    );
    check_spelling(
        r#"{"id":"a","text":"Key?","answer_type":{"type":"secret"},"exclusive":true,"persistence":"none"}"#,
        r#"{"id":"a","text":"Key?","answer_type":{"type":"secret"},"exclusive":true,"persistence":"none"}"#,
    );
    let unknown = r#"{"id":"a","text":"?","answer_type":"Number"}"#;
    assert!(serde_json::from_str::<Question>(unknown).is_err());
}

fn question(answer_type: Value) -> Question {
    let json = json!({"id": "q", "text": "Text?", "answer_type": answer_type});
    serde_json::from_value(json).expect("a question")
}

#[test]
fn a_broken_question_says_what_is_wrong() {
    let check = |change: fn(&mut Question), what: &str| {
        let mut question = question(json!({"type": "select", "options": ["x", "y"]}));
        change(&mut question);
        assert_eq!(question.check().err().unwrap_or_default(), what);
    };
    check(|_| {}, "");
    check(|question| question.default = Some(json!("y")), "");
    check(|question| question.id.clear(), "it has no id");
    check(|question| question.text = "  ".into(), "its text is empty");
    check(
        |question| question.text = "a\nb".into(),
        "its text has more than one line",
    );
    check(
        |question| question.default = Some(json!("z")),
        "its default does not fit its answer type",
    );
    check(
        |question| question.answer_type = AnswerType::Select { options: vec![] },
        "it has no options",
    );
    check(
        |question| {
            question.answer_type = AnswerType::Select {
                options: vec!["x".into(), "x".into()],
            }
        },
        "it has an option twice",
    );
    check(
        |question| {
            question.answer_type = AnswerType::Secret;
            question.default = Some(json!("x"));
        },
        "a secret has no default",
    );
}

#[test]
fn a_question_that_cannot_be_read_says_what_is_wrong() {
    let check = |written: Value, what: &str, of: (&str, &str)| {
        let question = Question::read(&written);
        assert_eq!(question.check(), Err(what), "{written}");
        assert_eq!((question.id.as_str(), question.text.as_str()), of);
    };
    check(json!("Go on?"), "it is no object", ("", ""));
    check(json!({"text": "?"}), "it has no id", ("", "?"));
    check(json!({"id": 1, "text": "?"}), "it has no id", ("", "?"));
    check(json!({"id": "a"}), "it has no text", ("a", ""));
    let some = ("a", "?");
    check(
        json!({"id": "a", "text": "?"}),
        "it has no answer type",
        some,
    );
    check(
        json!({"id": "a", "text": "?", "answer_type": {"type": "mood"}}),
        "its answer type is not known",
        some,
    );
    check(
        json!({"id": "a", "text": "?", "answer_type": {"type": "boolean"}, "optional": 3}),
        "one of its members is of another type",
        some,
    );
    let whole = json!({"id": "a", "text": "?", "answer_type": {"type": "boolean"}});
    assert_eq!(Question::read(&whole).check(), Ok(()));
}

#[test]
fn an_answer_fits_or_is_none() {
    let boolean = || question(json!({"type": "boolean"}));
    let select = || question(json!({"type": "select", "options": ["Backup", "none", "NONE"]}));
    let text = || question(json!({"type": "text"}));
    let value = |question: Question, value: Value| {
        question
            .accept(&value)
            .ok()
            .and_then(|answer| answer.value().cloned())
    };
    assert_eq!(value(boolean(), json!(true)), Some(json!(true)));
    assert_eq!(value(boolean(), json!("true")), None);
    assert_eq!(value(select(), json!("Backup")), Some(json!("Backup")));
    assert_eq!(
        value(select(), json!("backup")),
        None,
        "a person's choice is exact"
    );
    assert_eq!(value(text(), json!("")), Some(json!("")));
    assert_eq!(value(text(), json!(1)), None);

    let said = |question: Question, text: &str| {
        question
            .accept_text(text)
            .ok()
            .and_then(|answer| answer.value().cloned())
    };
    assert_eq!(said(boolean(), " TRUE\n"), Some(json!(true)));
    assert_eq!(said(boolean(), "yes"), None);
    assert_eq!(
        said(select(), "backup"),
        Some(json!("Backup")),
        "APIs may change the case"
    );
    assert_eq!(
        said(select(), "NONE"),
        Some(json!("NONE")),
        "exactly comes first"
    );
    assert_eq!(said(select(), "None"), None, "two match in any case");
    assert_eq!(said(text(), " as it is "), Some(json!(" as it is ")));
    assert_eq!(said(text(), ""), None);
    assert_eq!(
        said(question(json!({"type": "secret"})), "x"),
        None,
        "no model answers a secret"
    );
}

#[test]
fn a_secret_is_never_printed() {
    let question = question(json!({"type": "secret"}));
    assert!(question.is_exclusive());
    assert!(question.accept(&json!("")).is_err());
    let answer = question.accept(&json!("hunter2")).expect("an answer");
    assert_eq!(format!("{answer:?}"), "Secret([secret])");
    assert!(answer.value().is_none());
    let Answer::Secret(secret) = &answer else {
        panic!("a secret")
    };
    assert_eq!(secret.reveal(), "hunter2", "the tool that asked gets it");
    let typed = crate::input::SecretValue(json!("hunter2"));
    assert_eq!(format!("{typed:?}"), "[answer]");
    let misfit = question.accept(&json!(42)).expect_err("a number");
    assert!(
        !misfit.to_string().contains("42"),
        "a misfit does not repeat what was typed"
    );
}

#[test]
fn lines_after_the_first_move_to_the_top_of_the_context() {
    let check = |text: &str, context: Option<&str>, expected: (&str, Option<&str>)| {
        let mut question = question(json!({"type": "text"}));
        question.text = text.into();
        question.context = context.map(str::to_owned);
        let question = question.from_outside();
        assert_eq!(
            (question.text.as_str(), question.context.as_deref()),
            expected
        );
    };
    check("One?", Some("c"), ("One?", Some("c")));
    check("One?\nTwo\nThree\n", None, ("One?", Some("Two\nThree")));
    check("One?\nTwo", Some("c"), ("One?", Some("Two\nc")));
    check("One?\n", None, ("One?", None));
    check("One?\n", Some("c"), ("One?", Some("c")));
}

#[test]
fn a_text_from_a_command_line_is_read_by_the_type() {
    let boolean = question(json!({"type": "boolean"}));
    assert_eq!(
        [
            boolean.parse("yes"),
            boolean.parse("n"),
            boolean.parse("maybe")
        ],
        [json!(true), json!(false), json!("maybe")]
    );
    assert_eq!(
        question(json!({"type": "text"})).parse("true"),
        json!("true")
    );
    let mut optional = question(json!({"type": "text"}));
    optional.optional = true;
    assert_eq!(
        [optional.parse("true"), optional.parse("")],
        [json!("true"), Value::Null]
    );
    let needed = question(json!({"type": "text"}));
    assert_eq!(needed.parse(""), json!(""));
}
