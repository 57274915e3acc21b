//! Requests of the client's that are wrong: each is answered with the error of the contract and changes nothing.

use serde_json::{Value, json};

use super::completes;
use crate::{
    Step, check,
    client::{Client, answer},
    script::{Ask, Script, TOLD_YES},
    stage::Stage,
};

cases! {
    unknown_prompt: "`aside/prompt/answer` for a prompt that does not exist is refused with -32012.";
    unknown_turn: "A turn that does not exist is refused with -32011, by `cancel`, `steer` and `undo`.";
    unknown_conversation: "A conversation that does not exist is refused with -32010, by every method that takes one.";
    unfit_prompt_answer: "An unfit `aside/prompt/answer` is refused with -32602, counts for nothing, and the prompt stays open.";
    missing_field: "A request without a field that it needs is refused with -32602, which names the field.";
    wrong_field: "A field of the wrong type is refused with -32602, which names the field.";
    second_turn: "A second turn in a conversation whose turn runs is refused with -32013, and the first goes on.";
}

fn unknown_prompt(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[]))?;
    let params = json!({"promptId": "no-such-prompt", "answer": answer(true)});
    client
        .refused("aside/prompt/answer", params, -32012)
        .map(drop)
}

fn unknown_turn(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[]))?;
    client.refused(
        "aside/turn/cancel",
        json!({"turnId": "no-such-turn"}),
        -32011,
    )?;
    client.refused(
        "aside/turn/steer",
        json!({"turnId": "no-such-turn", "message": "Go on"}),
        -32011,
    )?;
    client
        .refused("aside/turn/undo", json!({"turnId": "no-such-turn"}), -32011)
        .map(drop)
}

fn unknown_conversation(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[]))?;
    for (method, more) in [
        ("aside/conversation/read", json!({})),
        ("aside/conversation/transcript", json!({})),
        ("aside/conversation/ledger", json!({})),
        ("aside/conversation/fork", json!({})),
        ("aside/conversation/rename", json!({"title": "New"})),
        ("aside/conversation/delete", json!({})),
        ("aside/turn/resume", json!({})),
        ("aside/turn/start", json!({"message": "Go"})),
    ] {
        let mut params = more;
        params["conversationId"] = json!("no-such-conversation");
        client.refused(method, params, -32010)?;
    }
    Ok(())
}

fn unfit_prompt_answer(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    let id = &shown.prompt.prompt_id;
    // More often than a reply may be unfit: none of them counts.
    for unfit in [
        answer("yes"),
        answer(Value::Null),
        json!({"action": "agree"}),
        json!({"action": "answer"}),
    ] {
        client.refused(
            "aside/prompt/answer",
            json!({"promptId": id, "answer": unfit}),
            -32602,
        )?;
        let pending = client.pending()?;
        check(
            pending.iter().any(|prompt| prompt.prompt_id == *id),
            "the prompt did not stay open",
        )?;
    }
    client.reply(&shown, answer(true));
    completes(&mut client, &turn, TOLD_YES).map(drop)
}

fn missing_field(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[]))?;
    for (method, params, field) in [
        ("aside/turn/start", json!({}), "message"),
        ("aside/turn/steer", json!({"turnId": "t"}), "message"),
        ("aside/turn/steer", json!({"message": "Go on"}), "turnId"),
        ("aside/turn/cancel", json!({}), "turnId"),
        ("aside/turn/resume", json!({}), "conversationId"),
        ("aside/conversation/read", json!({}), "conversationId"),
        (
            "aside/prompt/answer",
            json!({"answer": answer(true)}),
            "promptId",
        ),
        ("aside/prompt/answer", json!({"promptId": "p"}), "answer"),
    ] {
        names(&mut client, method, params, field)?;
    }
    Ok(())
}

fn wrong_field(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[]))?;
    for (method, params, field) in [
        ("aside/turn/start", json!({"message": 1}), "message"),
        (
            "aside/turn/start",
            json!({"message": "Go", "mode": "reckless"}),
            "mode",
        ),
        ("aside/turn/cancel", json!({"turnId": ["t"]}), "turnId"),
        (
            "aside/conversation/read",
            json!({"conversationId": {}}),
            "conversationId",
        ),
    ] {
        names(&mut client, method, params, field)?;
    }
    Ok(())
}

fn names(client: &mut Client, method: &str, params: Value, field: &str) -> Step {
    let error = client.refused(method, params, -32602)?;
    check(
        error.message.contains(field),
        format!(
            "the error of `{method}` does not name `{field}`: {}",
            error.message
        ),
    )
}

fn second_turn(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    let params = json!({"conversationId": turn.conversation, "message": "Go faster"});
    client.refused("aside/turn/start", params, -32013)?;
    client.reply(&shown, answer(true));
    completes(&mut client, &turn, TOLD_YES).map(drop)
}
