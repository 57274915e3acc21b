//! Sessions: made, listed, loaded, forked, closed and deleted; what is no message; clients that come and go.

use std::{
    fs::File,
    time::{Duration, Instant, SystemTime},
};

use serde_json::{Value, json};

use super::client::{Client, choose, forms, nobody, of_kind, said};
use crate::world::{LONG, TestWorld};

const HELLO: &str = "always 'Hello.'";

#[test]
fn a_session_is_on_disk_before_its_first_prompt_and_another_process_goes_on_with_it() {
    let world = TestWorld::new();
    let client = Client::start(&world, HELLO, json!({}));
    let session = client.session.clone();
    client.leave();
    assert_eq!(world.conversation(), session);
    let mut client = Client::resumed(&world, session, json!({}));
    assert_eq!(client.play("Go", nobody).1, "end_turn");
    client.leave();
}

#[test]
fn a_loaded_session_is_shown_as_it_was() {
    let script = r#"
        { step = 1, user = "Go" } => reasoning "Hm."
        + "I look."
        + write_file edit { path = "b.txt", content = "B" }
        "Done."
        { user = "More" } => ask_user ask { question = "Which?" }
    "#;
    let world = TestWorld::new();
    world.write("a.txt", "a b\n");
    let mut client = Client::start(&world, script, forms());
    let (live, _) = client.play("Go", |_| choose("once"));
    client.prompt("More");
    client.expect("elicitation/create");
    // It goes without a word: the turn is interrupted.
    let session = client.session.clone();
    client.crash();

    let mut client = Client::spawn(&world);
    client.initialize(forms());
    client.session = session;
    let params = client.of_session(json!({ "cwd": world.at(""), "mcpServers": [] }));
    let id = client.ask("session/load", params);
    let mut updates = Vec::new();
    loop {
        let message = client.next("history", |_| true);
        if message["id"] == id {
            assert!(message["error"].is_null(), "{message}");
            break;
        }
        updates.push(message["params"]["update"].clone());
    }
    let users: Vec<&Value> = of_kind(&updates, "user_message_chunk");
    let texts: Vec<&Value> = users.iter().map(|it| &it["content"]["text"]).collect();
    assert_eq!(texts, ["Go", "More"]);
    assert_eq!(said(&updates, "agent_thought_chunk"), "Hm.");
    let said_again = said(&updates, "agent_message_chunk");
    assert!(said_again.starts_with("I look.Done."), "{said_again}");
    assert!(
        said_again.contains("/resume") && said_again.contains("Which?"),
        "{said_again}"
    );
    let (calls, again) = (of_kind(&live, "tool_call"), of_kind(&updates, "tool_call"));
    for key in ["toolCallId", "kind", "rawInput", "locations"] {
        assert_eq!(calls[0][key], again[0][key], "{key}");
    }
    let ended = |updates: &[Value]| {
        let ended = updates
            .iter()
            .find(|it| it["status"] == "completed")
            .cloned();
        ended.unwrap()["toolCallId"].clone()
    };
    assert_eq!(ended(&live), ended(&updates));
    let end = updates
        .iter()
        .find(|it| it["status"] == "completed")
        .unwrap();
    let diff = &end["content"][0];
    assert_eq!(
        (&diff["type"], &diff["newText"]),
        (&json!("diff"), &json!("B"))
    );
    client.leave();
}

