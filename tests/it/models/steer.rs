//! A message of the user while tools run.

use aside_model_server::play::ModelReply;
use aside_test_client::Client;
use serde_json::json;

use super::{
    column,
    stage::{ModelStage, row, says},
};

/// The Language Server, and an editor that can show prompts.
fn editor(stage: &ModelStage) -> Client {
    let mut client = Client::run(stage.command(&["lsp"]));
    let root = format!("file://{}", stage.world.at("").display());
    client.request(
        "initialize",
        json!({
            "processId": null,
            "rootUri": root,
            "workspaceFolders": [{"uri": root, "name": "work"}],
            "capabilities": {"experimental": {"aside": {"version": 1, "prompt": true}}},
            "initializationOptions": {
                "config": {"assistant": {"model": column::model(stage.api)}},
                "trusted": true,
            },
        }),
    );
    client.notify("initialized", json!({}));
    client
}

#[test]
fn what_the_user_adds_between_two_results_follows_them() {
    row(|api| {
        let calls = ModelReply::new("calls")
            .call("call_read", "read_file", r#"{"path":"a.txt"}"#)
            .call("call_ask", "ask_user", r#"{"question":"Which colour?"}"#);
        let stage = ModelStage::new(
            api,
            vec![says(calls), says(ModelReply::new("end").text("Blue."))],
        );
        stage.world.write("a.txt", "A\n");
        let mut editor = editor(&stage);
        editor.request(
            "aside/turn/start",
            json!({"turnId": "t-1", "message": "Paint it."}),
        );
        let prompt = editor.expect("aside/prompt");
        editor.request(
            "aside/turn/steer",
            json!({"turnId": "t-1", "message": "But not red."}),
        );
        editor.update("steered");
        editor.reply(&prompt, json!({"action": "answer", "answer": "blue"}));
        let end = editor.completed();
        assert_eq!(end["outcome"], "completed", "{end}");
        let expected = "\
user Paint it.
call read_file {\"path\":\"a.txt\"}
call ask_user {\"question\":\"Which colour?\"}
result A
result {\"answer_type\":\"text\",\"answer\":\"blue\"}
user But not red.
";
        assert_eq!(stage.heard(), expected, "{api:?}");
        stage.is_clean();
    });
}
