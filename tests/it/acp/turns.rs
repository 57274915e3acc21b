//! Prompts from beginning to end.

use serde_json::{Value, json};

use super::client::{Client, choose, forms, nobody, of_kind, said};
use crate::world::TestWorld;

const EDIT: &str = r#"
    reasoning "Where to begin?"
    + { text = "I look first.", pieces = 4 }
    + read_file read { path = "a.txt" }
    edit_file edit { path = "a.txt", old_text = "b", new_text = "B" }
    { text = "Done.", pieces = 2 }
    & usage = { input = 10, output = 5, cost = 0.5 }
"#;

/// Where an update of a call with this status stands.
fn place(updates: &[Value], call: &str, status: &str) -> usize {
    let found = updates.iter().position(|it| {
        let id = it["toolCallId"].as_str().unwrap_or_default();
        id.ends_with(call) && it["status"] == status
    });
    found.unwrap_or_else(|| panic!("no {call} {status} in {updates:#?}"))
}

#[test]
fn a_prompt_is_streamed_and_answered_behind_its_updates() {
    let world = TestWorld::new();
    world.write("a.txt", "a b\n");
    let mut client = Client::start(&world, EDIT, forms());
    let mut asked = Vec::new();
    let (updates, reason) = client.play("Tidy\nall", |request| {
        asked.push(request.clone());
        choose("once")
    });
    assert_eq!(reason, "end_turn");
    assert_eq!(world.read("a.txt"), "a B\n");
    assert_eq!(said(&updates, "agent_message_chunk"), "I look first.Done.");
    assert_eq!(said(&updates, "agent_thought_chunk"), "Where to begin?");

    let chunks = of_kind(&updates, "agent_message_chunk");
    let ids: Vec<&Value> = chunks.iter().map(|it| &it["messageId"]).collect();
    let last = ids.last().unwrap();
    assert!(ids[0].is_string() && ids[0] != *last, "{ids:?}");

    assert!(place(&updates, "read", "in_progress") < place(&updates, "read", "completed"));
    let calls = of_kind(&updates, "tool_call");
    let kinds: Vec<&Value> = calls.iter().map(|it| &it["kind"]).collect();
    assert_eq!(kinds, ["read", "edit"]);
    assert_eq!(
        calls[0]["locations"][0]["path"],
        json!(world.at("a.txt").canonicalize().unwrap())
    );
    // A status that is left out is `pending`.
    let told = updates.iter().position(|it| it == calls[1]).unwrap();
    assert!(calls[1]["status"].is_null() && told < place(&updates, "edit", "in_progress"));

    let usage = of_kind(&updates, "usage_update");
    assert!(usage.is_empty() || usage[0]["size"].is_u64(), "{usage:?}");
    let title = of_kind(&updates, "session_info_update");
    assert_eq!(title[0]["title"], "Tidy");

    let asked = &asked[0]["params"];
    let diff = &asked["toolCall"]["content"][0];
    assert_eq!(
        (&diff["type"], &diff["oldText"], &diff["newText"]),
        (&json!("diff"), &json!("a b\n"), &json!("a B\n"))
    );
    client.leave();
    let listed = world.aside(&["conversation", "list"]).exits(0).stdout;
    assert!(listed.contains("Tidy"), "{listed}");
}

#[test]
fn what_a_person_says_to_a_permission_is_done() {
    for (answer, text, expected) in [
        (choose("once"), "a B\n", "completed"),
        (choose("turn"), "a B\n", "completed"),
        (choose("no"), "a b\n", "failed"),
        // None of what was offered.
        (choose("always"), "a b\n", "failed"),
        (
            json!({ "outcome": { "outcome": "cancelled" } }),
            "a b\n",
            "failed",
        ),
        // No answer at all: nobody decided anything, and nothing runs.
        (json!(null), "a b\n", "failed"),
        (
            json!({ "outcome": { "outcome": "later" } }),
            "a b\n",
            "failed",
        ),
    ] {
        let world = TestWorld::new();
        world.write("a.txt", "a b\n");
        let mut client = Client::start(&world, EDIT, json!({}));
        let (updates, reason) = client.play("Go", |request| {
            assert_eq!(request["method"], "session/request_permission");
            let options = request["params"]["options"].as_array().unwrap();
            let kinds: Vec<&Value> = options.iter().map(|it| &it["kind"]).collect();
            assert_eq!(kinds, ["allow_once", "allow_always", "reject_once"]);
            answer.clone()
        });
        assert_eq!(
            (reason.as_str(), world.read("a.txt").as_str()),
            ("end_turn", text),
            "{answer}"
        );
        place(&updates, "edit", expected);
        client.leave();
    }
}

