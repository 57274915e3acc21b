//! Prompts of kind `runTool`: nothing runs before a person said so.

use serde_json::{Value, json};

use super::{cancel, completes, ends};
use crate::{
    Failure, Step, check,
    client::{Client, Shown, Turn, answer},
    same,
    script::{Script, call},
    stage::Stage,
    wire::{AnswerType, CallStatus, Outcome, Preview, PromptKind, Status, Update},
};

cases! {
    permission_once: "An edit is asked for with its diff, is made after `once`, not before, and is told as `toolCall`, `edit` and `toolResult`.";
    permission_no: "After `no` the file is not there, the call is told as `denied`, and the model is told.";
    permission_new_text: "An edit that the person changed is made with the person's text.";
    permission_error: "A JSON-RPC error is not a permission: nothing is written.";
    permission_null: "Null is not a permission, however often it comes: nothing is written.";
    permission_late: "A permission that comes after its turn was cancelled writes nothing.";
}

pub(super) const WRITTEN: &str = "The model was told that it is written.";
pub(super) const NOT_ALLOWED: &str = "The model was told that it may not.";
pub(super) const NOT_SHOWN: &str = "The model was told that nobody saw it.";

/// A model that writes a file, and says what it was told.
pub(super) fn note_script() -> Script {
    let arguments = json!({"path": "note.txt", "content": "oat milk\n"});
    Script::says(&[call("write_file", &arguments)])
        .told("note.txt", WRITTEN)
        .told("The user did not allow write_file to run.", NOT_ALLOWED)
        .told("the prompt could not be shown", NOT_SHOWN)
}

fn note(stage: &Stage) -> Step<(Client, Turn, Shown)> {
    let mut client = stage.with(&note_script())?;
    let turn = client.turn(json!({"message": "Go", "mode": "ask"}))?;
    let shown = client.prompt()?;
    Ok((client, turn, shown))
}

pub(super) fn is_written(stage: &Stage, text: Option<&str>) -> Step {
    let found = std::fs::read_to_string(stage.workspace().join("note.txt")).ok();
    same("the file", &found.as_deref(), &text)
}

fn permission_once(stage: &Stage) -> Step {
    let (mut client, turn, shown) = note(stage)?;
    let prompt = &shown.prompt;
    same("the kind", &prompt.kind, &PromptKind::RunTool)?;
    let options = ["once", "turn", "no"].map(str::to_owned).to_vec();
    same(
        "the type",
        &prompt.answer_type,
        &AnswerType::Select { options },
    )?;
    let Some(Preview::Diff { uri, old, new, .. }) = &prompt.preview else {
        return Err(Failure(format!(
            "the preview is no diff: {:?}",
            prompt.preview
        )));
    };
    check(uri.ends_with("/note.txt"), format!("the diff is of {uri}"))?;
    check(
        old.is_empty() && new == "oat milk\n",
        "the diff is not that of the call",
    )?;
    is_written(stage, None)?;
    client.reply(&shown, answer("once"));
    let call = &shown.prompt.tool.call_id;
    client.update(&turn, "the call's update `running`", |update| {
        matches!(update, Update::ToolCall { call_id, status: CallStatus::Running, .. } if call_id == call)
    })?;
    client.update(&turn, "the update `edit` of the file", |update| {
        matches!(update, Update::Edit { call_id, changes } if call_id == call
            && matches!(changes.as_slice(), [change] if change.uri.ends_with("/note.txt")))
    })?;
    client.update(&turn, "the call's result `ok`", |update| {
        matches!(update, Update::ToolResult { call_id, status: Status::Ok, .. } if call_id == call)
    })?;
    completes(&mut client, &turn, WRITTEN)?;
    is_written(stage, Some("oat milk\n"))
}

fn permission_no(stage: &Stage) -> Step {
    let (mut client, turn, shown) = note(stage)?;
    client.reply(&shown, answer("no"));
    let call = &shown.prompt.tool.call_id;
    client.update(&turn, "the call's result `denied`", |update| {
        matches!(update, Update::ToolResult { call_id, status: Status::Denied, .. } if call_id == call)
    })?;
    completes(&mut client, &turn, NOT_ALLOWED)?;
    is_written(stage, None)
}

fn permission_new_text(stage: &Stage) -> Step {
    let (mut client, turn, shown) = note(stage)?;
    client.reply(
        &shown,
        json!({"action": "answer", "answer": "once", "newText": "soy milk\n"}),
    );
    ends(&mut client, &turn, Outcome::Completed)?;
    is_written(stage, Some("soy milk\n"))
}

fn permission_error(stage: &Stage) -> Step {
    let (mut client, turn, shown) = note(stage)?;
    client.reply_error(&shown, "the window is gone");
    completes(&mut client, &turn, NOT_SHOWN)?;
    is_written(stage, None)
}

fn permission_null(stage: &Stage) -> Step {
    let (mut client, turn, mut shown) = note(stage)?;
    loop {
        client.reply(&shown, Value::Null);
        match client.prompt_or_end(&turn)? {
            Some(again) => shown = again,
            None => return is_written(stage, None),
        }
    }
}

fn permission_late(stage: &Stage) -> Step {
    let (mut client, turn, shown) = note(stage)?;
    cancel(&mut client, &turn)?;
    ends(&mut client, &turn, Outcome::Cancelled)?;
    client.reply(&shown, answer("once"));
    client.leave()?;
    is_written(stage, None)
}
