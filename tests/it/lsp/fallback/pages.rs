//! Files that the client shows: what does not fit into a message, answers that are written, transcripts.

use std::{fs, os::unix::fs::PermissionsExt};

use serde_json::json;

use super::{
    BESIDE, DISMISSED, able, actions_on, answers_once_shown, ask, asking, calling, choose, command,
    ends, message, page, prompt, report_saved, save, shows, take, titles,
};
use crate::{
    lsp::client::{Client, uri},
    world::TestWorld,
};

/// The model reads a file and edits it.
const EDITS: &str = r#"
    {} => read_file { path = "a.txt" }
    {} => edit_file { path = "a.txt", old_text = "two", new_text = "three" }
    "Done."
"#;

#[test]
fn beside_the_text_a_change_is_shown_on_a_page_before_it_is_asked_for() {
    let world = TestWorld::new();
    world.write("a.txt", "one\ntwo\n");
    let mut client = Client::named(BESIDE, &world, EDITS, able());
    ask(&mut client);
    let shown = client.expect("window/showDocument");
    assert_eq!(client.came("window/showMessageRequest"), 0);
    let diff = shows(&mut client, &shown);
    let text = fs::read_to_string(&diff).unwrap();
    assert!(text.contains("--- a.txt\n+++ a.txt\n"), "{text}");
    assert!(text.contains("\n one\n-two\n+three\n"), "{text}");
    let mode = fs::metadata(&diff).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let prompt = prompt(&mut client);
    let name = diff.file_name().unwrap().to_str().unwrap();
    assert!(message(&prompt).contains(name), "{prompt}");
    assert_eq!(
        titles(&prompt),
        ["No", "Run once", "All edits of this turn"]
    );
    choose(&mut client, &prompt, "Run once");
    page(&mut client);
    assert_eq!(world.read("a.txt"), "one\nthree\n");
}

#[test]
fn over_the_text_a_change_is_a_page_with_code_actions() {
    for (title, after) in [
        ("Aside: Run once", "one\nthree\n"),
        ("Aside: No", "one\ntwo\n"),
    ] {
        let world = TestWorld::new();
        world.write("a.txt", "one\ntwo\n");
        let mut client = Client::start(&world, EDITS, able());
        ask(&mut client);
        let asked = prompt(&mut client);
        assert_eq!(client.came("window/showDocument"), 0, "nobody wanted it");
        assert_eq!(titles(&asked), ["Review…", "No"]);
        choose(&mut client, &asked, "Review…");
        let diff = page(&mut client);
        let text = fs::read_to_string(&diff).unwrap();
        assert!(text.contains("\n one\n-two\n+three\n"), "{text}");
        let actions = actions_on(&mut client, &diff);
        let titles: Vec<&str> = actions.iter().map(|(title, _)| title.as_str()).collect();
        assert_eq!(
            titles,
            [
                "Aside: No",
                "Aside: Run once",
                "Aside: All edits of this turn"
            ]
        );
        take(&mut client, &diff, title);
        page(&mut client);
        assert_eq!(world.read("a.txt"), after);
        let left: Vec<String> = actions_on(&mut client, &diff)
            .into_iter()
            .map(|(title, _)| title)
            .collect();
        assert!(!left.contains(&title.to_owned()), "{left:?}");
    }
}

/// A client that is busy with the person shows the page later: until then nobody saw what would run.
#[test]
fn what_was_not_shown_yet_can_only_be_refused() {
    let world = TestWorld::new();
    world.write("a.txt", "one\ntwo\n");
    let mut client = Client::start(&world, EDITS, able());
    ask(&mut client);
    let asked = prompt(&mut client);
    choose(&mut client, &asked, "Review…");
    let shown = client.expect("window/showDocument");
    let once = json!({ "command": "aside.server.answer", "arguments": [{ "answer": "once" }] });
    let refused = client.error("workspace/executeCommand", once.clone());
    assert_eq!(refused["code"], -32602, "{refused}");
    shows(&mut client, &shown);
    answers_once_shown(&mut client, &once);
    page(&mut client);
    assert_eq!(world.read("a.txt"), "one\nthree\n");
}

