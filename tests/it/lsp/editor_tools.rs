//! Tools of the editor that the user's configuration allows: the configuration answers, on record, and the editor is
//! shown no prompt.

use serde_json::{Value, json};

use super::client::{Client, answer, nobody};
use crate::world::TestWorld;

const SELECTION: &str = r#"
    9 times editor_selection one {}
    9 times editor_selection two {}
    9 times "Done."
"#;

fn selection() -> Value {
    let tool = json!({
        "name": "editor_selection",
        "description": "What is selected.",
        "inputSchema": { "type": "object" },
        "readOnly": true,
    });
    json!({ "experimental": { "aside": { "version": 1, "prompt": true, "tools": [tool] } } })
}

/// Settings of the user with this rule for the tool.
fn settings(model: &str, run: &str) -> Value {
    let tools = json!({ "editor_selection": { "run": run } });
    let config = json!({ "assistant": { "model": model }, "conversation": { "tools": tools } });
    json!({ "trusted": true, "config": config })
}

/// Answers the next call of the tool.
fn serve(client: &mut Client) {
    let call = client.expect("aside/tool/call");
    client.reply(&call, json!({ "content": "a.txt", "isError": false }));
}

/// How the prompts of the log were closed.
fn closed(world: &TestWorld) -> Vec<String> {
    let log = world.log();
    let all = log.all("prompt_closed").into_iter();
    all.map(|event| event["outcome"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn the_configuration_answers_and_no_prompt_is_shown() {
    let world = TestWorld::new();
    let model = world.script(SELECTION);
    let mut client = Client::with(&world, selection(), settings(&model, "unattended"));
    let turn = client.turn(json!({ "message": "Go" }));
    serve(&mut client);
    serve(&mut client);
    let (updates, end) = client.play(&turn, nobody);
    assert_eq!(end["answer"], "Done.");
    assert_eq!(client.came("aside/prompt"), 0);
    assert_eq!(closed(&world), ["configured", "configured"]);
    let told = |update: &&Value| update["kind"] == "question" && update["by"] == "config";
    let told: Vec<_> = updates.iter().filter(told).cloned().collect();
    assert_eq!(told.len(), 2, "{updates:?}");
    let shown = world.aside(&["conversation", "show"]).exits(0).stdout;
    assert!(
        shown.contains("**The configuration answered:** once"),
        "{shown}"
    );
    assert!(!shown.contains("The user answered"), "{shown}");
    // The conversation that is read has the same updates.
    let read = json!({ "conversationId": turn["conversationId"] });
    let read = client.request("aside/conversation/read", read);
    let again = read["turns"][0]["updates"].as_array().unwrap();
    let again: Vec<_> = again
        .iter()
        .filter(|update| update["by"] == "config")
        .collect();
    assert_eq!(again, told.iter().collect::<Vec<_>>());
}

#[test]
fn a_setting_counts_at_once_in_the_turn_that_runs() {
    let world = TestWorld::new();
    let model = world.script(SELECTION);
    let mut client = Client::with(&world, selection(), settings(&model, "ask"));
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    let changed = |run| json!({ "settings": { "aside": settings(&model, run) } });
    client.notify("workspace/didChangeConfiguration", changed("unattended"));
    let dismissed = client.expect("aside/prompt/dismiss");
    assert_eq!(
        dismissed["params"]["promptId"],
        prompt["params"]["promptId"]
    );
    assert_eq!(dismissed["params"]["reason"], "permitted");
    client.reply(&prompt, json!({ "action": "cancel" }));
    serve(&mut client);
    serve(&mut client);
    assert_eq!(client.play(&turn, nobody).1["answer"], "Done.");
    assert_eq!(closed(&world), ["configured", "configured"]);
    assert_eq!(client.came("aside/prompt"), 0);
    // And so does the setting that takes it back.
    client.notify("workspace/didChangeConfiguration", changed("ask"));
    client.turn(json!({ "message": "Go" }));
    client.expect("aside/prompt");
}

#[test]
fn the_file_of_a_trusted_project_allows_nothing() {
    let world = TestWorld::new();
    world.write(
        "aside.toml",
        "conversation.tools.editor_selection.run = 'unattended'\n",
    );
    let mut client = Client::start(&world, SELECTION, selection());
    let turn = client.turn(json!({ "message": "Go" }));
    for _ in 0..2 {
        let prompt = client.expect("aside/prompt");
        client.reply(&prompt, answer("once"));
        serve(&mut client);
    }
    assert_eq!(client.play(&turn, nobody).1["answer"], "Done.");
    assert_eq!(closed(&world), ["permitted", "permitted"]);
}
