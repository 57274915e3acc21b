//! Prompts as messages: what is shown, and what each reply does.

use serde_json::{Value, json};

use super::{
    BESIDE, DISMISSED, ask, asked, asked_in, asking, bare, calling, choose, command, ends, message,
    prompt, titles,
};
use crate::{lsp::client::Client, world::TestWorld};

/// A question, its message and actions, and what the call comes to when this title is chosen.
#[track_caller]
fn check(question: &str, shown: &str, actions: &[&str], title: &str, told: &str) {
    let world = TestWorld::new();
    let (mut client, prompt) = asked_in(BESIDE, &world, question);
    assert_eq!(message(&prompt), shown);
    assert_eq!(titles(&prompt), actions);
    choose(&mut client, &prompt, title);
    let end = ends(&mut client);
    assert_eq!(end, "Done.");
    assert_eq!(world.log().told("it"), told);
}

#[test]
fn beside_the_text_a_question_is_a_message_with_its_answers() {
    check(
        "question = 'Push?', answer_type = 'boolean', context = \"Tests pass.\\nNobody looked.\"",
        "Assistant: Tests pass.\nNobody looked.\nPush?",
        &["Yes", "No"],
        "No",
        r#"{"answer_type":"boolean","answer":false}"#,
    );
    check(
        "question = 'Which way?', answer_type = 'select', options = ['rebase', 'merge']",
        "Assistant: Which way?",
        &["rebase", "merge"],
        "merge",
        r#"{"answer_type":"select","answer":"merge"}"#,
    );
    let world = TestWorld::new();
    let (mut client, prompt) = asked_in(BESIDE, &world, "question = 'Name?', default = 'main'");
    let start = "Assistant: Name?\nAnswer it with the command aside.server.answer {\"promptId\":\"";
    assert!(message(&prompt).starts_with(start), "{prompt}");
    assert_eq!(
        titles(&prompt),
        ["Use \"main\"", "Write an answer", "Cancel"]
    );
    choose(&mut client, &prompt, "Use \"main\"");
    ends(&mut client);
    assert_eq!(
        world.log().told("it"),
        r#"{"answer_type":"text","answer":"main"}"#
    );
}

#[test]
fn what_is_no_title_is_no_answer() {
    let question = "question = 'Push?', answer_type = 'boolean'";
    let not_shown = "ask_user: the question could not be shown: not here. Do not retry this tool call in this turn.";
    for (reply, told, reason) in [
        (Ok(Value::Null), DISMISSED, "user"),
        (Err("not here"), not_shown, "backend_error"),
    ] {
        let world = TestWorld::new();
        let mut client = Client::named(BESIDE, &world, &asking(question), bare());
        ask(&mut client);
        let prompt = prompt(&mut client);
        assert_eq!(titles(&prompt), ["Yes", "No"]);
        match reply {
            Ok(result) => client.reply(&prompt, result),
            Err(error) => client.fail(&prompt, error),
        }
        ends(&mut client);
        let log = world.log();
        assert_eq!(log.told("it"), told);
        assert_eq!(log.one("inquiry_response")["reason"], reason);
    }
}

/// Where a message is over the text, a key that was meant for the text may send it away or choose its first action.
#[test]
fn a_stray_key_decides_nothing() {
    for (script, first, answer) in [
        (
            asking("question = 'Push?', answer_type = 'boolean'"),
            "Later",
            json!(true),
        ),
        (
            calling("run_command", "command = 'touch made'"),
            "Review…",
            json!("once"),
        ),
    ] {
        for reply in [Value::Null, json!({ "title": first })] {
            let world = TestWorld::new();
            let mut client = Client::start(&world, &script, bare());
            ask(&mut client);
            let shown = prompt(&mut client);
            assert_eq!(titles(&shown)[0], first);
            client.reply(&shown, reply);
            // What follows comes after the reply, and finds the prompt open.
            command(&mut client, "answer", json!({}));
            let again = prompt(&mut client);
            assert_eq!(message(&again), message(&shown));
            assert!(!world.at("made").exists());
            command(&mut client, "answer", json!({ "answer": answer }));
            while !ends(&mut client).contains("Done.") {}
            assert_eq!(world.at("made").exists(), first == "Review…");
        }
    }
}

