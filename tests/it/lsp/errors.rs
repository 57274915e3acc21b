//! What is refused, with which error, and what a client that makes mistakes is told.

use aside_test_table::rows;
use serde_json::{Value, json};

use super::client::{Client, answer, initialize, nobody, prompts, uri};
use crate::world::TestWorld;

const SCRIPT: &str = r#"
    { user = "Ask", step = 1 } => 9 times ask_user ask { question = "Go on?", answer_type = "boolean" }
    9 times "Done."
"#;

#[test]
fn input_that_ends_within_a_message_is_said() {
    let world = TestWorld::new();
    let done = world.aside_with("Content-Length: 99\r\n\r\n{\"jsonrpc\"", &["lsp"]);
    let said = "aside: standard input ended within a message of the client's; restart the server\n";
    assert_eq!((done.code, done.stderr.as_str()), (1, said));
}

#[test]
fn each_mistake_has_its_error() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, SCRIPT, prompts());
    let turn = client.turn(json!({ "message": "Ask" }));
    let prompt = client.expect("aside/prompt");
    let id = prompt["params"]["promptId"].as_str().unwrap();
    let table = r#"
        aside/turn/pause | {} | -32601 | Method not found
        aside/turn/start | {} | -32602 | missing field `message`
        aside/turn/start | { "message": 1 } | -32602 | message: invalid type
        aside/turn/start | { "message": " \n" } | -32602 | message: it is empty
        aside/turn/start | ["x"] | -32602 | the params of aside/turn/start are an object
        aside/turn/start | { "message": "x", "attachments": [{ "uri": "untitled:1", "text": "a\nb\n", "range": { "start": { "line": 1, "character": 0 }, "end": { "line": 0, "character": 1 } } }] } | -32602 | attachments: the range of untitled:1 ends before it starts
        aside/turn/start | { "message": "x", "mode": "wild" } | -32602 | mode: "wild" is none
        aside/turn/start | { "message": "x", "turnId": "a.b" } | -32602 | turnId:␣
        aside/turn/start | { "message": "x", "root": "/none" } | -32602 | root:␣
        aside/turn/start | { "message": "x", "schema": { "type": 1 } } | -32602 | schema:␣
        aside/turn/start | { "message": "x", "toolChoice": "serch" } | -32602 | did you mean `search`?
        aside/turn/start | { "message": "x", "attachments": [{ "uri": "none" }] } | -32602 | attachments:␣
        aside/turn/start | { "message": "x", "conversationId": "none" } | -32010 | none
        aside/turn/start | { "message": "x", "model": "nobody/x" } | -32016 | nobody
        aside/turn/start | { "message": "x", "model": "anthropic/x" } | -32016 | ANTHROPIC_API_KEY
        aside/turn/resume | { "conversationId": "none" } | -32010 | none
        aside/turn/steer | { "turnId": "none", "message": "x" } | -32011 | none
        aside/turn/cancel | { "turnId": "none" } | -32011 | none
        aside/turn/undo | { "turnId": "none" } | -32011 | none
        aside/conversation/read | { "conversationId": "none" } | -32010 | none
        aside/conversation/ledger | { "conversationId": "none" } | -32010 | none
        aside/conversation/transcript | { "conversationId": "none" } | -32010 | none
        aside/conversation/fork | { "conversationId": "none" } | -32010 | none
        aside/conversation/delete | { "conversationId": "none" } | -32010 | none
        aside/conversation/rename | { "conversationId": "none", "title": "x" } | -32010 | none
        aside/conversation/rename | { "conversationId": "none", "title": " " } | -32602 | title
        aside/prompt/answer | { "promptId": "none", "answer": { "action": "answer", "answer": true } } | -32012 | none
        aside/prompt/answer | { "promptId": "ID", "answer": { "action": "answer", "answer": "maybe" } } | -32602 | answer:␣
        aside/prompt/answer | { "promptId": "ID", "answer": { "action": "shrug" } } | -32602 | answer
        aside/config/read | { "key": "asistant" } | -32602 | did you mean `assistant`?
        aside/workspace/trust | { "folder": "/none", "trusted": true } | -32602 | folder:␣
    "#;
    for [method, shown, code, text] in rows(table) {
        let params = serde_json::from_str(&shown.replace("ID", id)).unwrap();
        let (refused, said) = client.refused(method, params);
        assert_eq!(refused.to_string(), code, "{method} {shown}: {said}");
        let text = text.replace('␣', " ");
        assert!(said.contains(&text), "{method} {shown}: {said}");
    }
    // Nothing of it counted.
    client.reply(&prompt, answer(true));
    assert_eq!(client.play(&turn, nobody).1["answer"], "Done.");
    let resume = json!({ "conversationId": turn["conversationId"] });
    assert_eq!(client.refused("aside/turn/resume", resume).0, -32011);
}

#[test]
fn nothing_is_answered_before_initialize() {
    let world = TestWorld::new();
    let mut client = Client::spawn(&world);
    assert_eq!(
        client
            .refused("aside/turn/start", json!({ "message": "x" }))
            .0,
        -32002
    );
}