#[test]
fn a_command_is_shown_whole_and_its_output_at_the_end() {
    let script = r#"
        run_command run { command = "echo one\necho two" }
        "Done."
    "#;
    for terminal in [false, true] {
        let world = TestWorld::new();
        let can = json!({ "_meta": { "terminal_output": terminal } });
        let mut client = Client::start(&world, script, can);
        let (updates, reason) = client.play("Go", |request| {
            let call = &request["params"]["toolCall"];
            assert_eq!(call["title"], "echo one\necho two");
            assert_eq!(call["status"], "pending");
            let kinds: Vec<&Value> = request["params"]["options"]
                .as_array()
                .unwrap()
                .iter()
                .map(|it| &it["optionId"])
                .collect();
            assert_eq!(kinds, ["once", "always", "no"]);
            choose("once")
        });
        assert_eq!(reason, "end_turn");
        let end = &updates[place(&updates, "run", "completed")];
        if terminal {
            let pieces = updates
                .iter()
                .filter_map(|it| it["_meta"]["terminal_output"]["data"].as_str());
            assert_eq!(pieces.collect::<String>(), "one\r\ntwo\r\n");
            assert_eq!(end["_meta"]["terminal_exit"]["exit_code"], 0);
        } else {
            assert_eq!(end["content"][0]["content"]["text"], "```\none\ntwo\n```");
        }
        client.leave();
    }
}

#[test]
fn cancel_ends_the_prompt_whatever_is_open() {
    let script = r#"
        { user = "stalls" } => "I begin"
        & fault = { stall = true }
        { user = "waits" } => "Never."
        & delay_ms = 600000
        { user = "permission" } => write_file edit { path = "b.txt", content = "b" }
        { user = "question" } => ask_user ask { question = "Which?" }
        { user = "command" } => run_command run { command = "echo on; sleep 600" }
    "#;
    let world = TestWorld::new();
    world.write("a.txt", "a b\n");
    let mut client = Client::start(&world, script, forms());
    for (text, what) in [
        ("stalls", "session/update"),
        ("permission", "session/request_permission"),
        ("question", "elicitation/create"),
        ("command", "session/request_permission"),
        ("waits", ""),
    ] {
        let id = client.prompt(text);
        let open = (!what.is_empty()).then(|| client.expect(what));
        if text == "command" {
            client.reply(open.as_ref().unwrap(), choose("once"));
            client.next("the command runs", |it| {
                it["params"]["update"]["status"] == "in_progress"
            });
        }
        client.cancel();
        assert_eq!(client.stopped(id), "cancelled", "{text}");
        if ["permission", "question"].contains(&text) {
            let open = open.unwrap();
            let withdrawn = client.expect("$/cancel_request");
            assert_eq!(withdrawn["params"]["requestId"], open["id"]);
            // A late answer changes nothing.
            client.reply(&open, choose("once"));
        }
    }
    assert!(!world.at("b.txt").exists());
    client.leave();
}

#[test]
fn a_second_prompt_waits_and_one_that_steers_is_taken_in() {
    let script = r#"
        { user = "First", step = 1 } => ask_user ask { question = "Which?" }
        { user = "And this" } => "Both."
        { user = "Second" } => "Second."
    "#;
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, forms());
    let first = client.prompt("First");
    let asked = client.expect("elicitation/create");
    let second = client.prompt("Second");
    let more = json!({ "prompt": [{ "type": "text", "text": "And this" }] });
    let steered = client.of_session(more);
    assert_eq!(
        client.request("_session/steering", steered),
        json!({ "outcome": "injected" })
    );
    client.reply(
        &asked,
        json!({ "action": "accept", "content": { "answer": "it" } }),
    );
    assert_eq!(client.stopped(first), "end_turn");
    assert_eq!(client.stopped(second), "end_turn");
    let mut text = String::new();
    while client.came("session/update") > 0 {
        let update = client.expect("session/update");
        text += update["params"]["update"]["content"]["text"]
            .as_str()
            .unwrap_or_default();
    }
    assert_eq!(text, "Both.Second.");
    let idle = json!({ "prompt": [{ "type": "text", "text": "x" }], "_meta": { "steering": { "idleBehavior": "promptRequired" } } });
    let idle = client.of_session(idle);
    assert_eq!(
        client.request("_session/steering", idle),
        json!({ "outcome": "promptRequired" })
    );
    client.leave();
}

#[test]
fn how_a_turn_ends_is_said_as_the_protocol_has_it() {
    let failing = "always -\n& fault = { status = 402, text = 'hunter2' }";
    let cut = "always 'And'\n& finish = 'max_tokens'";
    let refusing = "'No.'\n& finish = 'refusal'";
    let world = TestWorld::new();
    let mut client = Client::start(&world, failing, json!({}));
    let id = client.prompt("Go");
    let error = client.answer(id)["error"].clone();
    assert_eq!(error["code"], -32603);
    assert_eq!(error["message"], error["data"]["details"]);
    assert_eq!(error["data"].as_object().unwrap().len(), 1, "{error}");
    client.leave();
    let world = TestWorld::new();
    let mut client = Client::start(&world, refusing, json!({}));
    assert_eq!(client.play("Go", nobody).1, "refusal");
    client.leave();
    let world = TestWorld::new();
    let mut client = Client::start(&world, cut, json!({}));
    let (updates, reason) = client.play("Go", nobody);
    assert_eq!(reason, "max_tokens");
    let said = said(&updates, "agent_message_chunk");
    assert!(said.contains("ask for less at once"), "{said}");
    client.leave();
    let world = TestWorld::new();
    let mut client = Client::start(&world, &endless(), json!({}));
    assert_eq!(client.play("Go", nobody).1, "max_turn_requests");
    client.leave();
}