#[test]
fn a_title_that_was_not_offered_fits_no_question() {
    let world = TestWorld::new();
    let (mut client, first) = asked(&world, "question = 'Push?', answer_type = 'boolean'");
    choose(&mut client, &first, "yes");
    for title in ["Yes", "No"] {
        // What does not fit is said, and the prompt is shown again.
        ends(&mut client);
        let again = prompt(&mut client);
        choose(&mut client, &again, title);
    }
    ends(&mut client);
    let log = world.log();
    assert_eq!(log.one("inquiry_response")["reason"], "backend_error");
    assert!(
        log.told("it")
            .starts_with("ask_user: the question could not be shown: ")
    );
}

#[test]
fn beside_the_text_a_command_runs_only_when_its_title_is_chosen() {
    for (title, ran) in [("Run once", true), ("No", false)] {
        let world = TestWorld::new();
        let script = calling("run_command", "command = 'touch made'");
        let mut client = Client::named(BESIDE, &world, &script, bare());
        ask(&mut client);
        let prompt = prompt(&mut client);
        let shown = message(&prompt);
        assert!(shown.starts_with("run_command: "), "{shown}");
        assert!(shown.contains(": touch made\n"), "{shown}");
        assert_eq!(
            titles(&prompt),
            ["No", "Run once", "Run in this turn", "Always"]
        );
        choose(&mut client, &prompt, title);
        ends(&mut client);
        assert_eq!(world.at("made").exists(), ran, "{title}");
    }
}

#[test]
fn over_the_text_a_message_can_refuse_a_command_and_not_run_it() {
    for title in ["No", "Run once", "Always"] {
        let world = TestWorld::new();
        let script = calling("run_command", "command = 'touch made'");
        let mut client = Client::start(&world, &script, bare());
        ask(&mut client);
        let mut shown = prompt(&mut client);
        assert_eq!(titles(&shown), ["Review…", "No"]);
        if title != "No" {
            choose(&mut client, &shown, title);
            // It was not offered, so it is asked again.
            ends(&mut client);
            shown = prompt(&mut client);
        }
        choose(&mut client, &shown, "No");
        ends(&mut client);
        assert!(!world.at("made").exists(), "{title}");
    }
}

#[test]
fn without_pages_a_command_is_run_by_the_command_that_review_names() {
    let world = TestWorld::new();
    let script = calling("run_command", "command = 'touch made'");
    let mut client = Client::start(&world, &script, bare());
    ask(&mut client);
    let shown = prompt(&mut client);
    choose(&mut client, &shown, "Review…");
    let how = ends(&mut client);
    let line = how.lines().find(|line| line.starts_with("Run once: "));
    let way = line
        .expect("how it is run")
        .trim_start_matches("Run once: ");
    let (name, argument) = way.split_once(' ').expect("a command and its argument");
    let argument: Value = serde_json::from_str(argument).expect("JSON");
    let params = json!({ "command": name, "arguments": [argument] });
    client.request("workspace/executeCommand", params);
    ends(&mut client);
    assert!(world.at("made").exists());
}

#[test]
fn what_cannot_be_shown_whole_can_only_be_refused() {
    let world = TestWorld::new();
    let script = calling("write_file", "path = 'a.txt', content = 'new'");
    let mut client = Client::start(&world, &script, bare());
    ask(&mut client);
    let prompt = prompt(&mut client);
    assert_eq!(titles(&prompt), ["No"]);
    let refused = client.error(
        "workspace/executeCommand",
        json!({ "command": "aside.server.answer", "arguments": [{ "answer": "once" }] }),
    );
    assert_eq!(refused["code"], -32602, "{refused}");
    choose(&mut client, &prompt, "Run once");
    ends(&mut client);
    assert!(!world.at("a.txt").exists());
}

