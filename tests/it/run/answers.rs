//! Answers given in advance.

use aside_test_table::rows;

use crate::world::TestWorld;

/// One question of the assistant's, and what its call comes to with this answer in advance.
#[track_caller]
fn check(question: &str, answer: &str, status: &str, told: &str) {
    let world = TestWorld::new();
    let script = format!("ask_user ask {{ question = 'Which?', {question} }}\n'Done.'");
    let answer = format!("ask_user.answer={answer}");
    world
        .run(&script, &["--answer", &answer])
        .exits(0)
        .writes("Done.\n");
    let log = world.log();
    assert_eq!(log.told("ask"), told, "{question} {answer}");
    assert_eq!(log.result("ask")["status"], status);
    let response = log.one("inquiry_response");
    if status == "ok" {
        assert_eq!(
            [&response["outcome"], &response["by"]],
            ["answered", "config"]
        );
    } else {
        assert_eq!(
            [&response["outcome"], &response["reason"]],
            ["cancelled", "invalid_static_answer"]
        );
    }
}

const MISFIT: &str = "ask_user: the configured conversation.tools.ask_user.questions.answer.answer value does not match \
                      the question's answer_type. Update the configuration; do not retry.";

#[test]
fn they_are_read_by_the_type_of_the_question() {
    let table = r#"
        answer_type = 'boolean' | true   | {"answer_type":"boolean","answer":true}
        answer_type = 'boolean' | false  | {"answer_type":"boolean","answer":false}
        answer_type = 'select', options = ['true', 'backup'] | backup | {"answer_type":"select","answer":"backup"}
        answer_type = 'select', options = ['true', 'backup'] | true   | {"answer_type":"select","answer":"true"}
        answer_type = 'text' | 17     | {"answer_type":"text","answer":"17"}
        answer_type = 'text' | a = b  | {"answer_type":"text","answer":"a = b"}
    "#;
    for [question, answer, told] in rows(table) {
        check(question, answer, "ok", told);
    }
}

#[test]
fn one_that_does_not_fit_fails_the_call() {
    check("answer_type = 'boolean'", "perhaps", "error", MISFIT);
    check(
        "answer_type = 'select', options = ['a', 'b']",
        "c",
        "error",
        MISFIT,
    );
}

#[test]
fn a_tools_question_takes_one_instead_of_a_model() {
    let script = r#"
        read_file { path = "a.txt" }
        edit_file edit { path = "a.txt", old_text = "one", new_text = "two" }
        "Done."
    "#;
    let check = |answer: &str, file: &str, told: &str| {
        let world = TestWorld::new();
        world.write("a.txt", "one\none\n");
        world
            .run(script, &["--trust", "--mode", "edits", "--answer", answer])
            .exits(0);
        assert_eq!(world.read("a.txt"), file);
        let log = world.log();
        log.told_has("edit", told);
        assert!(log.all("usage").is_empty());
    };
    check("edit_file.occurrence=2", "one\ntwo\n", "a.txt");
    check("edit_file.occurrence=all", "two\ntwo\n", "a.txt");
    check(
        "edit_file.occurrence=3",
        "one\none\n",
        "edit_file: the configured conversation.tools.edit_file.questions.occurrence.answer value does not match",
    );
}

#[test]
fn the_configuration_has_them_too_and_a_flag_is_stronger() {
    let world = TestWorld::new();
    world.user_config("conversation.tools.ask_user.questions.answer.answer = 'from the file'\n");
    let script = r#"
        ask_user { question = "Which?" }
        { result = { contains = "from the file" } } => "The file."
        { result = { contains = "from the flag" } } => "The flag."
    "#;
    world.run(script, &[]).exits(0).writes("The file.\n");
    world
        .run(script, &["--answer", "ask_user.answer=from the flag"])
        .exits(0)
        .writes("The flag.\n");
}
