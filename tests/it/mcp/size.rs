//! What the tools of servers take of a model's context: it is shown, and where it is too much the model gets it by and by.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use aside_model_server::{
    ServedApi,
    play::{ModelReply, ReplyItem},
    server::ModelServer,
};
use serde_json::{Value, json};

use super::{ALLOWED, config};
use crate::world::{ASIDE, TestWorld};

/// A model that looks at a tool, calls it with what does not fit, and then with what does.
fn model() -> ModelServer {
    let steps = Arc::new(AtomicUsize::new(0));
    ModelServer::start(move |_| {
        let step = steps.fetch_add(1, Ordering::Relaxed);
        let reply = ModelReply::new(&step.to_string());
        let call =
            |tool: &str, arguments: &str| ReplyItem::call(&format!("c{step}"), tool, arguments);
        let said = match step {
            0 => call("describe_tools", r#"{"names":["srv__t0"]}"#),
            1 => call("srv__t0", r#"{"n":"x"}"#),
            2 => call("srv__t0", r#"{"n":1}"#),
            _ => ReplyItem::text("Done."),
        };
        reply
            .say(said)
            .number(step + 1)
            .reply(ServedApi::OpenaiChat)
    })
}

/// The tools of the server in the first request of a turn, where the model can hold so many tokens; and the log's words.
fn sent(window: u64) -> (Vec<Value>, TestWorld) {
    let (world, model) = (TestWorld::new(), model());
    let base = model.url(ServedApi::OpenaiChat);
    world.user_config(&format!(
        "[providers.p]\napi = 'openai-chat'\nbase_url = '{base}'\n[providers.p.models.m]\ncontext_window = {window}\n\
         [conversation.tools.srv__t0]\nrun = 'unattended'\n{}",
        config("large", "")
    ));
    let args = [&["run", "-m", "p/m", "Go"], &ALLOWED[..]].concat();
    world.aside(&args).exits(0).writes("Done.\n");
    let received = model.received();
    let body: Value = serde_json::from_slice(&received[0].body).unwrap();
    let tools = body["tools"].as_array().unwrap().iter();
    let of_server = tools.map(|tool| tool["function"].clone());
    let of_server = of_server.filter(|tool| tool["name"].as_str().unwrap().starts_with("srv__"));
    (of_server.collect(), world)
}

#[test]
fn tools_that_take_more_than_a_tenth_are_described_when_they_are_asked_for() {
    let (tools, world) = sent(20_000);
    assert_eq!(tools.len(), 20);
    for tool in &tools {
        assert!(tool["description"].as_str().unwrap().len() < 200, "{tool}");
        assert_eq!(tool["parameters"]["properties"], json!({}), "{tool}");
    }
    let log = world.log();
    let described = log.told("c0");
    assert!(described.contains("word word"), "{described}");
    assert!(
        described.contains(r#""n":{"type":"integer"}"#),
        "{described}"
    );
    // They are checked against what the server says all the same.
    log.told_has("c1", "integer");
    assert_eq!(log.told("c2"), "{\"n\": 1}");
}

#[test]
fn tools_that_take_less_are_sent_whole() {
    let (tools, world) = sent(400_000);
    for tool in &tools {
        assert!(tool["description"].as_str().unwrap().len() > 1000, "{tool}");
        assert_eq!(
            tool["parameters"]["properties"]["n"]["type"], "integer",
            "{tool}"
        );
    }
    // What they take is shown from then on.
    let shown = world.aside(&["config", "show", "mcp"]).exits(0).stdout;
    assert!(
        shown.contains("# mcp.servers.srv: 20 tools, about "),
        "{shown}"
    );
    assert!(shown.contains(" tokens in each request\n"), "{shown}");
    let other = world
        .within(ASIDE, &["config", "show", "assistant"])
        .output()
        .unwrap();
    assert!(!String::from_utf8_lossy(&other.stdout).contains("tokens"));
}
