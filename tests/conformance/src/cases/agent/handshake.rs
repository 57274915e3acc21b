//! The beginning of a connection, and what is refused.

use serde_json::{Value, json};

use crate::{Step, check, script::Script, stage::Stage};

cases! {
    initialize: "`initialize` is answered with version 1, and each marker of what sessions can do is an object.";
    newer_client: "A client of version 7 is answered with version 1.";
    before_initialize: "A request before `initialize` is refused with -32600, and `initialize` works afterwards.";
    unknown_method: "A method that does not exist is refused with -32601, one that begins with `_` too.";
    unknown_field: "Fields that the agent does not know are ignored.";
    unknown_conversation: "A session that does not exist is refused with -32002 and its id, by every method that takes one, but for `session/delete`.";
    missing_field: "A request without a field that it needs is refused with -32602.";
    wrong_field: "A field of the wrong type is refused with -32602, and its text is not repeated.";
}

fn initialize(stage: &Stage) -> Step {
    stage.script(&Script::asks(&[]))?;
    let result = stage.start()?.introduce(1)?;
    check(result["protocolVersion"] == 1, "the version is not 1")?;
    let can = &result["agentCapabilities"]["sessionCapabilities"];
    let markers = can.as_object().map(|it| it.values().all(Value::is_object));
    check(markers == Some(true), format!("the markers are {can}"))
}

fn newer_client(stage: &Stage) -> Step {
    stage.script(&Script::asks(&[]))?;
    let result = stage.start()?.introduce(7)?;
    check(result["protocolVersion"] == 1, "the version is not 1")
}

fn before_initialize(stage: &Stage) -> Step {
    stage.script(&Script::asks(&[]))?;
    let mut client = stage.start()?;
    let params = json!({"cwd": stage.workspace(), "mcpServers": []});
    client.refused("session/new", params, -32600)?;
    client.introduce(1)?;
    client.open(&stage.workspace()).map(drop)
}

fn unknown_method(stage: &Stage) -> Step {
    let (mut client, session) = stage.agent(&Script::asks(&[]))?;
    for method in ["session/none", "_none/such", "fs/read_text_file"] {
        client.refused(method, json!({ "sessionId": session }), -32601)?;
    }
    Ok(())
}

fn unknown_field(stage: &Stage) -> Step {
    let (mut client, _) = stage.agent(&Script::asks(&[]))?;
    let params =
        json!({"cwd": stage.workspace(), "mcpServers": [], "colour": "red", "_meta": {"x": 1}});
    client.call("session/new", params).map(drop)
}

fn unknown_conversation(stage: &Stage) -> Step {
    let (mut client, _) = stage.agent(&Script::asks(&[]))?;
    let (id, cwd) = ("s-none", stage.workspace());
    let more = [
        ("session/load", json!({"cwd": cwd, "mcpServers": []})),
        ("session/resume", json!({"cwd": cwd, "mcpServers": []})),
        ("session/fork", json!({"cwd": cwd, "mcpServers": []})),
        ("session/close", json!({})),
        ("session/set_title", json!({"title": "x"})),
        ("session/set_mode", json!({"modeId": "ask"})),
        (
            "session/set_config_option",
            json!({"configId": "mode", "value": "ask"}),
        ),
        ("session/prompt", json!({"prompt": [text("x")]})),
        ("_session/steering", json!({"prompt": [text("x")]})),
    ];
    for (method, mut params) in more {
        params["sessionId"] = id.into();
        client.refused(method, params, -32002)?;
    }
    client
        .call("session/delete", json!({ "sessionId": id }))
        .map(drop)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// Requests that are right, each with a text of the user's in it, and a member of theirs that they need.
fn members(stage: &Stage, session: &str) -> Vec<(&'static str, Value, String)> {
    let (id, cwd) = (session, stage.workspace());
    let requests = [
        ("session/new", json!({"cwd": cwd, "mcpServers": []})),
        (
            "session/load",
            json!({"sessionId": id, "cwd": cwd, "mcpServers": []}),
        ),
        (
            "session/fork",
            json!({"sessionId": id, "cwd": cwd, "mcpServers": []}),
        ),
        ("session/close", json!({"sessionId": id})),
        ("session/delete", json!({"sessionId": id})),
        (
            "session/set_title",
            json!({"sessionId": id, "title": "hunter2"}),
        ),
        (
            "session/set_mode",
            json!({"sessionId": id, "modeId": "ask"}),
        ),
        (
            "session/prompt",
            json!({"sessionId": id, "prompt": [text("hunter2")]}),
        ),
    ];
    let each = requests.into_iter().flat_map(|(method, params)| {
        let names: Vec<String> = params
            .as_object()
            .into_iter()
            .flat_map(|it| it.keys().cloned())
            .collect();
        names
            .into_iter()
            .map(move |name| (method, params.clone(), name))
    });
    each.filter(|(_, _, name)| name != "mcpServers").collect()
}

fn missing_field(stage: &Stage) -> Step {
    let (mut client, session) = stage.agent(&Script::asks(&[]))?;
    for (method, mut params, name) in members(stage, &session) {
        params.as_object_mut().map(|it| it.remove(&name));
        client.refused(method, params, -32602)?;
    }
    Ok(())
}

fn wrong_field(stage: &Stage) -> Step {
    let (mut client, session) = stage.agent(&Script::asks(&[]))?;
    for (method, mut params, name) in members(stage, &session) {
        params[name] = json!({"hunter2": ["hunter2"]});
        let error = client.refused(method, params, -32602)?;
        check(
            !error.message.contains("hunter2"),
            format!("`{method}` repeats what it was sent: {}", error.message),
        )?;
    }
    Ok(())
}
