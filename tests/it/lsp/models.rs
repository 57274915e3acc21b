//! Models that the providers have to be asked for: who waits for that, and who does not.

use std::net::SocketAddr;

use aside_model_server::{
    ServedApi,
    play::{ModelReply, PlayedTokens},
    server::{ModelServer, ReplyGate, ServedReply},
};
use serde_json::{Value, json};

use super::client::{Client, initialize, prompts};
use crate::world::TestWorld;

/// An Ollama that lists its models when it is told to, and says `Hello.`
fn ollama(told: &ReplyGate) -> ModelServer {
    let told = told.clone();
    ModelServer::start(move |received| {
        let sample = |text: &str| ServedReply::new(200, "application/json", text.to_owned());
        match received.path.as_str() {
            "/api/tags" => sample(include_str!("../../model_server/wire/ollama/08_tags.json"))
                .wait_at(0, &told),
            "/api/show" => sample(include_str!("../../model_server/wire/ollama/09_show.json")),
            _ => ModelReply::new("ollama")
                .text("Hello.")
                .reply(ServedApi::Ollama),
        }
    })
}

/// A client of a server for which nobody configured a model, beside this Ollama.
fn client(world: &TestWorld, ollama: SocketAddr) -> Client {
    let mut server = world.command(&["lsp", "--stdio"]);
    server.env("OLLAMA_HOST", ollama.to_string());
    let mut client = Client::run(server);
    let options = json!({ "trusted": true });
    client.request("initialize", initialize(world, prompts(), options));
    client.notify("initialized", json!({}));
    client
}

#[test]
fn the_first_turn_waits_for_an_ollama_that_nobody_configured_and_nothing_else_does() {
    let (world, told) = (TestWorld::new(), ReplyGate::new());
    let ollama = ollama(&told);
    let mut client = client(&world, ollama.address());
    let start = client.ask("aside/turn/start", json!({ "message": "Hello?" }));
    let list = client.request("aside/conversation/list", json!({}));
    assert_eq!(list["nextCursor"], Value::Null);
    assert!(!client.is_answered(start), "a turn began without a model");
    told.open();
    client.result(start);
    assert_eq!(client.update("text")["text"], "Hello.");
    assert_eq!(client.completed()["outcome"], "completed");
    // From now on it is known.
    client.turn(json!({ "message": "And again?" }));
    assert_eq!(client.completed()["outcome"], "completed");
}

#[test]
fn a_turn_that_is_taken_back_while_its_model_is_looked_for_does_not_begin() {
    let (world, told) = (TestWorld::new(), ReplyGate::new());
    let ollama = ollama(&told);
    let mut client = client(&world, ollama.address());
    let made = client.request("aside/conversation/create", json!({}));
    let of_made =
        |prompt: &str| json!({ "message": prompt, "conversationId": made["conversationId"] });
    let start = client.ask("aside/turn/start", of_made("Hello?"));
    let (code, _) = client.refused("aside/turn/start", of_made("Me too?"));
    assert_eq!(code, -32013);
    client.notify("$/cancelRequest", json!({ "id": start }));
    assert_eq!(client.answer(start)["error"]["code"], -32800);
    told.open();
    client.turn(of_made("And again?"));
    assert_eq!(client.completed()["outcome"], "completed");
    let read = client.request("aside/conversation/read", made);
    assert_eq!(read["turns"].as_array().unwrap().len(), 1, "{read}");
}

#[test]
fn the_list_of_models_is_what_the_providers_say_now() {
    let (world, told) = (TestWorld::new(), ReplyGate::new());
    let ollama = ollama(&told);
    let mut client = client(&world, ollama.address());
    let list = client.ask("aside/model/list", json!({}));
    client.request("aside/conversation/list", json!({}));
    assert!(!client.is_answered(list), "a list that nobody gave");
    told.open();
    let models = client.result(list)["models"].clone();
    let ids: Vec<&Value> = models
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["id"])
        .collect();
    assert!(ids.contains(&&json!("ollama/qwen3.5:9b")), "{ids:?}");
}

/// A server of Anthropic that has four small steps said after a large one, and then answers.
fn reading() -> ModelServer {
    ModelServer::start(|received| {
        let number = received.number;
        let id = format!("call_{number}");
        let reply = ModelReply::new(&id).tokens(PlayedTokens {
            input: 4_950,
            output: 50,
            ..PlayedTokens::default()
        });
        let reply = match number {
            0..=3 => {
                let file = if number == 0 { "a.txt" } else { "b.txt" };
                let arguments = json!({ "path": file }).to_string();
                reply.call(&id, "read_file", arguments)
            }
            _ => reply.text("Well."),
        };
        reply.reply(ServedApi::Anthropic)
    })
}

#[test]
fn old_outputs_are_left_out_of_a_conversation_that_the_server_has_in_mind_as_of_one_that_it_reads()
{
    let (world, model) = (TestWorld::new(), reading());
    world.write("a.txt", &"a line of it\n".repeat(500));
    world.write("b.txt", "B\n");
    world.user_config(
        "assistant.model = 'anthropic/claude-opus-5-5'\n[providers.anthropic.models.claude-opus-5-5]\ncache_seconds = 0\n\
         prices = { input = 100, output = 100 }\n",
    );
    let start = || {
        let mut server = world.command(&["lsp", "--stdio"]);
        server.env("ANTHROPIC_BASE_URL", format!("http://{}", model.address()));
        server.env("ANTHROPIC_API_KEY", "sk-test");
        let mut client = Client::run(server);
        let options = json!({ "trusted": true });
        client.request("initialize", initialize(&world, prompts(), options));
        client.notify("initialized", json!({}));
        client
    };
    let mut client = start();
    let made = client.request("aside/conversation/create", json!({}));
    let of_made =
        |message: &str| json!({ "message": message, "conversationId": made["conversationId"] });
    client.turn(of_made("Look."));
    assert_eq!(client.completed()["outcome"], "completed");
    client.turn(of_made("And now?"));
    let told = client.update("notice");
    let text = told["text"].as_str().unwrap_or_default();
    assert!(
        text.contains("one old output of a tool is not sent"),
        "{told}"
    );
    assert_eq!(client.completed()["outcome"], "completed");
    client.turn(of_made("And then?"));
    assert_eq!(client.completed()["outcome"], "completed");
    client.leave();
    let mut client = start();
    client.turn(of_made("And later?"));
    assert_eq!(client.completed()["outcome"], "completed");
    let bodies: Vec<String> = model.received()[5..]
        .iter()
        .map(|received| plain(&received.json))
        .collect();
    for body in &bodies {
        assert!(body.contains("6500 bytes that `read_file` gave"), "{body}");
        assert!(!body.contains("a line of it"), "{body}");
    }
    for pair in bodies.windows(2) {
        let before = pair[0].trim_end_matches(']');
        assert!(pair[1].starts_with(before), "{} after {before}", pair[1]);
    }
}

/// The messages of a request, without the marks of the cache.
fn plain(body: &Value) -> String {
    let mut messages = body["messages"].clone();
    for message in messages.as_array_mut().into_iter().flatten() {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block
                .as_object_mut()
                .map(|block| block.remove("cache_control"));
        }
    }
    messages.to_string()
}
