//! The client goes away, at every step of a dialogue; another server then finds what the first left.
//!
//! A client that goes away decides nothing: what was open stays open, under the same ids, until the turn is resumed
//! and a person answers.

use serde_json::json;

use super::{completes, is_on_record, turns_of};
use crate::{
    Failure, Step, check,
    client::{Client, Knows, Message, Turn, answer, closing, notification},
    same,
    script::{Ask, Script, TOLD_YES},
    stage::Stage,
    wire::{ConversationStatus, ListItem, ListResult, Outcome, TurnCompleted, Update},
};

cases! {
    vanish_before_initialize: "The server ends when its input ends, though nobody ever spoke.";
    vanish_in_a_message: "The server ends when its input ends in the middle of a message.";
    vanish_before_initialized: "The server ends when its input ends between `initialize` and `initialized`.";
    vanish_at_the_start: "A turn that was started and left at once is not there, or can be brought to its end by the next process.";
    vanish_at_the_prompt: "A prompt whose client vanished is pending in the next process as resumable, under its id; resumed it is shown, answered it completes.";
    vanish_between_prompts: "Of two prompts one was answered: only the other is asked again, and both answers are on record.";
    vanish_after_the_answer: "An answer that was sent before the client vanished is counted, or its prompt is open still: never anything else.";
    vanish_after_completed: "A turn that was completed before the client vanished is completed in the next process, and nothing is pending.";
    vanish_twice: "A resumed prompt whose client vanishes again is pending again, under the same id.";
    exit_at_the_prompt: "`exit` without `shutdown` at an open prompt is as vanishing.";
    resume_first: "`aside/prompt/answer` for a resumable prompt is refused with -32012 until its turn is resumed.";
}

fn script() -> Script {
    Script::asks(&[Ask::boolean("Ship it?")])
}

fn vanish_before_initialize(stage: &Stage) -> Step {
    stage.script(&script())?;
    stage.start()?.vanish()
}

fn vanish_in_a_message(stage: &Stage) -> Step {
    let mut client = stage.with(&script())?;
    stage.gives_reason_to_complain();
    client.send_bytes(b"Content-Length: 100\r\n\r\n{\"jsonrpc\":");
    client.vanish()
}

fn vanish_before_initialized(stage: &Stage) -> Step {
    stage.script(&script())?;
    let mut client = stage.start()?;
    client.call("initialize", stage.initialize(Knows::Aside))?;
    client.vanish()
}

/// Starts a turn and lets its prompt be shown; gives the prompt's id.
fn to_the_prompt(client: &mut Client) -> Step<(Turn, String)> {
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    Ok((turn, shown.prompt.prompt_id))
}

/// The prompt was settled by nobody: the server may say that the turn is interrupted, and nothing else.
fn nothing_was_decided(client: &mut Client, prompt: &str) -> Step {
    let completed =
        client.take(&|message: &_| notification::<TurnCompleted>(message, "aside/turn/completed"));
    if let Some(completed) = completed {
        same(
            "the outcome of a vanished client's turn",
            &completed.outcome,
            &Outcome::Interrupted,
        )?;
    }
    let closed = client.take(&|message: &_| closing(message).filter(|end| end.prompt_id == prompt));
    check(
        closed.is_none(),
        format!("the prompt of a vanished client was closed: {closed:?}"),
    )
}

/// The one prompt that is pending has to be this one, resumable, in an interrupted conversation.
fn is_resumable(client: &mut Client, prompt: &str) -> Step {
    let pending = client.pending()?;
    let found: Vec<_> = pending
        .iter()
        .map(|open| (open.prompt_id.as_str(), open.resumable))
        .collect();
    same("what is pending", &found, &[(prompt, Some(true))])?;
    let item = only_conversation(client)?;
    check(
        item.status == ConversationStatus::Interrupted && item.prompts == 1,
        format!(
            "the conversation is listed as {:?} with {} prompts",
            item.status, item.prompts
        ),
    )
}

fn conversations(client: &mut Client) -> Step<Vec<ListItem>> {
    let result: ListResult = client.get("aside/conversation/list", json!({}))?;
    Ok(result.items)
}

fn only_conversation(client: &mut Client) -> Step<ListItem> {
    let mut items = conversations(client)?;
    match (items.pop(), items.len()) {
        (Some(item), 0) => Ok(item),
        (item, more) => {
            let count = more + usize::from(item.is_some());
            Err(Failure(format!(
                "{count} conversations are listed where 1 was due"
            )))
        }
    }
}

/// Resumes, answers what is shown under this id, and sees the turn complete.
fn resumes(client: &mut Client, turn: &Turn, prompt: &str) -> Step {
    client.resume(turn)?;
    let shown = client.prompt()?;
    same(
        "the prompt of the resumed turn",
        &shown.prompt.prompt_id,
        &prompt,
    )?;
    client.reply(&shown, answer(true));
    completes(client, turn, TOLD_YES).map(drop)
}

fn vanish_at_the_prompt(stage: &Stage) -> Step {
    let mut client = stage.with(&script())?;
    let (turn, prompt) = to_the_prompt(&mut client)?;
    client.vanish()?;
    nothing_was_decided(&mut client, &prompt)?;
    let mut client = stage.again()?;
    is_resumable(&mut client, &prompt)?;
    check(
        client.shown().is_none(),
        "the prompt is shown before its turn is resumed",
    )?;
    resumes(&mut client, &turn, &prompt)?;
    check(
        client.pending()?.is_empty(),
        "the prompt is still pending after it was answered",
    )
}

