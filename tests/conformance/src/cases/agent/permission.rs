//! Permissions: nothing runs before a person said so.

use std::path::Path;

use serde_json::{Value, json};

use super::super::permission::{NOT_ALLOWED, NOT_SHOWN, WRITTEN, is_written, note_script};
use crate::{
    Step, check,
    client::{Asked, Client},
    same,
    stage::Stage,
};

cases! {
    permission_once: "An edit is asked for with its diff and one option of each kind, is made after `once`, not before, and is told as pending, running and completed.";
    permission_no: "After `no` the file is not there, the call has failed, and the model is told.";
    permission_unknown: "An option that was not offered is a no.";
    permission_twice: "Of two answers to a permission the first counts: nothing is written after a no.";
    permission_cancelled: "The outcome `cancelled` of a prompt that is not is a person's no.";
    permission_error: "A JSON-RPC error is not a permission: nothing is written.";
    permission_null: "Null is not a permission, however often it comes: nothing is written.";
    permission_late: "A permission that comes after its prompt was cancelled writes nothing.";
}

fn note(stage: &Stage) -> Step<(Client, String, i64, Asked)> {
    let (mut client, session) = stage.agent(&note_script())?;
    let prompt = client.say(&session, "Go");
    let asked = client.asked()?;
    check(!asked.is_form, "a form came where a permission was due")?;
    Ok((client, session, prompt, asked))
}

fn permission_once(stage: &Stage) -> Step {
    let (mut client, session, prompt, asked) = note(stage)?;
    let options = asked.params["options"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let kinds: Vec<_> = options.iter().map(|it| it["kind"].clone()).collect();
    same(
        "the options",
        &kinds,
        &["allow_once", "allow_always", "reject_once"],
    )?;
    let call = &asked.params["toolCall"];
    let diff = &call["content"][0];
    check(
        diff["type"] == "diff"
            && diff["oldText"].is_null()
            && diff["newText"] == "oat milk\n"
            && diff["path"]
                .as_str()
                .is_some_and(|path| Path::new(path).ends_with("note.txt")),
        format!("the diff is {diff}"),
    )?;
    is_written(stage, None)?;
    let id = &call["toolCallId"];
    let running = client.take(&|message: &_| match message {
        crate::client::Message::Notification(_, params) => {
            let update = &params["update"];
            (update["toolCallId"] == *id && update["status"] == "in_progress").then_some(())
        }
        _ => None,
    });
    check(running.is_none(), "the call runs before it may")?;
    client.choose(&asked, "once");
    for status in ["in_progress", "completed"] {
        client.told(&session, "tool_call_update", |it| {
            it["toolCallId"] == *id && it["status"] == status
        })?;
    }
    client.completes(&session, prompt, WRITTEN)?;
    is_written(stage, Some("oat milk\n"))
}

/// Nothing is written, and the model is told so.
fn answered(stage: &Stage, answer: fn(&mut Client, &Asked), told: &str) -> Step {
    let (mut client, session, prompt, asked) = note(stage)?;
    answer(&mut client, &asked);
    client.told(&session, "tool_call_update", |it| it["status"] == "failed")?;
    client.completes(&session, prompt, told)?;
    is_written(stage, None)
}

fn permission_cancelled(stage: &Stage) -> Step {
    let (mut client, _, prompt, asked) = note(stage)?;
    client.respond(&asked.request, json!({"outcome": {"outcome": "cancelled"}}));
    let reason = client.stopped(prompt)?;
    same("the stop reason", &reason, &"end_turn")?;
    is_written(stage, None)
}

fn permission_null(stage: &Stage) -> Step {
    let (mut client, _, prompt, mut asked) = note(stage)?;
    loop {
        client.respond(&asked.request, Value::Null);
        match client.asked_or_end(prompt)? {
            Ok(again) => asked = again,
            Err(_) => return is_written(stage, None),
        }
    }
}

fn permission_late(stage: &Stage) -> Step {
    let (mut client, session, prompt, asked) = note(stage)?;
    client.cancel(&session);
    client.is_cancelled(prompt)?;
    client.withdrawn(&asked)?;
    client.choose(&asked, "once");
    client.vanish()?;
    is_written(stage, None)
}

fn permission_no(stage: &Stage) -> Step {
    answered(
        stage,
        |client, asked| client.choose(asked, "no"),
        NOT_ALLOWED,
    )
}

fn permission_unknown(stage: &Stage) -> Step {
    answered(
        stage,
        |client, asked| client.choose(asked, "always"),
        NOT_ALLOWED,
    )
}

fn permission_twice(stage: &Stage) -> Step {
    let twice = |client: &mut Client, asked: &Asked| {
        client.choose(asked, "no");
        client.choose(asked, "once");
    };
    answered(stage, twice, NOT_ALLOWED)
}

fn permission_error(stage: &Stage) -> Step {
    let fails = |client: &mut Client, asked: &Asked| {
        client.respond_error(&asked.request, "the window is gone");
    };
    answered(stage, fails, NOT_SHOWN)
}
