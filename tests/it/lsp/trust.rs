//! A repository cannot loosen anything; trust is the user's; tools of the editor's.

use serde_json::{Value, json};

use super::client::{Client, answer, initialize, nobody, prompts, uri};
use crate::world::TestWorld;

/// Keys that no workspace may set, trusted or not, each with a value that would loosen something.
const NEVER: [(&str, &str); 19] = [
    ("providers.anthropic.base_url", r#""http://evil.example""#),
    ("providers.anthropic.api_key_env", r#""HOME""#),
    (
        "providers.anthropic.api_key_command",
        r#"["sh", "-c", "touch stolen"]"#,
    ),
    ("providers.mine.api", r#""openai-chat""#),
    ("tls_roots", r#""system""#),
    ("sandbox", r#""off""#),
    ("sandbox.network", "true"),
    ("commands.allow", r#"["sh"]"#),
    ("unsandboxed", "true"),
    ("conversation.mode", r#""auto""#),
    (
        "conversation.inquiry.assistant.model",
        r#""rehearsal/hello""#,
    ),
    ("conversation.inquiry.strategy", r#""structured""#),
    ("conversation.limits.steps", "4000"),
    ("conversation.tools.defaults.run", r#""unattended""#),
    ("conversation.tools.run_command.run", r#""unattended""#),
    ("conversation.tools.run_command.result", r#""unattended""#),
    ("conversation.tools.run_command.detached.run", r#""auto""#),
    (
        "conversation.tools.edit_file.questions.occurrence.answer",
        r#""all""#,
    ),
    (
        "conversation.tools.ask_user.questions.answer.exclusive",
        "false",
    ),
];

/// Keys that count once the workspace is trusted.
const TRUSTED: [(&str, &str); 6] = [
    ("assistant.system_prompt", r#""Be a parrot.""#),
    ("assistant.reasoning", r#""low""#),
    ("assistant.tool_choice", r#""none""#),
    ("conversation.tools.search.enable", "false"),
    ("conversation.tools.run_command.run", r#""deny""#),
    ("mcp.servers.db.command", r#""db""#),
];

/// The JSON of a key with dots.
fn nested(key: &str, value: &str) -> Value {
    let value: Value = serde_json::from_str(value).unwrap();
    key.rsplit('.')
        .fold(value, |inner, part| json!({ part: inner }))
}

/// The layers that the values at and below a key come from.
fn layers(client: &mut Client, key: &str) -> Vec<String> {
    let read = client.request("aside/config/read", json!({ "key": key }));
    let values = read["values"].as_array().unwrap().iter();
    values
        .map(|it| it["from"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_repository_s_settings_loosen_nothing() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, "", prompts());
    let theirs = "the client's workspaceConfig";
    let mut check = |key: &str, value: &str, trusted: bool, counts: bool| {
        let settings = json!({ "workspaceConfig": nested(key, value), "trusted": trusted });
        let params = json!({ "settings": { "aside": settings } });
        client.notify("workspace/didChangeConfiguration", params);
        let counted = layers(&mut client, key).iter().any(|from| from == theirs);
        assert_eq!(counted, counts, "{key} = {value}, trusted: {trusted}");
    };
    for (key, value) in NEVER {
        check(key, value, false, false);
        check(key, value, true, false);
    }
    for (key, value) in TRUSTED {
        check(key, value, false, false);
        check(key, value, true, true);
    }
    check("assistant.instructions", r#""Be brief.""#, false, true);
    check("assistant.model", r#""rehearsal/hello""#, false, false);
    assert!(!world.at("stolen").exists());
}

#[test]
fn an_editor_that_knows_nothing_of_aside_cannot_speak_for_the_user_later() {
    let world = TestWorld::new();
    let mut client = Client::with(&world, json!({}), json!({}));
    let evil = json!({ "config": { "sandbox": "off", "assistant": { "instructions": "x" } }, "trusted": true });
    client.notify(
        "workspace/didChangeConfiguration",
        json!({ "settings": evil }),
    );
    // Tests run their commands without one.
    assert_eq!(
        layers(&mut client, "sandbox"),
        [
            "built-in",
            "built-in",
            "built-in",
            "environment ASIDE_SANDBOX",
            "built-in"
        ]
    );
    assert_eq!(
        layers(&mut client, "assistant.instructions"),
        ["the client's workspaceConfig"]
    );
}

#[test]
fn trust_is_given_to_a_folder_and_taken_back() {
    let world = TestWorld::new();
    world.write("aside.toml", "assistant.system_prompt = 'Be a parrot.'\n");
    let model = world.script("9 times 'Done.'");
    let options = json!({ "config": { "assistant": { "model": model } } });
    let mut client = Client::with(&world, prompts(), options);
    client.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": uri(&world, "a.txt"), "languageId": "text", "version": 1, "text": "" } }),
    );
    let status = client.expect("aside/status");
    assert_eq!(status["params"]["health"], "warning");
    let edits = json!({ "message": "x", "mode": "edits" });
    assert_eq!(client.refused("aside/turn/start", edits.clone()).0, -32015);
    let trust = |trusted: bool| json!({ "folder": uri(&world, ""), "trusted": trusted });
    client.request("aside/workspace/trust", trust(true));
    let status = client.expect("aside/status");
    assert_eq!(status["params"]["health"], "ok");
    assert!(layers(&mut client, "assistant.system_prompt")[0].starts_with("workspace file"));
    let turn = client.turn(edits.clone());
    assert_eq!(client.play(&turn, nobody).1["outcome"], "completed");
    client.request("aside/workspace/trust", trust(false));
    assert_eq!(client.refused("aside/turn/start", edits).0, -32015);
}

/// The turn waits for a permission, its server goes away, and the workspace is not trusted any more.
#[test]
fn a_turn_whose_answer_would_be_in_vain_is_left_as_it_is() {
    let script = r#"
        write_file write { path = "a.txt", content = "a" }
        9 times "Done."
    "#;
    let world = TestWorld::new();
    let mut client = Client::start(&world, script, prompts());
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    client.crash();
    let before = world.log().events().to_vec();

    let model = world.script(script);
    let options = json!({ "config": { "assistant": { "model": model } } });
    let mut client = Client::with(&world, prompts(), options);
    let resume = json!({ "conversationId": turn["conversationId"] });
    let (code, text) = client.refused("aside/turn/resume", resume.clone());
    assert_eq!(code, -32015, "{text}");
    assert!(text.contains("write_file"), "{text}");
    assert_eq!(world.log().events(), before);
    let pending = client.request("aside/prompt/pending", json!({}));
    let still = &pending["prompts"][0];
    assert_eq!(still["promptId"], prompt["params"]["promptId"]);

    let trust = json!({ "folder": uri(&world, ""), "trusted": true });
    client.request("aside/workspace/trust", trust);
    client.request("aside/turn/resume", resume);
    let (_, end) = client.play(&turn, |_| answer("once"));
    assert_eq!(end["answer"], "Done.");
    assert_eq!(world.read("a.txt"), "a");
}

#[test]
fn settings_are_pulled_and_asked_for_where_the_client_says_so() {
    let world = TestWorld::new();
    let capabilities = json!({
        "workspace": { "configuration": true, "didChangeConfiguration": { "dynamicRegistration": true } },
        "experimental": { "aside": { "version": 1, "prompt": true } },
    });
    let mut client = Client::with(&world, capabilities, json!({}));
    let registration = client.expect("client/registerCapability");
    assert_eq!(
        registration["params"]["registrations"][0]["method"],
        "workspace/didChangeConfiguration"
    );
    client.reply(&registration, Value::Null);
    for mode in ["plan", "edits"] {
        let pulled = client.expect("workspace/configuration");
        assert_eq!(pulled["params"]["items"], json!([{ "section": "aside" }]));
        client.reply(
            &pulled,
            json!([{ "config": { "conversation": { "mode": mode } } }]),
        );
        // The reply is taken in by a task of its own.
        let mode_now = |client: &mut Client| {
            let read = client.request("aside/config/read", json!({ "key": "conversation.mode" }));
            read["values"][0]["value"].clone()
        };
        let taken = (0..1000).any(|_| mode_now(&mut client) == mode);
        assert!(taken, "the mode is not {mode}");
        client.notify(
            "workspace/didChangeConfiguration",
            json!({ "settings": null }),
        );
    }
}

/// A tool of the editor's.
fn reveal() -> Value {
    let schema = json!({ "type": "object", "properties": { "line": { "type": "integer" } }, "required": ["line"] });
    let tool =
        json!({ "name": "reveal_line", "description": "Shows a line.", "inputSchema": schema });
    json!({ "experimental": { "aside": { "version": 1, "prompt": true, "tools": [tool] } } })
}

const REVEAL: &str = r#"
    9 times reveal_line one { line = 3 }
    + reveal_line two { line = "x" }
    9 times "Done."
"#;

#[test]
fn a_tool_of_the_editor_s_runs_there_when_a_person_said_so() {
    let world = TestWorld::new();
    let mut client = Client::start(&world, REVEAL, reveal());
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    assert_eq!(prompt["params"]["preview"]["text"], "{\n  \"line\": 3\n}");
    client.reply(&prompt, answer("once"));
    let call = client.expect("aside/tool/call");
    assert_eq!(
        call["params"],
        json!({
            "callId": "one",
            "name": "reveal_line",
            "arguments": { "line": 3 },
            "root": uri(&world, ""),
        })
    );
    client.reply(&call, json!({ "content": "Shown.", "isError": false }));
    assert_eq!(client.play(&turn, nobody).1["answer"], "Done.");
    assert_eq!(world.log().told("one"), "Shown.");
    assert!(
        world
            .log()
            .told("two")
            .starts_with("Invalid arguments for reveal_line")
    );

    // Cancelled while it runs: the turn ends, and the late result does no harm.
    let turn = client.turn(json!({ "message": "Go" }));
    let prompt = client.expect("aside/prompt");
    client.reply(&prompt, answer("once"));
    let call = client.expect("aside/tool/call");
    client.request("aside/turn/cancel", json!({ "turnId": turn["turnId"] }));
    assert_eq!(client.play(&turn, nobody).1["outcome"], "cancelled");
    client.reply(&call, json!({ "content": "Late.", "isError": false }));
    client.request("aside/conversation/list", json!({}));
}

#[test]
fn tools_of_the_editor_s_need_a_trusted_workspace_and_names_of_their_own() {
    let world = TestWorld::new();
    let model = world.script(REVEAL);
    let options = json!({ "config": { "assistant": { "model": model } } });
    let mut client = Client::with(&world, reveal(), options);
    let forced = json!({ "message": "Go", "toolChoice": "reveal_line" });
    assert_eq!(client.refused("aside/turn/start", forced).0, -32015);
    let turn = client.turn(json!({ "message": "Go" }));
    assert_eq!(client.play(&turn, nobody).1["answer"], "Done.");
    assert_eq!(world.log().told("one"), "There is no tool reveal_line.");

    let mut capabilities = reveal();
    capabilities["experimental"]["aside"]["tools"][0]["name"] = json!("search");
    let mut client = Client::spawn(&world);
    let (code, text) = client.refused("initialize", initialize(&world, capabilities, json!({})));
    assert_eq!(code, -32602);
    assert!(
        text.starts_with("capabilities.experimental.aside.tools[0].name: "),
        "{text}"
    );
}

#[test]
fn what_was_approved_for_good_is_listed_and_asked_again_once_it_is_revoked() {
    let world = TestWorld::new();
    let script = REVEAL.replace(
        r#"{ call = "reveal_line", id = "two", arguments = { line = "x" } },"#,
        "",
    );
    let mut client = Client::start(&world, &script, reveal());
    let in_folder = |client: &mut Client| {
        let listed = client.request("aside/approval/list", json!({ "folder": uri(&world, "") }));
        assert_eq!(client.request("aside/approval/list", json!({})), listed);
        listed["items"].as_array().unwrap().clone()
    };
    // Asked at first, not once it is approved, and again once that is revoked.
    for (is_asked, answered) in [(true, "always"), (false, ""), (true, "once")] {
        let turn = client.turn(json!({ "message": "Go" }));
        if is_asked {
            let prompt = client.expect("aside/prompt");
            client.reply(&prompt, answer(answered));
        }
        let call = client.expect("aside/tool/call");
        client.reply(&call, json!({ "content": "Shown.", "isError": false }));
        assert_eq!(client.play(&turn, nobody).1["answer"], "Done.");
        let listed = in_folder(&mut client);
        if is_asked && answered == "once" {
            assert!(listed.is_empty(), "{listed:?}");
            continue;
        }
        let [kept] = listed.as_slice() else {
            panic!("{listed:?}");
        };
        assert_eq!(kept["tool"], "reveal_line");
        assert_eq!(kept["text"], "{\n  \"line\": 3\n}", "what was shown, whole");
        assert!(kept["approvedAt"].is_string(), "{kept}");
        if !is_asked {
            let revoke = json!({ "approvalId": kept["approvalId"] });
            client.request("aside/approval/revoke", revoke.clone());
            let (code, text) = client.refused("aside/approval/revoke", revoke);
            assert_eq!(code, -32602);
            assert!(
                text.starts_with("approvalId: there is no approval"),
                "{text}"
            );
        }
    }
}

#[test]
fn trust_is_given_to_the_preview_that_was_shown() {
    let world = TestWorld::new();
    let file = "assistant.system_prompt = 'Be a parrot.'\n\
                conversation.tools.lint.command = ['sh', 'lint.sh']\n\
                sandbox = 'off'\n";
    world.write("aside.toml", file);
    world.write("lint.sh", "true\n");
    let mut client = Client::with(&world, prompts(), json!({}));
    let folder = uri(&world, "");
    let preview = |client: &mut Client| {
        client.request("aside/workspace/preview", json!({ "folder": folder }))
    };
    let shown = preview(&mut client);
    assert_eq!(shown["trusted"], false);
    assert_eq!(shown["file"], json!(uri(&world, "aside.toml")));
    assert_eq!(
        shown["starts"],
        json!([{ "kind": "tool", "name": "lint", "command": ["sh", "lint.sh"] }])
    );
    assert_eq!(
        shown["settings"],
        json!([
            { "key": "assistant.system_prompt", "value": "Be a parrot." },
            { "key": "conversation.tools.lint.command", "value": ["sh", "lint.sh"] },
        ])
    );
    assert_eq!(shown["programs"], json!(["lint.sh"]));
    assert_eq!(shown["ignored"], json!(["sandbox.state"]));

    world.write("lint.sh", "rm -r /\n");
    let trust = |shown: &Value| json!({ "folder": folder, "trusted": true, "fingerprint": shown["fingerprint"] });
    let (code, text) = client.refused("aside/workspace/trust", trust(&shown));
    assert_eq!(code, -32602);
    assert!(text.starts_with("fingerprint: "), "{text}");
    assert_eq!(preview(&mut client)["trusted"], false);

    let shown = preview(&mut client);
    client.request("aside/workspace/trust", trust(&shown));
    assert_eq!(preview(&mut client)["trusted"], true);
}