fn exit_at_the_prompt(stage: &Stage) -> Step {
    let mut client = stage.with(&script())?;
    let (turn, prompt) = to_the_prompt(&mut client)?;
    client.notify("exit", serde_json::Value::Null);
    client.ended()?;
    nothing_was_decided(&mut client, &prompt)?;
    let mut client = stage.again()?;
    is_resumable(&mut client, &prompt)?;
    resumes(&mut client, &turn, &prompt)
}

fn vanish_twice(stage: &Stage) -> Step {
    let mut client = stage.with(&script())?;
    let (turn, prompt) = to_the_prompt(&mut client)?;
    client.vanish()?;
    let mut client = stage.again()?;
    client.resume(&turn)?;
    let shown = client.prompt()?;
    same(
        "the prompt of the resumed turn",
        &shown.prompt.prompt_id,
        &prompt,
    )?;
    client.vanish()?;
    nothing_was_decided(&mut client, &prompt)?;
    let mut client = stage.again()?;
    is_resumable(&mut client, &prompt)?;
    resumes(&mut client, &turn, &prompt)
}

fn resume_first(stage: &Stage) -> Step {
    let mut client = stage.with(&script())?;
    let (turn, prompt) = to_the_prompt(&mut client)?;
    client.vanish()?;
    let mut client = stage.again()?;
    let params = json!({"promptId": prompt, "answer": answer(true)});
    client.refused("aside/prompt/answer", params, -32012)?;
    client.resume(&turn)?;
    client.prompt()?;
    client.answer_elsewhere(&prompt, answer(true))?;
    completes(&mut client, &turn, TOLD_YES).map(drop)
}

fn vanish_between_prompts(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::text("Which name?"), Ask::boolean("Ship it?")]);
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let (name, ship) = (client.prompt()?, client.prompt()?);
    let (named, open) = (name.prompt.prompt_id.clone(), ship.prompt.prompt_id.clone());
    client.reply(&name, answer("oat"));
    check(
        client.settled(&named)?.is_answer(&json!("oat")),
        "the first answer was not counted",
    )?;
    client.vanish()?;
    nothing_was_decided(&mut client, &open)?;
    let mut client = stage.again()?;
    is_resumable(&mut client, &open)?;
    resumes(&mut client, &turn, &open)?;
    check(
        client.shown().is_none(),
        "the answered prompt is shown again",
    )?;
    let turns = turns_of(&mut client, &turn.conversation)?;
    check(
        is_on_record(&turns, &named, &json!("oat")),
        "the first answer is not on record after the resume",
    )
}

/// Brings the one conversation to its end, whatever state it was left in.
fn goes_on(client: &mut Client) -> Step {
    let item = only_conversation(client)?;
    if item.status == ConversationStatus::Interrupted {
        let turns = turns_of(client, &item.conversation_id)?;
        let Some(last) = turns.last() else {
            return Err("an interrupted conversation has no turn".into());
        };
        let turn = Turn {
            conversation: item.conversation_id.clone(),
            turn: last.turn_id.clone(),
        };
        client.resume(&turn)?;
        if let Some(shown) = client.prompt_or_end(&turn)? {
            client.reply(&shown, answer(true));
            client.completed(&turn)?;
        }
    }
    let turns = turns_of(client, &item.conversation_id)?;
    let outcomes: Vec<_> = turns.iter().map(|turn| turn.outcome).collect();
    same(
        "the outcomes on record",
        &outcomes,
        &[Some(Outcome::Completed)],
    )?;
    let mut updates = turns.iter().flat_map(|turn| &turn.updates);
    check(
        updates.any(|update| matches!(update, Update::Text { text, .. } if text == TOLD_YES)),
        "the turn is completed, but the model was not told the answer",
    )
}

fn vanish_at_the_start(stage: &Stage) -> Step {
    let mut client = stage.with(&script())?;
    let id = client.request("aside/turn/start", json!({"message": "Go"}));
    client.vanish()?;
    let promised = client.take(&|message: &_| match message {
        Message::Response(to, Ok(_)) if *to == id => Some(()),
        _ => None,
    });
    let mut client = stage.again()?;
    // What was not answered may have been lost, but not in part.
    if promised.is_none() && conversations(&mut client)?.is_empty() {
        return Ok(());
    }
    goes_on(&mut client)
}

fn vanish_after_the_answer(stage: &Stage) -> Step {
    let mut client = stage.with(&script())?;
    client.ask("Go")?;
    let shown = client.prompt()?;
    client.reply(&shown, answer(true));
    client.vanish()?;
    goes_on(&mut stage.again()?)
}

fn vanish_after_completed(stage: &Stage) -> Step {
    let mut client = stage.with(&script())?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    client.reply(&shown, answer(true));
    completes(&mut client, &turn, TOLD_YES)?;
    client.vanish()?;
    let mut client = stage.again()?;
    check(
        client.pending()?.is_empty(),
        "a prompt of a completed turn is pending",
    )?;
    let item = only_conversation(&mut client)?;
    same("the status", &item.status, &ConversationStatus::Idle)?;
    let turns = turns_of(&mut client, &turn.conversation)?;
    let outcomes: Vec<_> = turns.iter().map(|turn| turn.outcome).collect();
    same(
        "the outcomes on record",
        &outcomes,
        &[Some(Outcome::Completed)],
    )
}