#[test]
fn sessions_are_listed_named_forked_closed_and_deleted() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, HELLO, json!({}));
    assert_eq!(client.play("First words", nobody).1, "end_turn");
    let cwd = world.at("");
    let titled = |client: &mut Client| -> Vec<(String, String)> {
        let listed = client.request("session/list", json!({ "cwd": cwd }));
        let sessions = listed["sessions"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        sessions
            .map(|it| (text(&it["sessionId"]), text(&it["title"])))
            .collect()
    };
    let own = client.session.clone();
    assert_eq!(
        titled(&mut client),
        [(own.clone(), "First words".to_owned())]
    );

    let params = client.of_session(json!({ "title": "Other words" }));
    assert_eq!(
        client.request("session/set_title", params),
        json!({ "title": "Other words" })
    );
    let params = client.of_session(json!({ "cwd": cwd, "mcpServers": [] }));
    let fork = client.request("session/fork", params)["sessionId"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut ids: Vec<String> = titled(&mut client).into_iter().map(|it| it.0).collect();
    ids.sort();
    let mut expected = vec![own.clone(), fork.clone()];
    expected.sort();
    assert_eq!(ids, expected);

    client.request("session/close", json!({ "sessionId": own }));
    let refused = client.error(
        "session/prompt",
        json!({ "sessionId": own, "prompt": [{ "type": "text", "text": "x" }] }),
    );
    assert_eq!(
        (&refused["code"], &refused["data"]["sessionId"]),
        (&json!(-32002), &json!(own))
    );
    for id in [&own, &fork, &own] {
        client.request("session/delete", json!({ "sessionId": id }));
    }
    assert!(titled(&mut client).is_empty());
    client.leave();
}

#[test]
fn a_session_in_which_nothing_was_said_is_not_listed_and_after_a_month_it_is_gone() {
    let world = TestWorld::new();
    let client = Client::start(&world, HELLO, json!({}));
    let old = client.session.clone();
    client.leave();
    let log = world.conversations()[0].join("events.jsonl");
    let month = Duration::from_hours(31 * 24);
    let file = File::options().write(true).open(&log).unwrap();
    file.set_modified(SystemTime::now() - month).unwrap();

    // Who has it open may still say something.
    let mut client = Client::resumed(&world, old, json!({}));
    client.new_session(&world.at(""));
    let params = json!({ "sessionId": client.new_session(&world.at("")), "title": "Mine" });
    client.request("session/set_title", params);
    let listed = client.request("session/list", json!({ "cwd": world.at("") }));
    let titles: Vec<&Value> = listed["sessions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|it| &it["title"])
        .collect();
    assert_eq!(titles, ["Mine"], "a name is reason enough");
    client.leave();
    assert_eq!(world.conversations().len(), 3);

    let mut client = Client::untrusted(&world, json!({}));
    let begin = Instant::now();
    while log.exists() {
        assert!(begin.elapsed() < LONG, "it is still there");
        client.request("session/list", json!({}));
    }
    client.leave();
    assert_eq!(world.conversations().len(), 3);
}

#[test]
fn two_sessions_run_at_once() {
    let script = r#"
        { user = "asks" } => ask_user ask { question = "Which?" }
        always "Hello."
    "#;
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, forms());
    let first = client.prompt("asks");
    let asked = client.expect("elicitation/create");
    assert_eq!(asked["params"]["sessionId"], json!(client.session));
    let before = client.session.clone();
    client.session = client.new_session(&world.at(""));
    let second = client.prompt("Go");
    assert_eq!(client.stopped(second), "end_turn");
    let params = json!({ "sessionId": before });
    let close = client.ask("session/close", params);
    assert_eq!(client.stopped(first), "cancelled");
    client.result(close);
    client.leave();
}

#[test]
fn what_cannot_be_done_is_said_with_the_codes_of_the_protocol() {
    let world = TestWorld::new();
    let mut client = Client::spawn(&world);
    assert_eq!(
        client
            .refused(
                "session/new",
                json!({ "cwd": world.at(""), "mcpServers": [] })
            )
            .0,
        -32600
    );
    let said = client.initialize(json!({}));
    assert_eq!(said["protocolVersion"], 1);
    assert_eq!(
        said["agentCapabilities"]["sessionCapabilities"]["list"],
        json!({})
    );
    for (method, params, code) in [
        ("session/nothing", json!({}), -32601),
        ("_x/y", json!({}), -32601),
        (
            "session/new",
            json!({ "cwd": "relative", "mcpServers": [] }),
            -32602,
        ),
        (
            "session/new",
            json!({ "cwd": world.at("nowhere"), "mcpServers": [] }),
            -32602,
        ),
        ("session/new", json!({}), -32602),
        (
            "session/load",
            json!({ "sessionId": "hunter2", "cwd": world.at(""), "mcpServers": [] }),
            -32002,
        ),
        ("session/close", json!({ "sessionId": "no" }), -32002),
        ("session/list", json!({ "cursor": "no" }), -32602),
        (
            "session/prompt",
            json!({ "sessionId": "s", "prompt": "hunter2" }),
            -32602,
        ),
    ] {
        let error = client.error(method, params);
        assert_eq!(error["code"], code, "{method}: {error}");
        assert!(
            code == -32002 || !error.to_string().contains("hunter2"),
            "{error}"
        );
    }
    let session = client.new_session(&world.at(""));
    for prompt in [
        json!([]),
        json!([{ "type": "text" }]),
        json!([{ "type": "audio", "data": "", "mimeType": "x" }]),
    ] {
        let error = client.error(
            "session/prompt",
            json!({ "sessionId": session, "prompt": prompt }),
        );
        assert_eq!(error["code"], -32602, "{error}");
    }
    client.leave();
}

#[test]
fn what_goes_along_with_a_prompt_reaches_the_model() {
    let script = r#"{ attached = "unsaved text" } => "Seen.""#;
    let world = TestWorld::new();
    world.write("a.txt", "on disk\n");
    let mut client = Client::start(&world, script, json!({}));
    let uri = format!("file://{}", world.at("a.txt").display());
    let prompt = json!([
        { "type": "text", "text": "Look at " },
        { "type": "resource", "resource": { "uri": "untitled:1", "mimeType": "text/plain", "text": "unsaved text" } },
        { "type": "resource_link", "uri": uri, "name": "a.txt" },
        { "type": "resource_link", "uri": "https://example.com/", "name": "far" },
        { "type": "image", "mimeType": "image/png", "data": "iVBORw0KGgo=" },
        { "type": "hologram", "data": "?" },
    ]);
    let params = client.of_session(json!({ "prompt": prompt }));
    let id = client.ask("session/prompt", params);
    assert_eq!(client.stopped(id), "end_turn");
    client.leave();
}

/// The value of an option.
fn value(options: &Value, id: &str) -> String {
    let found = options.as_array().unwrap().iter().find(|it| it["id"] == id);
    found.unwrap()["currentValue"].as_str().unwrap().to_owned()
}

#[test]
fn what_is_chosen_counts_for_the_turns_to_come_in_both_ways_that_clients_know() {
    let script = r#"
        always write_file edit { path = "b.txt", content = "B" }
        always "Done."
    "#;
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, json!({}));
    let opened = client.request(
        "session/new",
        json!({ "cwd": world.at(""), "mcpServers": [] }),
    );
    assert_eq!(opened["modes"]["currentModeId"], "ask");
    assert_eq!(value(&opened["configOptions"], "mode"), "ask");
    let model = value(&opened["configOptions"], "model");
    assert!(model.starts_with("rehearsal/"), "{model}");

    let params = client.of_session(json!({ "modeId": "edits" }));
    assert_eq!(client.request("session/set_mode", params), json!({}));
    let told = client.next("the mode", |it| {
        it["params"]["update"]["sessionUpdate"] == "current_mode_update"
    });
    assert_eq!(told["params"]["update"]["currentModeId"], "edits");
    let told = client.next("the options", |it| {
        it["params"]["update"]["sessionUpdate"] == "config_option_update"
    });
    assert_eq!(
        value(&told["params"]["update"]["configOptions"], "mode"),
        "edits"
    );
    assert_eq!(client.play("Go", nobody).1, "end_turn");
    assert_eq!(world.read("b.txt"), "B");

    let params = client.of_session(json!({ "configId": "mode", "value": "plan" }));
    let set = client.request("session/set_config_option", params);
    assert_eq!(value(&set["configOptions"], "mode"), "plan");
    for (id, value) in [
        ("mode", "free"),
        ("model", "none/such"),
        ("effort", "all"),
        ("colour", "red"),
    ] {
        let params = client.of_session(json!({ "configId": id, "value": value }));
        assert_eq!(
            client.refused("session/set_config_option", params).0,
            -32602,
            "{id}"
        );
    }
    client.leave();
}

