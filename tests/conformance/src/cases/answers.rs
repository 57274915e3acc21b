//! Answers that are given, and answers that are none.

use serde_json::{Value, json};

use super::{cancel, completes, ends, turns_of};
use crate::{
    Step, check,
    client::{Client, Shown, Turn, answer, closing},
    same,
    script::{Ask, Script, TOLD_DISMISSED, TOLD_NO, TOLD_NOT_SHOWN, TOLD_YES},
    stage::Stage,
    wire::{
        self, AnswerType, Outcome, PromptKind, PromptOutcome, QuestionUpdate, Reason, Source,
        Update,
    },
};

cases! {
    answer_boolean: "A question of `ask_user` is shown as documented; `false` is an answer and reaches the model as it is.";
    answer_select: "An option of a select counts as the person's answer.";
    answer_text: "A text counts as the person's answer, character by character.";
    answer_error: "A JSON-RPC error closes the prompt as `backend_error`, never as a person's decision.";
    decline_with_note: "A decline closes the prompt as `user`, and its note reaches the model.";
    cancel_action: "The action `cancel` closes the prompt as `user`, and the turn goes on.";
    silence: "A prompt that is never answered is withdrawn when its turn is cancelled, and the end does not wait for the client.";
    late_after_cancel: "An answer that comes after its turn was cancelled changes nothing, on the wire or on record.";
    elsewhere: "`aside/prompt/answer` answers an open prompt, as the person.";
    elsewhere_dismisses: "What was answered by `aside/prompt/answer` is dismissed on screen.";
    elsewhere_then_reply: "A reply after `aside/prompt/answer` is late: the first answer stays, and the prompt is not closed twice.";
    reply_then_elsewhere: "`aside/prompt/answer` after the reply is refused with -32012, and the first answer stays.";
}

pub(super) fn ship_it(stage: &Stage) -> Step<(Client, Turn)> {
    let mut client = stage.with(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let turn = client.ask("Go")?;
    Ok((client, turn))
}

fn answer_boolean(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    let prompt = &shown.prompt;
    same("the kind", &prompt.kind, &PromptKind::Question)?;
    same("the text", &prompt.text, &"Ship it?")?;
    same("the type", &prompt.answer_type, &AnswerType::Boolean)?;
    check(
        prompt.exclusive,
        "a question of `ask_user` is not exclusive",
    )?;
    same("the source", &prompt.source, &Source::Assistant)?;
    same("the label", &prompt.label, &"Assistant")?;
    check(
        (&prompt.conversation_id, &prompt.turn_id) == (&turn.conversation, &turn.turn),
        "the prompt is of another turn",
    )?;
    let id = prompt.prompt_id.clone();
    client.update(&turn, "the opening of the prompt", |update| {
        matches!(update, Update::Question(QuestionUpdate::Opened { prompt_id, .. }) if *prompt_id == id)
    })?;
    client.reply(&shown, answer(false));
    counts(&mut client, &id, &json!(false))?;
    completes(&mut client, &turn, TOLD_NO).map(drop)
}

/// Waits until a prompt was closed with this answer.
pub(super) fn counts(client: &mut Client, prompt: &str, answer: &Value) -> Step {
    let settled = client.settled(prompt)?;
    check(
        settled.is_answer(answer),
        format!("the prompt was closed with {settled:?} where {answer} was due"),
    )
}

/// Waits until a prompt was closed without an answer, for this reason.
fn closed(client: &mut Client, shown: &Shown, due: &Reason) -> Step {
    let settled = client.settled(&shown.prompt.prompt_id)?;
    check(
        settled.is_cancelled(due),
        format!("the prompt was closed with {settled:?} where {due:?} was due"),
    )
}

fn answer_select(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::select("Which?", &["oat", "soy"])])
        .told("\"answer\":\"soy\"", "Told soy.");
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    let options = vec!["oat".to_owned(), "soy".to_owned()];
    same(
        "the type",
        &shown.prompt.answer_type,
        &AnswerType::Select { options },
    )?;
    client.reply(&shown, answer("soy"));
    counts(&mut client, &shown.prompt.prompt_id, &json!("soy"))?;
    completes(&mut client, &turn, "Told soy.").map(drop)
}

fn answer_text(stage: &Stage) -> Step {
    let text = "Grüße, 世界 — “no” <b>\\n</b>";
    let script =
        Script::asks(&[Ask::text("Which name?")]).told("Grüße, 世界 — “no” <b>", "Told the name.");
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    client.reply(&shown, answer(text));
    counts(&mut client, &shown.prompt.prompt_id, &json!(text))?;
    completes(&mut client, &turn, "Told the name.").map(drop)
}

