//! Commands and code actions.

use serde_json::{Value, json};

use super::{
    BESIDE, able, ask, asked, asked_in, asking, bare, choose, command, ends, message, page, prompt,
};
use crate::{
    lsp::client::{Client, uri},
    world::TestWorld,
};

#[test]
fn they_are_declared() {
    let world = TestWorld::new();
    let mut client = Client::spawn(&world);
    let result = client.request("initialize", json!({ "capabilities": able() }));
    let capabilities = &result["capabilities"];
    assert_eq!(
        capabilities["executeCommandProvider"]["commands"],
        json!([
            "aside.server.ask",
            "aside.server.cancel",
            "aside.server.answer",
            "aside.server.undo",
            "aside.server.resume",
            "aside.server.transcript",
        ])
    );
    assert_eq!(
        capabilities["codeActionProvider"]["codeActionKinds"],
        json!(["quickfix", "aside"])
    );
    client.notify("initialized", json!({}));
    let params = json!({ "command": "aside.server.dance", "arguments": [] });
    let refused = client.error("workspace/executeCommand", params);
    assert_eq!(refused["code"], -32602);
    let params = json!({ "command": "aside.server.ask", "arguments": ["Go"] });
    let refused = client.error("workspace/executeCommand", params);
    assert_eq!(refused["code"], -32602);
}

#[test]
fn an_answer_without_pages_is_given_by_command() {
    for (name, open) in [(None, "Answer…"), (BESIDE, "Write an answer")] {
        check_by_command(name, open);
    }
}

/// An answer in a client of this name, whose action with this title says how it is given.
#[track_caller]
fn check_by_command(name: Option<&str>, open: &str) {
    let world = TestWorld::new();
    let (mut client, asked) = asked_in(name, &world, "question = 'Name?'");
    choose(&mut client, &asked, open);
    let how = ends(&mut client);
    let pending = client.request("aside/prompt/pending", json!({}));
    let id = &pending["prompts"][0]["promptId"];
    let by = format!("Your answer: aside.server.answer {{\"promptId\":{id},\"answer\":\"…\"}}\n");
    assert!(how.contains(&by), "{how}");
    command(
        &mut client,
        "answer",
        json!({ "promptId": id, "answer": "trunk" }),
    );
    ends(&mut client);
    assert_eq!(
        world.log().told("it"),
        r#"{"answer_type":"text","answer":"trunk"}"#
    );
    let params = json!({ "command": "aside.server.answer", "arguments": [{ "promptId": id, "answer": "x" }] });
    let refused = client.error("workspace/executeCommand", params);
    assert_eq!(refused["code"], -32012);
}

#[test]
fn of_several_open_prompts_the_command_wants_to_know_which() {
    let world = TestWorld::new();
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut client = Client::start(&world, &script, able());
    ask(&mut client);
    prompt(&mut client);
    ask(&mut client);
    let ids = loop {
        let pending = client.request("aside/prompt/pending", json!({}));
        let prompts = pending["prompts"].as_array().unwrap().clone();
        if prompts.len() == 2 {
            break prompts;
        }
    };
    let params = json!({ "command": "aside.server.answer", "arguments": [{ "answer": true }] });
    let refused = client.error("workspace/executeCommand", params);
    let said = refused["message"].as_str().unwrap();
    for prompt in ids {
        let named = format!("{} (Push?)", prompt["promptId"].as_str().unwrap());
        assert!(said.contains(&named), "{said}");
    }
}

#[test]
fn a_turn_is_cancelled_and_a_conversation_goes_on() {
    let world = TestWorld::new();
    let script =
        asking("question = 'Push?', answer_type = 'boolean'") + "{ user = 'And?' } => 'Well.'";
    let mut client = Client::start(&world, &script, able());
    let begun = ask(&mut client);
    let create = client.expect("window/workDoneProgress/create");
    client.reply(&create, Value::Null);
    prompt(&mut client);
    command(&mut client, "cancel", json!({}));
    while client.expect("$/progress")["params"]["value"]["kind"] != "end" {}
    assert_eq!(world.log().one("turn_end")["outcome"], "cancelled");
    let again = command(
        &mut client,
        "ask",
        json!({ "message": "Go", "conversationId": begun["conversationId"] }),
    );
    assert_eq!(again["conversationId"], begun["conversationId"]);
    prompt(&mut client);
    command(&mut client, "answer", json!({ "answer": true }));
    let shown = page(&mut client);
    assert_eq!(
        shown.file_name().unwrap(),
        "transcript-2.md",
        "nobody is shown what was cancelled"
    );
    assert_eq!(world.log().all("turn_end").len(), 2);
}

#[test]
fn without_progress_it_is_said_that_a_turn_was_cancelled() {
    let world = TestWorld::new();
    let (mut client, _) = asked(&world, "question = 'Push?', answer_type = 'boolean'");
    command(&mut client, "cancel", json!({}));
    assert_eq!(ends(&mut client), "The turn was cancelled.");
}

#[test]
fn an_interrupted_turn_goes_on() {
    let world = TestWorld::new();
    let (client, _) = asked(&world, "question = 'Push?', answer_type = 'boolean'");
    drop(client);
    let script = asking("question = 'Push?', answer_type = 'boolean'");
    let mut client = Client::start(&world, &script, bare());
    command(&mut client, "resume", json!({}));
    prompt(&mut client);
    command(&mut client, "answer", json!({ "answer": true }));
    let end = ends(&mut client);
    assert_eq!(end, "Done.");
    let params = json!({ "command": "aside.server.resume", "arguments": [] });
    let refused = client.error("workspace/executeCommand", params);
    assert_eq!(refused["code"], -32011);
}