#[test]
fn one_message_is_open_at_a_time_over_all_conversations() {
    let world = TestWorld::new();
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut client = Client::start(&world, &script, bare());
    ask(&mut client);
    let first = prompt(&mut client);
    ask(&mut client);
    // The second turn waits for its message, which is not shown yet.
    let pending = loop {
        let pending = client.request("aside/prompt/pending", json!({}));
        if pending["prompts"].as_array().unwrap().len() == 2 {
            break pending;
        }
    };
    assert_eq!(client.came("window/showMessageRequest"), 0);
    choose(&mut client, &first, "Later");
    prompt(&mut client);
    assert_eq!(pending["prompts"][0]["label"], "Assistant");
}

#[test]
fn of_several_conversations_a_message_says_whose_it_is() {
    let world = TestWorld::new();
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut client = Client::start(&world, &script, bare());
    command(&mut client, "ask", json!({ "message": "Tidy up" }));
    let first = prompt(&mut client);
    assert_eq!(message(&first), "Assistant: Push?");
    let long = "Write the release notes of this quarter and the last\nAll.";
    command(&mut client, "ask", json!({ "message": long }));
    loop {
        let pending = client.request("aside/prompt/pending", json!({}));
        if pending["prompts"].as_array().unwrap().len() == 2 {
            break;
        }
    }
    // Shows the second too.
    command(&mut client, "answer", json!({}));
    let second = prompt(&mut client);
    assert_eq!(
        message(&second),
        "Assistant (Write the release notes of this quarter…): Push?"
    );
}

#[test]
fn a_late_reply_changes_nothing() {
    let world = TestWorld::new();
    let script = asking("question = 'Push?', answer_type = 'boolean'") + "{ turn = 2 } => 'Again.'";
    let mut client = Client::named(BESIDE, &world, &script, bare());
    ask(&mut client);
    let shown = prompt(&mut client);
    command(&mut client, "answer", json!({ "answer": "no" }));
    ends(&mut client);
    choose(&mut client, &shown, "Yes");
    // What follows comes after the reply.
    command(&mut client, "answer", json!({}));
    assert_eq!(ends(&mut client), "No prompt is open.");
    assert_eq!(
        world.log().told("it"),
        r#"{"answer_type":"boolean","answer":false}"#
    );
}

#[test]
fn open_prompts_are_shown_again_where_their_message_is_out_of_sight() {
    let world = TestWorld::new();
    let question = "question = 'Push?', answer_type = 'boolean'";
    let (mut client, first) = asked_in(BESIDE, &world, question);
    command(&mut client, "answer", json!({}));
    let again = prompt(&mut client);
    assert_eq!(message(&again), message(&first));
    choose(&mut client, &again, "Yes");
    // The first reply is late, whatever it says.
    choose(&mut client, &first, "No");
    let end = ends(&mut client);
    assert_eq!(end, "Done.");
}

#[test]
fn a_client_of_the_protocol_may_have_plain_prompts() {
    let world = TestWorld::new();
    let aside =
        json!({ "experimental": { "aside": { "version": 1, "prompt": false, "secret": true } } });
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut client = Client::start(&world, &script, aside);
    client.request("aside/turn/start", json!({ "message": "Go" }));
    let prompt = prompt(&mut client);
    assert_eq!(client.update("question")["label"], "Assistant");
    assert_eq!(titles(&prompt), ["Later", "Answer…"]);
    command(&mut client, "answer", json!({ "answer": true }));
    assert_eq!(client.completed()["answer"], "Done.");
    assert_eq!(client.came("window/showMessage"), 0);
}

/// Some clients read no message that comes together with a reply until more comes.
#[test]
fn behind_a_message_that_is_not_answered_at_once_comes_another() {
    let world = TestWorld::new();
    let question = "question = 'Push?', answer_type = 'boolean'";
    let (mut client, prompt) = asked_in(BESIDE, &world, question);
    let line = client.expect("window/logMessage");
    assert_eq!(
        line["params"]["message"],
        "Waiting for the answer to window/showMessageRequest."
    );
    choose(&mut client, &prompt, "Yes");
    ends(&mut client);
}
