//! What an editor shows of the servers: state, tools, and what they wrote.

use serde_json::{Value, json};

use super::{config, world};
use crate::{
    lsp::client::{Client, prompts},
    world::TestWorld,
};

/// A server that writes a line with its key, and ends.
const NOISY: &str = "[mcp.servers.noisy]\ncommand = 'sh'\nargs = ['-c', 'echo heard $NOISY_KEY >&2; exit 3']\nenv.NOISY_KEY = 'hunter2-0123'\n";

fn listed(client: &mut Client) -> Vec<Value> {
    let listed = client.request("aside/mcp/list", json!({}));
    listed["servers"].as_array().unwrap().clone()
}

fn states(all: &[Value]) -> Vec<(&str, &str)> {
    let of = all
        .iter()
        .map(|it| it["name"].as_str().zip(it["state"].as_str()));
    of.map(Option::unwrap).collect()
}

/// Tells the server these settings of the user's.
fn switch(client: &mut Client, servers: Value) {
    let config = json!({ "mcp": { "servers": servers } });
    let settings = json!({ "config": config, "trusted": true });
    let params = json!({ "settings": { "aside": settings } });
    client.notify("workspace/didChangeConfiguration", params);
}

#[test]
fn servers_are_listed_with_their_tools_and_what_they_wrote_and_turned_off_and_on() {
    let world = TestWorld::new();
    world.user_config(&(config("plain", "") + NOISY));
    let mut client = Client::start(&world, "\"Done.\"", prompts());
    let all = listed(&mut client);
    assert_eq!(states(&all), [("noisy", "failed"), ("srv", "ready")]);
    let log = all[0]["log"].as_str().unwrap();
    assert!(
        log.starts_with("heard ") && !log.contains("hunter2"),
        "{log}"
    );
    assert!(all[0]["problems"][0].as_str().is_some(), "{all:?}");
    let tools = all[1]["tools"].as_array().unwrap();
    assert!(
        tools.iter().any(|it| it["name"] == "srv__echo"),
        "{tools:?}"
    );
    assert!(all[1]["tokens"].as_u64().unwrap() > 0);

    // A switch for a server that is in no place of settings is none.
    switch(
        &mut client,
        json!({ "srv": { "enabled": false }, "elsewhere": { "enabled": true } }),
    );
    assert_eq!(
        states(&listed(&mut client)),
        [("noisy", "failed"), ("srv", "off")]
    );
    switch(&mut client, json!({}));
    assert_eq!(states(&listed(&mut client))[1], ("srv", "ready"));
}

#[test]
fn what_may_be_a_key_is_in_no_list_and_no_message() {
    let world = TestWorld::new();
    world.user_config(
        "providers.mine = { api = 'openai-chat', base_url = 'http://127.0.0.1:1', api_key_env = 'sk_canary_9f8e7d6c5b4a' }\n\
         providers.other = { api = 'openai-chat', base_url = 'http://127.0.0.1:1', headers.X-Key = 'canary' }\n\
         [mcp.servers.run]\ncommand = 'sh'\nargs = ['-c', 'exit 3', '--access-token', 'canary']\n\
         [mcp.servers.web]\nurl = 'http://127.0.0.1:1/mcp?api_key=canary'\n",
    );
    let mut said = String::new();
    for args in [
        &["mcp", "list"][..],
        &["config", "show"],
        &["doctor"],
        &["model", "list"],
        &["run", "-m", "mine/m", "Go"],
        &["trust", "--yes"],
        &["mcp", "list"],
    ] {
        said += &format!("{:?}", world.aside(args));
    }
    let mut client = Client::start(&world, "\"Done.\"", prompts());
    let all = listed(&mut client);
    assert_eq!(all.len(), 2, "{all:?}");
    said += &format!("{all:?}");
    said += &client.request("aside/config/read", json!({})).to_string();
    client.leave();
    assert!(said.contains("--access-token") && said.contains("api_key="));
    assert!(!said.contains("canary"), "{said}");
}

#[test]
fn the_user_turns_a_server_of_the_workspace_off() {
    let world = TestWorld::new();
    world.write("aside.toml", &config("plain", "enabled = true"));
    let mut client = Client::start(&world, "\"Done.\"", prompts());
    assert_eq!(states(&listed(&mut client)), [("srv", "ready")]);
    switch(&mut client, json!({ "srv": { "enabled": false } }));
    assert_eq!(states(&listed(&mut client)), [("srv", "off")]);
}

#[test]
fn no_server_is_started_in_a_folder_that_is_not_trusted() {
    let world = world("plain", "");
    let mut client = Client::with(&world, prompts(), json!({}));
    let (code, _) = client.refused("aside/mcp/list", json!({}));
    assert_eq!(code, -32015);
    assert_eq!(super::left(&world), [""; 0]);
}