#[test]
fn what_was_left_open_is_said_with_the_first_document() {
    let world = TestWorld::new();
    let question = "question = 'Push?', answer_type = 'boolean'";
    let (client, _) = asked(&world, question);
    drop(client);
    let aside = json!({ "experimental": { "aside": { "version": 1, "prompt": true } } });
    for (capabilities, is_told) in [(aside, false), (bare(), true)] {
        let mut client = Client::start(&world, &asking(question), capabilities);
        let open = |client: &mut Client, name: &str| {
            let document =
                json!({ "uri": uri(&world, name), "languageId": "rust", "version": 1, "text": "" });
            client.notify("textDocument/didOpen", json!({ "textDocument": document }));
        };
        client.request("aside/conversation/list", json!({}));
        assert_eq!(client.came("window/showMessage"), 0, "nobody asked yet");
        open(&mut client, "a.rs");
        if is_told {
            assert_eq!(
                ends(&mut client),
                "A turn that was interrupted asks “Push?”; the command aside.server.resume goes on with it."
            );
        }
        open(&mut client, "b.rs");
        client.request("aside/conversation/list", json!({}));
        assert_eq!(client.came("window/showMessage"), 0, "once at the most");
    }
}

/// The actions of a range of a document.
fn actions(client: &mut Client, uri: &str, range: [u32; 4]) -> Vec<Value> {
    let [from, at, to, end] = range;
    let range = json!({
        "start": { "line": from, "character": at },
        "end": { "line": to, "character": end },
    });
    let diagnostic = json!({ "range": range, "message": "unused variable" });
    let params = json!({
        "textDocument": { "uri": uri },
        "range": range,
        "context": { "diagnostics": [diagnostic] },
    });
    let actions = client.request("textDocument/codeAction", params);
    actions.as_array().unwrap().clone()
}

#[test]
fn code_actions_ask_about_a_selection_or_follow_a_comment() {
    let world = TestWorld::new();
    world.write("a.rs", "old");
    let script = "{ user = 'Sort it' } => 'Sorted.'";
    for (capabilities, literal) in [(able(), true), (bare(), false)] {
        let mut client = Client::start(&world, script, capabilities);
        let uri = uri(&world, "a.rs");
        let text = "let x = 1;\n// aside: Sort it\n";
        client.notify(
            "textDocument/didOpen",
            json!({ "textDocument": { "uri": uri, "languageId": "rust", "version": 1, "text": text } }),
        );
        let selection = actions(&mut client, &uri, [0, 0, 0, 5]);
        let titles: Vec<&Value> = selection.iter().map(|it| &it["title"]).collect();
        assert_eq!(titles, ["Aside: explain", "Aside: fix", "Aside: ask …"]);
        let fix = if literal {
            &selection[1]["command"]
        } else {
            &selection[1]
        };
        assert_eq!(fix["command"], "aside.server.ask");
        assert_eq!(
            fix["arguments"][0]["message"],
            "Fix this. The editor says:\n\n- line 1, error: unused variable"
        );
        let comment = actions(&mut client, &uri, [1, 4, 1, 4]);
        let titles: Vec<&Value> = comment.iter().map(|it| &it["title"]).collect();
        assert_eq!(titles, ["Aside: Sort it", "Aside: fix"]);
        let action = if literal {
            &comment[0]["command"]
        } else {
            &comment[0]
        };
        client.request(
            "workspace/executeCommand",
            json!({ "command": action["command"], "arguments": action["arguments"] }),
        );
        if literal {
            page(&mut client);
        } else {
            let end = client.expect("window/showMessage");
            assert_eq!(message(&end), "Sorted.");
        }
    }
    let conversations = world.conversations();
    let log = std::fs::read_to_string(conversations[0].join("events.jsonl")).unwrap();
    assert!(
        log.contains("// aside: Sort it"),
        "the buffer goes along: {log}"
    );
}

#[test]
fn a_turn_is_undone_in_the_editor_which_is_said() {
    let world = TestWorld::new();
    world.write("a", "old\n");
    let script = r#"
        read_file read { path = 'a' }
        write_file write { path = 'a', content = "new\n" }
        'Done.'
    "#;
    let mut able = able();
    able["workspace"] = json!({ "applyEdit": true });
    let mut client = Client::named(BESIDE, &world, script, able);
    let uri = uri(&world, "a");
    let document = json!({ "uri": uri, "languageId": "text", "version": 1, "text": "old\n" });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    let makes = |client: &mut Client, version: i32, text: &str| {
        let request = client.expect("workspace/applyEdit");
        let params = json!({
            "textDocument": { "uri": uri, "version": version },
            "contentChanges": [{ "text": text }],
        });
        client.notify("textDocument/didChange", params);
        client.reply(&request, json!({ "applied": true }));
    };
    ask(&mut client);
    page(&mut client);
    let asked = prompt(&mut client);
    choose(&mut client, &asked, "Run once");
    makes(&mut client, 2, "new\n");
    page(&mut client);
    // Saved by the user, and then not after the undo.
    world.write("a", "new\n");
    client.notify(
        "textDocument/didSave",
        json!({ "textDocument": { "uri": uri } }),
    );
    let params = json!({ "command": "aside.server.undo", "arguments": [] });
    let undo = client.ask("workspace/executeCommand", params.clone());
    makes(&mut client, 3, "old\n");
    assert_eq!(
        client.result(undo),
        json!({ "files": [uri], "untracked": false })
    );
    assert_eq!(
        ends(&mut client),
        "The turn “Go” was undone: a is as it was before. Not saved in the editor: a."
    );
    client.request("workspace/executeCommand", params);
    assert_eq!(
        ends(&mut client),
        "There was nothing to undo of the turn “Go”."
    );
}
