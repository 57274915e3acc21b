//! What the user approved for good, and what trust in a workspace would change.

use serde_json::{Value, json};

use super::Case;
use crate::{Step, check, client::Client, script::Script, stage::Stage};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "approvals_of_a_new_workspace",
        sentence: "In a new workspace nothing is approved for good, and revoking an approval that does not exist is refused with -32602, which names the field.",
        play: approvals_of_a_new_workspace,
    },
    Case {
        name: "preview_before_trust",
        sentence: "The preview of a workspace has each command that it could start, whole, and trust is given to that preview alone: once the workspace changed, it is refused with -32602.",
        play: preview_before_trust,
    },
];

fn approvals_of_a_new_workspace(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::default())?;
    let listed = client.call("aside/approval/list", json!({}))?;
    check(
        listed["items"] == json!([]),
        format!("something is approved already: {listed}"),
    )?;
    let params = json!({"approvalId": "no-such-approval"});
    let error = client.refused("aside/approval/revoke", params, -32602)?;
    check(
        error.message.contains("approvalId"),
        format!("the error does not name `approvalId`: {}", error.message),
    )
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
    check(
        shown["starts"] == lint,
        format!("what could be started is {}", shown["starts"]),
    )?;
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