fn answer_error(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    client.reply_error(&shown, "the window is gone");
    closed(&mut client, &shown, &Reason::BackendError)?;
    completes(&mut client, &turn, TOLD_NOT_SHOWN).map(drop)
}

fn decline_with_note(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::boolean("Ship it?")]).told(
        "The user said: Ask me on Monday.",
        "The model was told the note.",
    );
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    client.reply(
        &shown,
        json!({"action": "decline", "note": "Ask me on Monday."}),
    );
    closed(&mut client, &shown, &Reason::User)?;
    completes(&mut client, &turn, "The model was told the note.").map(drop)
}

fn cancel_action(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    client.reply(&shown, json!({"action": "cancel"}));
    closed(&mut client, &shown, &Reason::User)?;
    completes(&mut client, &turn, TOLD_DISMISSED).map(drop)
}

fn silence(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    cancel(&mut client, &turn)?;
    client.dismissed(&shown.prompt.prompt_id)?;
    closed(&mut client, &shown, &Reason::Withdrawn)?;
    ends(&mut client, &turn, Outcome::Cancelled)?;
    let pending = client.pending()?;
    check(
        pending.is_empty(),
        "the prompt is still pending after its turn was cancelled",
    )
}

fn late_after_cancel(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    cancel(&mut client, &turn)?;
    ends(&mut client, &turn, Outcome::Cancelled)?;
    let id = shown.prompt.prompt_id.clone();
    closed(&mut client, &shown, &Reason::Withdrawn)?;
    client.reply(&shown, answer(true));
    let turns = turns_of(&mut client, &turn.conversation)?;
    let [on_record] = turns.as_slice() else {
        return Err(format!("the conversation has {} turns where 1 was due", turns.len()).into());
    };
    same(
        "the outcome on record",
        &on_record.outcome,
        &Some(Outcome::Cancelled),
    )?;
    let counted = on_record
        .updates
        .iter()
        .filter_map(wire::settled)
        .any(|settled| settled.prompt_id == id && settled.outcome == PromptOutcome::Answered);
    check(!counted, "the late answer is on record as an answer")?;
    let again = client
        .take(&|message: &_| crate::client::update(message).filter(|(of, _)| *of == turn.turn));
    let again = again.filter(|(_, update)| wire::settled(update).is_some());
    check(again.is_none(), "the late answer closed the prompt again")
}

fn elsewhere(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    client.answer_elsewhere(&shown.prompt.prompt_id, answer(true))?;
    counts(&mut client, &shown.prompt.prompt_id, &json!(true))?;
    completes(&mut client, &turn, TOLD_YES).map(drop)
}

fn elsewhere_dismisses(stage: &Stage) -> Step {
    let (mut client, _turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    client.answer_elsewhere(&shown.prompt.prompt_id, answer(true))?;
    client.dismissed(&shown.prompt.prompt_id)?;
    client.reply(&shown, json!({"action": "cancel"}));
    client.pending().map(drop)
}

/// Two questions, so that the turn still runs when the second answer to the first of them comes.
fn two_names(stage: &Stage) -> Step<(Client, Turn)> {
    let script = Script::asks(&[Ask::text("Which name?"), Ask::text("Which place?")])
        .told("\"answer\":\"the first\"", "Told the first.")
        .told("\"answer\":\"the second\"", "Told the second.");
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    Ok((client, turn))
}

fn elsewhere_then_reply(stage: &Stage) -> Step {
    let (mut client, turn) = two_names(stage)?;
    let (name, place) = (client.prompt()?, client.prompt()?);
    let id = name.prompt.prompt_id.clone();
    client.answer_elsewhere(&id, answer("the first"))?;
    counts(&mut client, &id, &json!("the first"))?;
    client.reply(&name, answer("the second"));
    client.reply(&place, answer("here"));
    completes(&mut client, &turn, "Told the first.")?;
    closed_once(&mut client, &id)
}

fn reply_then_elsewhere(stage: &Stage) -> Step {
    let (mut client, turn) = two_names(stage)?;
    let (name, place) = (client.prompt()?, client.prompt()?);
    let id = name.prompt.prompt_id.clone();
    client.reply(&name, answer("the first"));
    counts(&mut client, &id, &json!("the first"))?;
    let second = json!({"promptId": id, "answer": answer("the second")});
    client.refused("aside/prompt/answer", second, -32012)?;
    client.reply(&place, answer("here"));
    completes(&mut client, &turn, "Told the first.")?;
    closed_once(&mut client, &id)
}

/// One closing was taken already: none may be left.
fn closed_once(client: &mut Client, id: &str) -> Step {
    client.pending()?;
    let again = client.take(&|message: &_| closing(message).filter(|end| end.prompt_id == id));
    check(
        again.is_none(),
        format!("the prompt was closed twice: {again:?}"),
    )
}
