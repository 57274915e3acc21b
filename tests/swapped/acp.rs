//! Conversations over the Agent Client Protocol.

use aside_test_client::Client;
use serde_json::{Value, json};

use super::{Conversation, Player, plain};
use crate::world::{TestWorld, start};

pub(super) fn all() -> Vec<Conversation> {
    let cut = "always 'And'\n& finish = 'max_tokens'";
    let refusing = "'No.'\n& finish = 'refusal'";
    let failing = "always -\n& fault = { status = 402, text = 'No credit.' }";
    let endless = "conversation.limits.steps = 2\n";
    let lists = "always list_files {}";
    let writes = "[[reply]]\nwhen = { step = 1 }\nsay = [{ call = 'write_file', arguments = { path = 'a', content = 'a' } }]\n\
        [[reply]]\nwhen = { step = 2 }\nsay = [{ call = 'write_file', arguments = { path = 'a', content = 'a' } }]\n\
        [[reply]]\nwhen = { step = 3 }\nsay = [{ call = 'nothing' }]\n\
        [[reply]]\nsay = [{ text = 'Done.' }]";
    let scenes: [(&str, &'static str, &'static str, &'static str); 7] = [
        ("cut off", cut, "", "reject_once"),
        ("refused by the model", refusing, "", "reject_once"),
        ("failed", failing, "", "reject_once"),
        ("endless", lists, endless, "reject_once"),
        ("not permitted", writes, "", "reject_once"),
        ("permitted", writes, "", "allow_once"),
        (
            "denied",
            writes,
            "conversation.tools.write_file.run = 'deny'\n",
            "allow_once",
        ),
    ];
    let conversations = scenes.into_iter().map(|(name, script, config, kind)| {
        let play = move |player: Player| played(player, script, config, kind);
        let conversation: Conversation = (format!("acp, {name}"), Box::new(play));
        conversation
    });
    conversations.collect()
}

fn played(player: Player, script: &str, config: &str, kind: &str) -> String {
    let world = TestWorld::new();
    let model = world.script(script);
    world.user_config(&format!("assistant.model = '{model}'\n{config}"));
    start(&mut player.command(&world, &["trust", "--yes"]))
        .end()
        .exits(0);
    let mut client = Client::run_lines(player.command(&world, &["acp"]));
    let info = json!({ "name": "tester", "version": "1" });
    let can = json!({});
    client.request(
        "initialize",
        json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": can }),
    );
    let opened = client.request(
        "session/new",
        json!({ "cwd": world.at(""), "mcpServers": [] }),
    );
    let prompt = json!([{ "type": "text", "text": "Go" }]);
    let params = json!({ "sessionId": opened["sessionId"], "prompt": prompt });
    let id = client.ask("session/prompt", params);
    let mut seen = Vec::new();
    loop {
        let message = client.next("a message of the turn", |_| true);
        match message["method"].as_str() {
            Some("session/request_permission") => {
                let options = message["params"]["options"].as_array().expect("options");
                let option = options.iter().find(|it| it["kind"] == kind);
                let option = option.expect("it is offered")["optionId"].clone();
                let outcome = json!({ "outcome": "selected", "optionId": option });
                client.reply(&message, json!({ "outcome": outcome }));
                seen.push(message["params"].clone());
            }
            Some(_) => seen.push(message["params"].clone()),
            None if message["id"] == id => {
                seen.push(json!([message["result"], message["error"]["code"]]));
                break;
            }
            None => {}
        }
    }
    client.leave();
    let seen: Vec<Value> = seen.into_iter().filter(is_compared).collect();
    plain(&world, &json!(seen))
}

/// Whether a message says something else than a sentence of the program, or what was spent.
fn is_compared(message: &Value) -> bool {
    let update = &message["update"];
    update["sessionUpdate"] != "usage_update" && update["sessionUpdate"] != "agent_message_chunk"
}