#[test]
fn a_workspace_that_is_not_trusted_is_trusted_as_it_was_shown_and_not_by_a_yes_to_everything() {
    let world = TestWorld::new();
    let model = world.script(HELLO);
    world.user_config(&format!("assistant.model = '{model}'\n"));
    world.write(
        "aside.toml",
        "[conversation.tools.lint]\nsource = 'local'\ncommand = ['lint']\n",
    );
    let mut client = Client::untrusted(&world, json!({}));
    let params = client.of_session(json!({ "modeId": "auto" }));
    assert_eq!(client.refused("session/set_mode", params).0, -32602);
    let (updates, _) = client.play("Go", nobody);
    assert!(
        said(&updates, "agent_message_chunk").contains("/trust"),
        "{updates:?}"
    );

    let (updates, _) = client.play("/trust", nobody);
    let shown = said(&updates, "agent_message_chunk");
    assert!(shown.contains("lint"), "{shown}");
    let code = shown
        .split("/trust ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap()
        .to_owned();
    world.write(
        "aside.toml",
        "[conversation.tools.other]\nsource = 'local'\ncommand = ['other']\n",
    );
    let id = client.prompt(&format!("/trust {code}"));
    assert_eq!(client.answer(id)["error"]["code"], -32602);
    let (updates, _) = client.play("/trust", nobody);
    let shown = said(&updates, "agent_message_chunk");
    let code = shown
        .split("/trust ")
        .nth(1)
        .unwrap()
        .split('`')
        .next()
        .unwrap()
        .to_owned();
    let (updates, _) = client.play(&format!("/trust {code}"), nobody);
    assert!(
        said(&updates, "agent_message_chunk").contains("is trusted"),
        "{updates:?}"
    );
    let params = client.of_session(json!({ "modeId": "auto" }));
    client.request("session/set_mode", params);
    client.leave();
}

#[test]
fn a_summary_is_shown_to_a_client_that_announces_it() {
    for (can, expected) in [
        (forms(), &[][..]),
        (
            json!({ "session": { "compaction": {} } }),
            &["in_progress", "completed"],
        ),
    ] {
        let world = TestWorld::new();
        let mut client = Client::start(&world, "always 'Well.'", can);
        client.play(&"Write a long text. ".repeat(50), nobody);
        let (updates, _) = client.play("/compact", nobody);
        let told = of_kind(&updates, "compaction_update");
        let statuses: Vec<&Value> = told.iter().map(|it| &it["status"]).collect();
        assert_eq!(statuses, expected, "{updates:?}");
        if let [begun, made] = told[..] {
            assert_eq!(begun["compactionId"], made["compactionId"]);
            assert_eq!(made["summary"][0]["text"], "Well.");
        }
        let (updates, _) = client.play("/compact undo", nobody);
        let told = json!(updates).to_string();
        assert!(told.contains("The last summary was taken back"), "{told}");
        client.leave();
    }
}

#[test]
fn a_turn_is_undone_and_an_interrupted_one_goes_on_by_a_command() {
    let script = r#"
        { user = "Write", step = 1 } => write_file edit { path = "b.txt", content = "B" }
        { user = "Write", step = 2 } => "Done."
        { user = "Ask", step = 1 } => ask_user ask { question = "Which?" }
        { step = 2 } => "Thanks."
    "#;
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, forms());
    let commands = client.next("commands", |it| {
        it["params"]["update"]["sessionUpdate"] == "available_commands_update"
    });
    let commands = commands["params"]["update"]["availableCommands"]
        .as_array()
        .unwrap()
        .clone();
    let names: Vec<&Value> = commands.iter().map(|it| &it["name"]).collect();
    assert_eq!(names, ["undo", "resume", "compact", "trust"]);
    client.play("Write", |_| choose("once"));
    assert_eq!(world.read("b.txt"), "B");
    let (updates, _) = client.play("/undo", nobody);
    assert!(
        said(&updates, "agent_message_chunk").contains("b.txt"),
        "{updates:?}"
    );
    assert!(!world.at("b.txt").exists());

    client.prompt("Ask");
    client.expect("elicitation/create");
    let session = client.session.clone();
    client.crash();
    let mut client = Client::resumed(&world, session, forms());
    let (updates, reason) = client.play("/resume", |request| {
        assert_eq!(request["method"], "elicitation/create", "{request}");
        json!({ "action": "accept", "content": { "answer": "this" } })
    });
    assert_eq!(
        (
            reason.as_str(),
            said(&updates, "agent_message_chunk").as_str()
        ),
        ("end_turn", "Thanks.")
    );
    client.leave();
}
