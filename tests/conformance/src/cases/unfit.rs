//! Replies to `aside/prompt` that do not fit.

use serde_json::{Value, json};

use super::{
    answers::{counts, ship_it},
    completes,
};
use crate::{
    Failure, Step, check,
    client::{Client, Shown, answer, closing, notification, shown, update},
    same,
    script::{Ask, Script, TOLD_NOT_SHOWN, TOLD_YES},
    stage::Stage,
    wire::{Reason, Settled, TurnCompleted, Update},
};

cases! {
    answer_null: "The result null is no answer: in the end the prompt is closed as `backend_error`.";
    wrong_type: "A boolean answered with a string is shown again with a notice, at most twice, then closed as `backend_error`.";
    unknown_option: "An option that does not exist is not taken; the prompt is shown again under the same id and can be answered.";
    unknown_action: "An action that does not exist is no answer: in the end the prompt is closed as `backend_error`.";
    answer_missing: "An `answer` without its value is no answer: in the end the prompt is closed as `backend_error`.";
    fits_at_last: "After two answers that do not fit, the third still counts.";
}

/// What follows an answer that does not fit.
enum Next {
    Again(Box<Shown>),
    Closed(Settled),
    Ended,
}

fn next(client: &mut Client) -> Step<Next> {
    client.wait("the prompt once more, or its closing", |message| {
        if let Some(shown) = shown(message) {
            return Some(Next::Again(Box::new(shown)));
        }
        if notification::<TurnCompleted>(message, "aside/turn/completed").is_some() {
            return Some(Next::Ended);
        }
        closing(message).map(Next::Closed)
    })
}

/// Replies with this each time that the prompt is shown; it may be shown three times, under one id.
fn insists(stage: &Stage, reply: &Value) -> Step<Client> {
    let (mut client, turn) = ship_it(stage)?;
    let mut shown = client.prompt()?;
    let id = shown.prompt.prompt_id.clone();
    for _ in 0..3 {
        unhurried(&mut client)?;
        client.reply(&shown, reply.clone());
        match next(&mut client)? {
            Next::Again(again) => shown = *again,
            Next::Closed(settled) => {
                check(
                    settled.is_cancelled(&Reason::BackendError),
                    format!("{reply} closed the prompt with {settled:?}"),
                )?;
                completes(&mut client, &turn, TOLD_NOT_SHOWN)?;
                return Ok(client);
            }
            Next::Ended => return Err("the turn ended and the prompt was not closed".into()),
        }
        same(
            "the prompt that is shown again",
            &shown.prompt.prompt_id,
            &id,
        )?;
    }
    Err(Failure(format!(
        "after {reply} the prompt was shown more than twice again"
    )))
}

fn answer_null(stage: &Stage) -> Step {
    insists(stage, &Value::Null).map(drop)
}

fn wrong_type(stage: &Stage) -> Step {
    let mut client = insists(stage, &answer("yes"))?;
    let notice = client.take(&|message: &_| match update(message)?.1 {
        Update::Notice { text, .. } => Some(text),
        _ => None,
    });
    check(
        notice.is_some(),
        "no notice says that the answer was not taken",
    )
}

fn unknown_action(stage: &Stage) -> Step {
    insists(stage, &json!({"action": "agree", "answer": true})).map(drop)
}

fn answer_missing(stage: &Stage) -> Step {
    insists(stage, &json!({"action": "answer"})).map(drop)
}

fn unknown_option(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::select("Which?", &["oat", "soy"])])
        .told("\"answer\":\"soy\"", "Told soy.");
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    unhurried(&mut client)?;
    client.reply(&shown, answer("cow"));
    let again = shown_again(&mut client, &shown)?;
    client.reply(&again, answer("soy"));
    counts(&mut client, &shown.prompt.prompt_id, &json!("soy"))?;
    completes(&mut client, &turn, "Told soy.").map(drop)
}

fn fits_at_last(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let mut shown = client.prompt()?;
    for unfit in [json!("true"), json!(1)] {
        unhurried(&mut client)?;
        client.reply(&shown, answer(unfit));
        shown = shown_again(&mut client, &shown)?;
    }
    unhurried(&mut client)?;
    client.reply(&shown, answer(true));
    completes(&mut client, &turn, TOLD_YES).map(drop)
}

/// What the server sends of a prompt has come before there is a reply: what comes afterwards is due to the reply.
pub(super) fn unhurried(client: &mut Client) -> Step {
    client.pending().map(drop)
}

/// Waits until a prompt is shown once more.
pub(super) fn shown_again(client: &mut Client, before: &Shown) -> Step<Shown> {
    match next(client)? {
        Next::Again(again) if again.prompt.prompt_id == before.prompt.prompt_id => Ok(*again),
        Next::Again(_) => Err("the prompt was shown again under another id".into()),
        Next::Closed(settled) => Err(Failure(format!(
            "the prompt was not shown again but closed with {settled:?}"
        ))),
        Next::Ended => Err("the turn ended and the prompt was not shown again".into()),
    }
}
