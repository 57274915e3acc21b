//! Conversations in an editor, in which a person answers.

use aside_test_client::Client;
use serde_json::{Value, json};

use super::{Conversation, Player, plain};
use crate::world::TestWorld;

/// A call that is asked about, twice, and a question.
const SCRIPT: &str = "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'write_file', arguments = { path = 'a', content = 'a' } }]\n\
    [[reply]]\nwhen = { step = 2 }\nsay = [{ call = 'write_file', arguments = { path = 'a', content = 'a' } }]\n\
    [[reply]]\nwhen = { step = 3 }\nsay = [{ call = 'ask_user', arguments = { question = 'Which?' } }]\n\
    [[reply]]\nwhen = { step = 4 }\nsay = [{ call = 'ask_user', arguments = { question = 'Which?' } }]\n\
    [[reply]]\nsay = [{ text = 'Done.' }]";

/// Responses that are cut off again and again.
const CUT: &str = "always 'And'\n& finish = 'max_tokens'";

pub(super) fn all() -> Vec<Conversation> {
    let answers = [
        (
            "permitted",
            json!({ "action": "answer", "answer": "once" }),
            SCRIPT,
        ),
        (
            "permitted for the turn",
            json!({ "action": "answer", "answer": "turn" }),
            SCRIPT,
        ),
        (
            "not permitted",
            json!({ "action": "answer", "answer": "no" }),
            SCRIPT,
        ),
        (
            "declined with a note",
            json!({ "action": "decline", "note": "Later." }),
            SCRIPT,
        ),
        ("dismissed", json!({ "action": "cancel" }), SCRIPT),
        ("no answer", json!({ "action": "sleep" }), SCRIPT),
        ("cut off", json!({ "action": "cancel" }), CUT),
    ];
    let conversations = answers.into_iter().map(|(name, answer, script)| {
        let play = move |player: Player| played(player, script, &answer);
        let conversation: Conversation = (format!("lsp, {name}"), Box::new(play));
        conversation
    });
    conversations.collect()
}

/// The turn as the client sees it, and as the conversation is shown to it afterwards.
fn played(player: Player, script: &str, answer: &Value) -> String {
    let world = TestWorld::new();
    let model = world.script(script);
    let mut client = Client::run(player.command(&world, &["lsp", "--stdio"]));
    let root = format!("file://{}", world.at("").display());
    let options = json!({ "trusted": true, "config": { "assistant": { "model": model } } });
    client.request(
        "initialize",
        json!({
            "processId": null,
            "rootUri": root.trim_end_matches('/'),
            "capabilities": { "experimental": { "aside": { "version": 1, "prompt": true } } },
            "initializationOptions": options,
        }),
    );
    client.notify("initialized", json!({}));
    let turn = client.turn(json!({ "message": "Go" }));
    let (updates, end) = client.play(&turn, |_| answer.clone());
    let updates: Vec<Value> = updates
        .into_iter()
        .filter(|it| it["kind"] != "usage")
        .collect();
    let id = &turn["conversationId"];
    let read = client.request("aside/conversation/read", json!({ "conversationId": id }));
    client.leave();
    plain(
        &world,
        &json!({ "turn": turn, "updates": updates, "end": end, "read": read }),
    )
}