#[test]
fn a_conversation_that_another_process_has_open_is_refused_by_name() {
    let world = TestWorld::new();
    let mut one = Client::start(&world, SCRIPT, prompts());
    let turn = one.turn(json!({ "message": "Ask" }));
    let prompt = one.expect("aside/prompt");
    let mut other = Client::start(&world, SCRIPT, prompts());
    let params = json!({ "message": "x", "conversationId": turn["conversationId"] });
    let (code, text) = other.refused("aside/turn/start", params);
    assert_eq!(code, -32014);
    assert!(text.contains(&format!("process {}", one.id())), "{text}");
    one.reply(&prompt, answer(true));
    one.play(&turn, nobody);
}

#[test]
fn a_broken_configuration_is_said_and_does_not_end_the_server() {
    let world = TestWorld::new();
    world.write("aside.toml", "\nassistant.modle = 'x'\n");
    let mut client = Client::start(&world, SCRIPT, prompts());
    // With the first document, what there is is looked at.
    client.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri(&world, "a.txt"), "languageId": "text", "version": 1, "text": "" } }),
    );
    let status = client.expect("aside/status");
    assert_eq!(status["params"]["health"], "error");
    let place = format!("{}:2: ", world.at("aside.toml").display());
    assert!(
        status["params"]["message"]
            .as_str()
            .unwrap()
            .contains(&place),
        "{status}"
    );
    let (code, text) = client.refused("aside/turn/start", json!({ "message": "x" }));
    assert_eq!(code, -32602);
    assert!(text.contains(&place), "{text}");
    world.write("aside.toml", "");
    client.turn(json!({ "message": "x" }));
    assert_eq!(client.update("text")["text"], "Done.");
    assert_eq!(client.completed()["outcome"], "completed");
    while client.expect("aside/status")["params"]["health"] == "error" {}
    let list = client.request("aside/conversation/list", json!({}));
    assert_eq!(
        list["items"].as_array().unwrap().len(),
        1,
        "a refused turn left something"
    );
}

#[test]
fn without_a_model_the_first_status_and_each_turn_say_so() {
    let world = TestWorld::new();
    let options = json!({ "trusted": true });
    let mut client = Client::with(&world, prompts(), options);
    // Whether an Ollama answers was looked for before.
    let (code, _) = client.refused("aside/turn/start", json!({ "message": "x" }));
    assert_eq!(code, -32016);
    let status = client.expect("aside/status");
    assert_eq!(status["params"]["health"], "error");
    assert!(
        status["params"]["message"]
            .as_str()
            .unwrap()
            .contains("ANTHROPIC_API_KEY")
    );
    let (code, text) = client.refused("aside/turn/start", json!({ "message": "x" }));
    assert_eq!(code, -32016);
    assert!(text.contains("ANTHROPIC_API_KEY"), "{text}");
}

#[test]
fn a_client_whose_process_is_gone_is_not_served() {
    let world = TestWorld::new();
    let mut short = std::process::Command::new("true").spawn().unwrap();
    let gone = short.id();
    short.wait().unwrap();
    let mut client = Client::spawn(&world);
    let mut params = initialize(&world, prompts(), json!({}));
    params["processId"] = json!(gone);
    client.request("initialize", params);
    assert_eq!(client.ended(), Some(1));

    let mut parent = std::process::Command::new("cat")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut client = Client::spawn(&world);
    let mut params = initialize(&world, prompts(), json!({}));
    params["processId"] = json!(parent.id());
    client.request("initialize", params);
    drop(parent.stdin.take());
    parent.wait().unwrap();
    assert_eq!(client.ended(), Some(1));
}

#[test]
fn a_cancelled_request_that_is_answered_already_does_no_harm() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, SCRIPT, prompts());
    client.request("aside/model/list", json!({}));
    for id in [1, 2, 77] {
        client.notify("$/cancelRequest", json!({ "id": id }));
    }
    client.notify("window/workDoneProgress/cancel", json!({ "token": "none" }));
    let values = client.request("aside/config/read", json!({ "key": "assistant.model" }));
    assert_eq!(values["values"][0]["key"], "assistant.model");
    assert_eq!(values["values"][0]["from"], "the client's config");
    assert!(uri(&world, "").starts_with("file://"));
}

#[test]
fn a_turn_id_is_taken_once_in_a_conversation() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, SCRIPT, prompts());
    let turn = client.turn(json!({ "message": "One", "turnId": "mine" }));
    client.play(&turn, nobody);
    let again =
        json!({ "message": "Two", "turnId": "mine", "conversationId": turn["conversationId"] });
    let (code, text) = client.refused("aside/turn/start", again.clone());
    assert_eq!(code, -32602, "{text}");
    assert!(
        text.starts_with("turnId: \"mine\" is the id of an earlier turn"),
        "{text}"
    );
    drop(client);
    // Also where another process ran it.
    let mut client = Client::start(&world, SCRIPT, prompts());
    assert_eq!(client.refused("aside/turn/start", again).0, -32602);
    let other = client.turn(json!({ "message": "Three", "turnId": "mine" }));
    client.play(&other, nobody);
}

#[test]
fn lsp_is_kept_to_the_letter() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, SCRIPT, prompts());
    assert_eq!(client.refused("$/unknown", json!({})).0, -32601);
    client.notify("$/unknown", json!({}));
    for params in [Value::Null, json!({})] {
        let list = client.request("aside/conversation/list", params);
        assert_eq!(list["items"], json!([]));
    }
    client.request("shutdown", json!({}));
    client.notify("exit", json!({}));
    assert_eq!(client.ended(), Some(0));
}