/// A model that never stops calling.
fn endless() -> String {
    "always list_files list {}".into()
}

/// Plays a prompt while the client has these texts, and returns what it was told to write.
fn with_files(world: &TestWorld, script: &str, mut text: Option<String>) -> Vec<Value> {
    let fs = json!({ "fs": { "readTextFile": true, "writeTextFile": true } });
    let mut client = Client::start(world, script, fs);
    let mut written = Vec::new();
    let (_, reason) = client.play("Go", |request| match request["method"].as_str().unwrap() {
        "fs/read_text_file" => json!({ "content": text.clone().unwrap_or_default() }),
        "fs/write_text_file" => {
            written.push(request["params"].clone());
            text = request["params"]["content"].as_str().map(str::to_owned);
            json!({})
        }
        _ => choose("once"),
    });
    assert_eq!(reason, "end_turn");
    client.leave();
    written
}

#[test]
fn what_the_user_did_not_save_is_read_from_the_client_and_changed_there() {
    let world = TestWorld::new();
    world.write("a.txt", "a b\n");
    let unsaved = "typed a b\n".to_owned();
    let written = with_files(&world, EDIT, Some(unsaved));
    assert_eq!(written.len(), 1, "{written:?}");
    assert_eq!(written[0]["content"], "typed a B\n");
    assert_eq!(world.read("a.txt"), "a b\n", "the client saves, not Aside");
    assert!(world.log().told("read").contains("typed"));

    // Nothing is not saved: the disk counts, also where the client has nothing to say.
    for text in [Some("a b\n".to_owned()), None] {
        let world = TestWorld::new();
        world.write("a.txt", "a b\n");
        assert!(with_files(&world, EDIT, text).is_empty());
        assert_eq!(world.read("a.txt"), "a B\n");
    }
}

#[test]
fn a_prompt_that_the_client_withdraws_ends_as_cancelled() {
    let script = "'I begin'\n& fault = { stall = true }";
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, json!({}));
    let id = client.prompt("Go");
    client.next("text", |it| {
        it["params"]["update"]["sessionUpdate"] == "agent_message_chunk"
    });
    client.notify("$/cancel_request", json!({ "requestId": id }));
    assert_eq!(client.stopped(id), "cancelled");
    client.leave();
}

#[test]
fn a_prompt_that_waits_for_a_server_is_cancelled_at_once() {
    let world = TestWorld::new();
    let model = world.script("always 'Done.'");
    world.user_config(&format!(
        "assistant.model = '{model}'\n[mcp.servers.lazy]\ncommand = 'sleep'\nargs = ['1000']\nstartup_seconds = 600\n"
    ));
    world.aside(&["trust", "--yes"]).exits(0);
    let mut client = Client::untrusted(&world, json!({}));
    let id = client.prompt("Go");
    client.cancel();
    assert_eq!(client.stopped(id), "cancelled");
    client.leave();
}

#[test]
fn a_link_says_its_lines_and_only_a_file_has_a_path() {
    let world = TestWorld::new();
    let lines: String = (1..=10).map(|n| format!("line {n}\n")).collect();
    world.write("f.txt", &lines);
    let mut client = Client::start(&world, "'Done.'", json!({}));
    let link = |uri: String| json!({ "type": "resource_link", "uri": uri, "name": "x" });
    let file = world.at("f.txt");
    let blocks = json!([
        { "type": "text", "text": "Look at " },
        link(format!("file://{}#L3:4", file.display())),
        link("zed:///agent/terminal-selection?lines=4".to_owned()),
    ]);
    let session = client.session.clone();
    let id = client.ask(
        "session/prompt",
        json!({ "sessionId": session, "prompt": blocks }),
    );
    assert_eq!(client.stopped(id), "end_turn");
    client.leave();
    let log = world.log();
    let message = log.one("user_message");
    let text = message["text"].as_str().unwrap();
    assert!(text.contains(&format!("{}:3-4", file.display())), "{text}");
    assert!(
        text.contains("zed:///agent/terminal-selection?lines=4"),
        "{text}"
    );
    let attached = message["attachments"].as_array().unwrap();
    assert_eq!(attached.len(), 1, "{attached:?}");
    assert_eq!(attached[0]["text"], "line 3\nline 4\n");
}
