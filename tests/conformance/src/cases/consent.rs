//! What the user approved for good, and what trust in a workspace would change.

use serde_json::{Value, json};

use super::completes;
use crate::{
    Failure, Step, check,
    client::{Client, answer},
    same,
    script::{Script, call},
    stage::Stage,
    wire::AnswerType,
};

cases! {
    approvals_of_a_new_workspace: "In a new workspace nothing is approved for good, and revoking an approval that does not exist is refused with -32602, which names the field.";
    approval_kept_and_revoked: "What a person allows with `always` is listed with what was shown and is asked about no more; once it is revoked it is asked about again.";
    preview_before_trust: "The preview of a workspace has each command that it could start, whole, and trust is given to that preview alone: once the workspace changed, it is refused with -32602.";
}

fn approvals_of_a_new_workspace(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::default())?;
    let listed = client.call("aside/approval/list", json!({}))?;
    same("what is approved already", &listed["items"], &json!([]))?;
    let params = json!({"approvalId": "no-such-approval"});
    let error = client.refused("aside/approval/revoke", params, -32602)?;
    check(
        error.message.contains("approvalId"),
        format!("the error does not name `approvalId`: {}", error.message),
    )
}

const RAN: &str = "The model was told that it ran.";
const NOT_ALLOWED: &str = "The model was told that it may not.";

fn approvals(client: &mut Client) -> Step<Vec<Value>> {
    let listed = client.call("aside/approval/list", json!({}))?;
    let items = listed["items"].as_array().cloned();
    items.ok_or_else(|| Failure(format!("there are no items in {listed}")))
}

fn approval_kept_and_revoked(stage: &Stage) -> Step {
    let script = Script::says(&[call("run_command", &json!({"command": "echo oats"}))])
        .told("Exit status 0.", RAN)
        .told("The user did not allow run_command to run.", NOT_ALLOWED);
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    let AnswerType::Select { options } = &shown.prompt.answer_type else {
        return Err(Failure(format!("it is {:?}", shown.prompt.answer_type)));
    };
    check(
        options.iter().any(|option| option == "always"),
        format!("`always` is not among {options:?}"),
    )?;
    client.reply(&shown, answer("always"));
    completes(&mut client, &turn, RAN)?;
    let kept = approvals(&mut client)?;
    let [approval] = kept.as_slice() else {
        return Err(Failure(format!("{} approvals are kept", kept.len())));
    };
    check(
        approval["tool"] == "run_command" && approval["text"] == "echo oats",
        format!("what was approved is not what was shown: {approval}"),
    )?;
    let again = client.ask("Go")?;
    completes(&mut client, &again, RAN)?;
    super::nothing_is_shown(&mut client, "though it was allowed for good")?;
    let params = json!({"approvalId": approval["approvalId"]});
    client.call("aside/approval/revoke", params)?;
    check(
        approvals(&mut client)?.is_empty(),
        "the approval is kept after it was revoked",
    )?;
    let last = client.ask("Go")?;
    let shown = client.prompt()?;
    client.reply(&shown, answer("no"));
    completes(&mut client, &last, NOT_ALLOWED).map(drop)
}

fn preview(stage: &Stage, client: &mut Client) -> Step<Value> {
    client.call("aside/workspace/preview", json!({"folder": stage.uri("")}))
}

fn preview_before_trust(stage: &Stage) -> Step {
    let file = stage.workspace().join("aside.toml");
    std::fs::write(
        &file,
        "conversation.tools.lint.command = ['sh', 'lint.sh']\n",
    )?;
    let mut client = stage.with(&Script::default())?;
    let shown = preview(stage, &mut client)?;
    check(shown["trusted"] == false, "a new workspace is trusted")?;
    let lint = json!([{"kind": "tool", "name": "lint", "command": ["sh", "lint.sh"]}]);
    same("what could be started", &shown["starts"], &lint)?;
    let trust = |shown: &Value| {
        let folder = stage.uri("");
        json!({"folder": folder, "trusted": true, "fingerprint": shown["fingerprint"]})
    };
    std::fs::write(
        &file,
        "conversation.tools.lint.command = ['sh', 'other.sh']\n",
    )?;
    client.refused("aside/workspace/trust", trust(&shown), -32602)?;
    let shown = preview(stage, &mut client)?;
    check(shown["trusted"] == false, "what was refused was trusted")?;
    client.call("aside/workspace/trust", trust(&shown))?;
    check(
        preview(stage, &mut client)?["trusted"] == true,
        "what was trusted is not",
    )
}
