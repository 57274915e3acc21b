//! The beginning and the end of a session.

use serde_json::{Value, json};

use super::completes;
use crate::{
    Step, check,
    client::{Knows, answer},
    script::{Ask, Script, TOLD_YES},
    stage::Stage,
};

cases! {
    initialize: "`initialize` is answered with version 1 and the capabilities of the contract.";
    newer_client: "A client of version 7 is answered with version 1: the lower of both.";
    before_initialize: "A request before `initialize` is refused with -32002, and `initialize` works afterwards.";
    unknown_method: "A method that does not exist is refused with -32601.";
    unknown_field: "Fields that the server does not know are ignored.";
    shutdown: "`shutdown` is answered with null, and `exit` ends the process.";
}

fn initialize(stage: &Stage) -> Step {
    stage.script(&Script::asks(&[]))?;
    let mut client = stage.start()?;
    let result = client.handshake(&stage.initialize(Knows::Aside))?;
    let capabilities = &result["capabilities"];
    let has = |holds: bool, what: &str| {
        check(
            holds,
            format!("the capabilities have no {what}: {capabilities}"),
        )
    };
    let aside = &capabilities["experimental"]["aside"];
    has(aside["version"] == 1, "`experimental.aside.version` 1")?;
    has(aside["server"].is_string(), "`experimental.aside.server`")?;
    let sync = &capabilities["textDocumentSync"];
    has(sync["change"] == 2, "incremental `textDocumentSync.change`")?;
    has(sync["openClose"] == true, "`textDocumentSync.openClose`")?;
    has(offered(&sync["save"]), "`textDocumentSync.save`")?;
    has(
        offered(&capabilities["codeActionProvider"]),
        "`codeActionProvider`",
    )?;
    has(
        capabilities["workspace"]["workspaceFolders"]["supported"] == true,
        "`workspace.workspaceFolders`",
    )?;
    has(
        capabilities["positionEncoding"] == "utf-8",
        "`positionEncoding` utf-8, which the client offers",
    )?;
    let commands = capabilities["executeCommandProvider"]["commands"].as_array();
    for name in ["ask", "cancel", "answer", "undo", "resume", "transcript"] {
        let name = format!("aside.server.{name}");
        has(
            commands.is_some_and(|commands| commands.contains(&json!(name))),
            &format!("command `{name}`"),
        )?;
    }
    Ok(())
}

fn offered(capability: &Value) -> bool {
    capability.is_object() || capability == true
}

fn newer_client(stage: &Stage) -> Step {
    stage.script(&Script::asks(&[]))?;
    let mut client = stage.start()?;
    let mut params = stage.initialize(Knows::Aside);
    params["capabilities"]["experimental"]["aside"]["version"] = json!(7);
    let result = client.handshake(&params)?;
    let version = &result["capabilities"]["experimental"]["aside"]["version"];
    check(*version == 1, format!("the version is {version}"))
}

fn before_initialize(stage: &Stage) -> Step {
    stage.script(&Script::asks(&[]))?;
    let mut client = stage.start()?;
    client.refused("aside/prompt/pending", json!({}), -32002)?;
    client.refused("aside/turn/start", json!({"message": "Go"}), -32002)?;
    client.handshake(&stage.initialize(Knows::Aside))?;
    client.pending().map(drop)
}

fn unknown_method(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[]))?;
    client.refused("aside/turn/rewind", json!({}), -32601)?;
    client.refused("textDocument/unheardOf", json!({}), -32601)?;
    client.pending().map(drop)
}

fn unknown_field(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let turn = client.turn(json!({"message": "Go", "mood": "bright", "extra": {"deep": [1]}}))?;
    let shown = client.prompt()?;
    let mut result = answer(true);
    result["mood"] = json!("bright");
    client.reply(&shown, result);
    completes(&mut client, &turn, TOLD_YES).map(drop)
}

fn shutdown(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[]))?;
    client.leave()
}
