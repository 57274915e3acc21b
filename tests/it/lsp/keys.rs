//! A key that a person enters in the editor reaches the provider, and nothing else.

use std::{fs, io::ErrorKind, path::Path};

use aside_model_server::{
    ServedApi,
    play::ModelReply,
    server::{ModelServer, ServedReply},
};
use rustix::process::getuid;
use serde_json::{Value, json};

use super::client::{Client, initialize, prompts};
use crate::world::TestWorld;

const RIGHT: &str = "sk-mine-0123456789abcdef";
const WRONG: &str = "sk-mine-fedcba9876543210";

/// A provider that takes the right key, and repeats a wrong one in its refusal.
fn provider() -> ModelServer {
    ModelServer::start(|received| {
        let sent = received.header("authorization").unwrap_or_default();
        match sent.strip_prefix("Bearer ") {
            Some(RIGHT) => ModelReply::new("mine")
                .text("Hello.")
                .reply(ServedApi::OpenaiChat),
            sent => ServedReply::json(
                401,
                json!({ "error": { "message": format!("Incorrect API key provided: {sent:?}"), "code": "invalid_api_key" } }),
            ),
        }
    })
}

/// A client of a server that logs all it can, beside this provider, whose variable holds another key.
fn client(world: &TestWorld, provider: &ModelServer) -> Client {
    let log = world.folder().join("trace.log");
    let mut server = world.command(&["lsp", "--stdio", "--log-file", log.to_str().unwrap()]);
    server.env("ASIDE_LOG", "trace").env("MINE", WRONG);
    let mut client = Client::run(server);
    let mine = json!({ "api": "openai-chat", "base_url": provider.url(ServedApi::OpenaiChat), "api_key_env": "MINE" });
    let config = json!({
        "assistant": { "model": "mine/m" },
        "conversation": { "limits": { "retries": 0 } },
        "providers": { "mine": mine },
    });
    let options = json!({ "trusted": true, "config": config });
    client.request("initialize", initialize(world, prompts(), options));
    client.notify("initialized", json!({}));
    client
}

fn source(client: &mut Client, provider: &str) -> Value {
    let listed = client.request("aside/key/list", json!({}));
    let all = listed["providers"].as_array().unwrap().iter();
    let mut found = all.filter(|it| it["provider"] == provider);
    found.next().expect(provider)["from"].clone()
}

fn set(client: &mut Client, provider: &str, key: Option<&str>) {
    let params = match key {
        Some(key) => json!({ "provider": provider, "key": key }),
        None => json!({ "provider": provider }),
    };
    assert_eq!(client.request("aside/key/set", params), json!({}));
}

/// Asks, and returns how it ended.
fn asked(client: &mut Client) -> Value {
    client.turn(json!({ "message": "Hello?" }));
    client.completed()
}

/// Checks that no file below a folder has a key.
fn has_no_key(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            has_no_key(&path);
        } else if let Ok(bytes) = fs::read(&path) {
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(RIGHT), "{}", path.display());
        }
    }
}

#[test]
fn an_entered_key_counts_before_a_variable_and_is_written_nowhere() {
    let (world, provider) = (TestWorld::new(), provider());
    let mut client = client(&world, &provider);
    assert_eq!(source(&mut client, "mine"), "MINE");
    assert_eq!(source(&mut client, "mistral"), Value::Null);
    let end = asked(&mut client);
    assert_eq!(end["error"]["code"], "no_provider", "{end}");

    set(&mut client, "mine", Some(RIGHT));
    assert_eq!(source(&mut client, "mine"), "the editor");
    let end = asked(&mut client);
    assert_eq!(
        (&end["outcome"], &end["answer"]),
        (&json!("completed"), &json!("Hello."))
    );
    for of in ["environ", "cmdline"] {
        let known = match fs::read(format!("/proc/{}/{of}", client.id())) {
            // An ordinary user cannot look into the program at all.
            Err(error) if !getuid().is_root() && of == "environ" => {
                assert_eq!(error.kind(), ErrorKind::PermissionDenied);
                continue;
            }
            read => read.unwrap(),
        };
        assert!(!String::from_utf8_lossy(&known).contains(RIGHT), "{of}");
    }

    set(&mut client, "mine", None);
    assert_eq!(source(&mut client, "mine"), "MINE");
    assert_eq!(asked(&mut client)["outcome"], "failed");
    client.leave();
    has_no_key(world.folder());
    assert!(world.folder().join("trace.log").exists());
}