#[test]
fn a_page_that_is_not_shown_leaves_only_no() {
    for (name, before) in [(BESIDE, true), (None, false)] {
        let world = TestWorld::new();
        let script = calling("write_file", "path = 'a.txt', content = 'new'");
        let mut client = Client::named(name, &world, &script, able());
        ask(&mut client);
        if !before {
            let asked = prompt(&mut client);
            choose(&mut client, &asked, "Review…");
        }
        let shown = client.expect("window/showDocument");
        client.reply(&shown, json!({ "success": false }));
        if before {
            let asked = prompt(&mut client);
            assert_eq!(titles(&asked), ["No"]);
        } else {
            let said = ends(&mut client);
            assert!(said.starts_with("The page could not be shown"), "{said}");
        }
        let refused = client.error(
            "workspace/executeCommand",
            json!({ "command": "aside.server.answer", "arguments": [{ "answer": "once" }] }),
        );
        assert_eq!(refused["code"], -32602, "{refused}");
    }
}

#[test]
fn an_answer_is_written_on_a_page_and_counts_when_it_is_saved() {
    let world = TestWorld::new();
    let script = asking("question = 'Name?', context = 'For the branch.'");
    let mut client = Client::start(&world, &script, able());
    ask(&mut client);
    let asked = prompt(&mut client);
    assert_eq!(message(&asked), "Assistant: For the branch.\nName?");
    choose(&mut client, &asked, "Answer…");
    let answer = page(&mut client);
    assert_eq!(
        fs::read_to_string(&answer).unwrap(),
        "# Assistant: Name?\n#\n# For the branch.\n#\n\
         # Code actions on this page: “Dismiss the question”.\n\
         # If nothing happens after the save, run the command aside.server.answer.\n\
         -------- write below this line, then save --------\n\n"
    );
    // The editor is not attached to the page, but watches it.
    save(&answer, "two\nlines");
    let saved = json!({ "uri": format!("file://{}", answer.display()), "type": 2 });
    client.notify(
        "workspace/didChangeWatchedFiles",
        json!({ "changes": [saved] }),
    );
    page(&mut client);
    assert_eq!(ends(&mut client), "Your answer to “Name?” was taken.");
    assert_eq!(
        world.log().told("it"),
        r#"{"answer_type":"text","answer":"two\nlines"}"#
    );
}

#[test]
fn what_is_written_has_to_fit() {
    let world = TestWorld::new();
    let options: Vec<String> = (1..=9).map(|n| format!("'way {n}'")).collect();
    let script = asking(&format!(
        "question = 'Which?', answer_type = 'select', options = [{}]",
        options.join(", ")
    ));
    let mut client = Client::start(&world, &script, able());
    ask(&mut client);
    let asked = prompt(&mut client);
    choose(&mut client, &asked, "Answer…");
    let answer = page(&mut client);
    let text = fs::read_to_string(&answer).unwrap();
    assert!(text.contains("# 9. way 9\n"), "{text}");
    save(&answer, "way 10");
    // The editor tells nothing of this save: the command has the page read.
    command(&mut client, "answer", json!({}));
    let told = client.expect("window/showMessage");
    assert!(message(&told).contains("way 9"), "{told}");
    save(&answer, "9");
    report_saved(&mut client, &answer);
    page(&mut client);
    assert_eq!(
        world.log().told("it"),
        r#"{"answer_type":"select","answer":"way 9"}"#
    );
}

