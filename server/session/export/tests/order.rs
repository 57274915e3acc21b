//! Where an answer stands on the page.

use super::*;

fn prompt(id: &str, title: &str) -> Entry {
    Event::PromptOpened {
        prompt: PromptId(id.into()),
        call: CallKey(0),
        subject: PromptSubject::RunTool {
            hash: "h".into(),
            diff: true,
            title: title.into(),
        },
    }
    .into()
}

fn permitted(id: &str, permission: Permission) -> Entry {
    Event::PromptClosed {
        prompt: PromptId(id.into()),
        closed: Closed::Permitted {
            permission: permission.into(),
            new_text: None,
            shown: None,
        },
    }
    .into()
}

#[test]
fn an_answer_stands_at_its_own_question_however_many_are_open() {
    let ship = Question::new("answer", "Ship it?", AnswerType::Boolean);
    check(
        vec![
            call(0, "edit_file", "{}"),
            asked(Source::Assistant, ship),
            prompt("p1", "Edit a.rs"),
            prompt("p2", "Edit b.rs"),
            result(0, Status::Ok, "Done."),
            ended(answer(json!(true), By::User)),
            permitted("p2", Permission::Once),
            permitted("p1", Permission::No),
        ],
        "**The assistant asks:** Ship it?\n\n> **The user answered:** true\n\n\
         *Edit a.rs?*\n\n> **The user answered:** no\n\n\
         *Edit b.rs?*\n\n> **The user answered:** once\n\n**Interrupted.**",
    );
}

#[test]
fn a_prompt_that_was_put_again_is_answered_where_it_stood_last() {
    check(
        vec![
            call(0, "edit_file", "{}"),
            prompt("p1", "Edit a.rs"),
            prompt("p1", "Edit a.rs"),
            permitted("p1", Permission::Once),
        ],
        "**edit_file** `{}`\n\n*Edit a.rs?*\n\n*Edit a.rs?*\n\n> **The user answered:** once\n\n**Interrupted.**",
    );
}