#[test]
fn a_key_that_the_provider_rejects_is_not_repeated() {
    let (world, provider) = (TestWorld::new(), provider());
    let mut client = client(&world, &provider);
    set(&mut client, "mine", Some(WRONG));
    let end = asked(&mut client);
    assert_eq!(end["error"]["code"], "no_provider");
    let text = end["error"]["message"].as_str().unwrap();
    assert!(text.contains("the API key from the editor"), "{text}");
    assert!(!text.contains(WRONG), "{text}");
    // What no header carries is refused at once, and an error repeats nothing of it.
    for key in [
        json!(""),
        json!("sk-mine\u{7f}0123456789"),
        json!(["sk-mine-0"]),
    ] {
        let params = json!({ "provider": "mine", "key": key });
        let (code, text) = client.refused("aside/key/set", params);
        assert_eq!(code, -32602);
        assert!(!text.contains("sk-mine"), "{text}");
    }
}

#[test]
fn the_first_provider_with_an_entered_key_is_asked_where_no_model_is_named() {
    let world = TestWorld::new();
    let mut server = world.command(&["lsp", "--stdio"]);
    // Nobody listens there.
    server.env("OLLAMA_HOST", "127.0.0.1:1");
    let mut client = Client::run(server);
    let options = json!({ "trusted": true });
    client.request("initialize", initialize(&world, prompts(), options));
    client.notify("initialized", json!({}));
    let (code, _) = client.refused("aside/turn/start", json!({ "message": "Hello?" }));
    assert_eq!(code, -32016);
    set(&mut client, "google", Some(RIGHT));
    client.next("the model of google", |it| {
        let model = it["params"]["model"].as_str().unwrap_or_default();
        it["method"] == "aside/status" && model.starts_with("google/")
    });
}

#[test]
fn a_forgotten_key_and_another_model_change_the_model_of_the_status() {
    let world = TestWorld::new();
    let mut server = world.command(&["lsp", "--stdio"]);
    // Nobody listens there.
    server.env("OLLAMA_HOST", "127.0.0.1:1");
    let mut client = Client::run(server);
    let options = json!({ "trusted": true });
    client.request("initialize", initialize(&world, prompts(), options));
    client.notify("initialized", json!({}));
    let shows = |client: &mut Client, model: Option<&str>| {
        client.next("the model of the status", |it| {
            let of = it["params"]["model"].as_str();
            it["method"] == "aside/status" && of.map(|it| it.split('/').next().unwrap()) == model
        });
    };
    set(&mut client, "google", Some(RIGHT));
    shows(&mut client, Some("google"));
    set(&mut client, "google", None);
    shows(&mut client, None);
    set(&mut client, "anthropic", Some(RIGHT));
    shows(&mut client, Some("anthropic"));
    let set_to = json!({ "config": { "assistant": { "model": "google/gemini-2.5-flash" } } });
    set(&mut client, "google", Some(RIGHT));
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": set_to }),
    );
    shows(&mut client, Some("google"));
}

#[test]
fn a_model_that_a_turn_names_is_not_the_one_of_the_next_that_names_none() {
    let world = TestWorld::new();
    let script = "[[reply]]\nrepeat = true\nsay = [{ text = \"Done.\" }]\n";
    world.write("other.toml", script);
    let mut client = Client::start(&world, script, prompts());
    let named = format!("rehearsal/{}", world.at("other.toml").display());
    client.turn(json!({ "message": "x", "model": named }));
    client.completed();
    client.turn(json!({ "message": "x" }));
    client.next("the usual model", |it| {
        let model = it["params"]["model"].as_str();
        assert_ne!(model, Some(named.as_str()), "{it}");
        it["method"] == "aside/status" && model.is_some()
    });
}
