//! Turns: steered, cancelled, one after the other, and side by side.

use serde_json::json;

use super::{cancel, completes, ends, nothing_is_shown};
use crate::{
    Step, check,
    client::{answer, update},
    same,
    script::{Ask, Script, TOLD_NO, TOLD_YES, text},
    stage::Stage,
    wire::{Outcome, Update},
};

cases! {
    steer: "A message that steers while a prompt is open is answered at once, and reaches the model with its next request.";
    cancel_in_the_middle: "A turn that is cancelled while the model speaks ends `cancelled`, and keeps what was said.";
    cancel_finished: "Cancelling a finished turn does nothing; it is answered with {} or -32011.";
    turn_after_turn: "A conversation goes on with a second turn once the first was cancelled.";
    own_turn_id: "A turn has the id that the client chose for it.";
    two_conversations: "Turns of two conversations wait at the same time, and each gets its own answer.";
}

fn steer(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::boolean("Ship it?")])
        .heard("Leave the tests alone.", "The model was steered.");
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    client.call(
        "aside/turn/steer",
        json!({"turnId": turn.turn, "message": "Leave the tests alone."}),
    )?;
    client.update(
        &turn,
        "the update `steered`",
        |update| matches!(update, Update::Steered { text } if text == "Leave the tests alone."),
    )?;
    client.reply(&shown, answer(true));
    completes(&mut client, &turn, "The model was steered.").map(drop)
}

fn cancel_in_the_middle(stage: &Stage) -> Step {
    let script = Script::says(&[text("I will look at")]).stalls();
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let mut said = String::new();
    while said != "I will look at" {
        let piece = client.update(&turn, "the model's words", |update| {
            matches!(update, Update::Text { .. })
        })?;
        if let Update::Text { text, .. } = piece {
            said += &text;
        }
        check(
            "I will look at".starts_with(&said),
            format!("the pieces of the text are {said:?}"),
        )?;
    }
    cancel(&mut client, &turn)?;
    let completed = ends(&mut client, &turn, Outcome::Cancelled)?;
    same(
        "the answer",
        &completed.answer.as_deref(),
        &Some("I will look at"),
    )
}

fn cancel_finished(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::says(&[text("Done.")]))?;
    let turn = client.ask("Go")?;
    completes(&mut client, &turn, "Done.")?;
    let before = super::turns_of(&mut client, &turn.conversation)?;
    while client.take(&|message: &_| update(message)).is_some() {}
    let id = client.request("aside/turn/cancel", json!({"turnId": turn.turn}));
    if let Err(error) = client.response(id, "aside/turn/cancel")? {
        same("the code", &error.code, &-32011)?;
    }
    let after = super::turns_of(&mut client, &turn.conversation)?;
    let ends =
        |turns: &[crate::wire::ReadTurn]| turns.iter().map(|turn| turn.outcome).collect::<Vec<_>>();
    same("the outcome", &ends(&before), &ends(&after))?;
    let said = client.take(&|message: &_| update(message).filter(|(of, _)| *of == turn.turn));
    check(
        said.is_none(),
        "cancelling a finished turn made an update of it",
    )
}

fn turn_after_turn(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let first = client.ask("Go")?;
    client.prompt()?;
    cancel(&mut client, &first)?;
    ends(&mut client, &first, Outcome::Cancelled)?;
    let second =
        client.turn(json!({"conversationId": first.conversation, "message": "Go again"}))?;
    same(
        "the conversation",
        &second.conversation,
        &first.conversation,
    )?;
    check(
        second.turn != first.turn,
        "the second turn has the id of the first",
    )?;
    let shown = client.prompt()?;
    same(
        "the turn of the prompt",
        &shown.prompt.turn_id,
        &second.turn,
    )?;
    client.reply(&shown, answer(true));
    completes(&mut client, &second, TOLD_YES)?;
    let turns = super::turns_of(&mut client, &first.conversation)?;
    let outcomes: Vec<_> = turns.iter().map(|turn| turn.outcome).collect();
    same(
        "the outcomes on record",
        &outcomes,
        &[Some(Outcome::Cancelled), Some(Outcome::Completed)],
    )
}

fn own_turn_id(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::says(&[text("Done.")]))?;
    let turn = client.turn(json!({"message": "Go", "turnId": "turn-of-the-client"}))?;
    same("the turn's id", &turn.turn, &"turn-of-the-client")?;
    completes(&mut client, &turn, "Done.").map(drop)
}

fn two_conversations(stage: &Stage) -> Step {
    let script = Script::asks(&[])
        .asks_for("the first", &[Ask::boolean("Ship the first?")])
        .asks_for("the second", &[Ask::boolean("Ship the second?")]);
    let mut client = stage.with(&script)?;
    let first = client.ask("Go to the first")?;
    let first_shown = client.prompt()?;
    let second = client.ask("Go to the second")?;
    let second_shown = client.prompt()?;
    check(
        first.conversation != second.conversation,
        "both turns are in one conversation",
    )?;
    same(
        "the turn of the first prompt",
        &first_shown.prompt.turn_id,
        &first.turn,
    )?;
    same(
        "the turn of the second prompt",
        &second_shown.prompt.turn_id,
        &second.turn,
    )?;
    client.reply(&second_shown, answer(false));
    completes(&mut client, &second, TOLD_NO)?;
    let pending = client.pending()?;
    check(
        pending.len() == 1 && pending[0].prompt_id == first_shown.prompt.prompt_id,
        "the first prompt is not the one that is left open",
    )?;
    nothing_is_shown(&mut client, "although each was shown already")?;
    client.reply(&first_shown, answer(true));
    completes(&mut client, &first, TOLD_YES).map(drop)
}