#[test]
fn over_the_text_a_question_is_answered_on_its_page() {
    let boolean = "question = 'Push?', answer_type = 'boolean', context = 'Tests pass.'";
    let select = "question = 'Which?', answer_type = 'select', options = ['1', '2']";
    let text = "question = 'Name?', default = 'main'";
    for (question, title, told) in [
        (boolean, "Yes", r#"{"answer_type":"boolean","answer":true}"#),
        (boolean, "Dismiss the question", DISMISSED),
        (select, "2", r#"{"answer_type":"select","answer":"2"}"#),
        (
            text,
            "Use \"main\"",
            r#"{"answer_type":"text","answer":"main"}"#,
        ),
        (text, "Dismiss the question", DISMISSED),
    ] {
        let world = TestWorld::new();
        let mut client = Client::start(&world, &asking(question), able());
        ask(&mut client);
        let asked = prompt(&mut client);
        assert_eq!(titles(&asked), ["Later", "Answer…"]);
        choose(&mut client, &asked, "Answer…");
        let shown = page(&mut client);
        let whole = fs::read_to_string(&shown).unwrap();
        assert!(whole.contains(title), "{whole}");
        assert!(
            question != boolean || whole.contains("Tests pass."),
            "{whole}"
        );
        take(&mut client, &shown, &format!("Aside: {title}"));
        page(&mut client);
        assert_eq!(world.log().told("it"), told);
    }
}

#[test]
fn where_the_page_of_a_question_is_not_shown_it_is_said_how_to_answer() {
    let world = TestWorld::new();
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut client = Client::start(&world, &script, able());
    ask(&mut client);
    let asked = prompt(&mut client);
    choose(&mut client, &asked, "Answer…");
    let shown = client.expect("window/showDocument");
    client.reply(&shown, json!({ "success": false }));
    let how = ends(&mut client);
    assert!(how.contains("\nYes: aside.server.answer {"), "{how}");
    command(&mut client, "answer", json!({ "dismiss": true }));
    page(&mut client);
    assert_eq!(world.log().told("it"), DISMISSED);
}

#[test]
fn the_answer_is_a_transcript() {
    let world = TestWorld::new();
    let script = "'All *is* well.'";
    let mut client = Client::start(&world, script, able());
    ask(&mut client);
    let transcript = page(&mut client);
    assert_eq!(transcript.file_name().unwrap(), "transcript-1.md");
    let text = fs::read_to_string(&transcript).unwrap();
    assert!(text.contains("**User:** Go"), "{text}");
    assert!(
        text.contains("\n\nAll *is* well.\n\n**Completed**."),
        "{text}"
    );
    fs::remove_file(&transcript).unwrap();
    command(&mut client, "transcript", json!({}));
    assert_eq!(fs::read_to_string(page(&mut client)).unwrap(), text);
}

#[test]
fn each_turn_has_a_transcript_of_its_own_that_opens_where_it_begins() {
    let world = TestWorld::new();
    let script = "2 times 'Well.'";
    let mut client = Client::start(&world, script, able());
    let mut id = serde_json::Value::Null;
    for (name, line) in [("transcript-1.md", 2), ("transcript-2.md", 10)] {
        let begun = command(
            &mut client,
            "ask",
            json!({ "message": "Go", "conversationId": id }),
        );
        id = begun["conversationId"].clone();
        let shown = client.expect("window/showDocument");
        client.reply(&shown, json!({ "success": true }));
        let uri = shown["params"]["uri"].as_str().unwrap();
        assert!(uri.ends_with(name), "{uri}");
        let begin = &shown["params"]["selection"]["start"];
        assert_eq!(*begin, json!({ "line": line, "character": 0 }));
    }
}

#[test]
fn a_message_to_the_model_is_written_on_a_page() {
    let world = TestWorld::new();
    let script = "{ user = 'Be brief' } => 'Yes.'";
    let mut client = Client::start(&world, script, able());
    let about = uri(&world, "src/über.rs");
    world.write("src/über.rs", "");
    command(&mut client, "ask", json!({ "uri": about }));
    let written = page(&mut client);
    let text = fs::read_to_string(&written).unwrap();
    assert!(
        text.starts_with("# A message to Aside about src/über.rs.\n"),
        "{text}"
    );
    save(&written, "Be brief.");
    command(&mut client, "answer", json!({}));
    let transcript = page(&mut client);
    assert_eq!(ends(&mut client), "Your message to Aside was taken.");
    let text = fs::read_to_string(transcript).unwrap();
    assert!(text.contains("**User:** Be brief.\n"), "{text}");
    assert!(text.contains("\n\nYes."), "{text}");
}
