//! Answers that are given, and answers that are none.

use serde_json::{Value, json};

use super::{Case, cancel, completes, ends};
use crate::{
    Step, check,
    client::{Client, Turn, answer},
    script::{Ask, Script, TOLD_DISMISSED, TOLD_NO, TOLD_NOT_SHOWN, TOLD_YES},
    stage::Stage,
    wire::{AnswerType, Outcome, PromptKind, Question, ReadTurn, Source, Update},
};

pub(super) const CASES: &[Case] = &[
    Case {
        name: "answer_boolean",
        sentence: "A question of `ask_user` is shown as documented; `false` is an answer and reaches the model as it is.",
        play: answer_boolean,
    },
    Case {
        name: "answer_select",
        sentence: "An option of a select counts as the person's answer.",
        play: answer_select,
    },
    Case {
        name: "answer_text",
        sentence: "A text counts as the person's answer, character by character.",
        play: answer_text,
    },
    Case {
        name: "answer_error",
        sentence: "A JSON-RPC error closes the prompt as `backend_error`, never as a person's decision.",
        play: answer_error,
    },
    Case {
        name: "decline_with_note",
        sentence: "A decline closes the prompt as `user`, and its note reaches the model.",
        play: decline_with_note,
    },
    Case {
        name: "cancel_action",
        sentence: "The action `cancel` closes the prompt as `user`, and the turn goes on.",
        play: cancel_action,
    },
    Case {
        name: "silence",
        sentence: "A prompt that is never answered is withdrawn when its turn is cancelled, and the end does not wait for the client.",
        play: silence,
    },
    Case {
        name: "late_after_cancel",
        sentence: "An answer that comes after its turn was cancelled changes nothing, on the wire or on record.",
        play: late_after_cancel,
    },
    Case {
        name: "elsewhere",
        sentence: "`aside/prompt/answer` answers an open prompt, as the person.",
        play: elsewhere,
    },
    Case {
        name: "elsewhere_dismisses",
        sentence: "What was answered by `aside/prompt/answer` is dismissed on screen.",
        play: elsewhere_dismisses,
    },
    Case {
        name: "elsewhere_then_reply",
        sentence: "A reply after `aside/prompt/answer` is late: the first answer stays, and the prompt is not closed twice.",
        play: elsewhere_then_reply,
    },
    Case {
        name: "reply_then_elsewhere",
        sentence: "`aside/prompt/answer` after the reply is refused with -32012, and the first answer stays.",
        play: reply_then_elsewhere,
    },
];

fn ship_it(stage: &Stage) -> Step<(Client, Turn)> {
    let mut client = stage.with(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let turn = client.ask("Go")?;
    Ok((client, turn))
}

fn answer_boolean(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    let prompt = &shown.prompt;
    check(
        prompt.kind == PromptKind::Question,
        "the prompt is not of kind `question`",
    )?;
    check(
        prompt.text == "Ship it?",
        format!("the prompt's text is {:?}", prompt.text),
    )?;
    check(
        prompt.answer_type == AnswerType::Boolean,
        "the prompt is not boolean",
    )?;
    check(
        prompt.exclusive,
        "a question of `ask_user` is not exclusive",
    )?;
    check(
        prompt.source == Source::Assistant,
        "the source of `ask_user` is not the assistant",
    )?;
    check(
        prompt.label == "Assistant",
        format!("the label is {:?}", prompt.label),
    )?;
    check(
        (&prompt.conversation_id, &prompt.turn_id) == (&turn.conversation, &turn.turn),
        "the prompt is of another turn",
    )?;
    let id = prompt.prompt_id.clone();
    client.update(&turn, "the opening of the prompt", |update| {
        matches!(update, Update::Question(Question::Opened { prompt_id, .. }) if *prompt_id == id)
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

fn answer_select(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::select("Which?", &["oat", "soy"])])
        .told("\"answer\":\"soy\"", "Told soy.");
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let shown = client.prompt()?;
    let options = vec!["oat".to_owned(), "soy".to_owned()];
    check(
        shown.prompt.answer_type == AnswerType::Select { options },
        "the options are not those of the question",
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
    let settled = client.settled(&shown.prompt.prompt_id)?;
    check(
        settled.is_cancelled("backend_error"),
        format!("the prompt was closed with {settled:?}"),
    )?;
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
    let settled = client.settled(&shown.prompt.prompt_id)?;
    check(
        settled.is_cancelled("user"),
        format!("the prompt was closed with {settled:?}"),
    )?;
    completes(&mut client, &turn, "The model was told the note.").map(drop)
}

fn cancel_action(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    client.reply(&shown, json!({"action": "cancel"}));
    let settled = client.settled(&shown.prompt.prompt_id)?;
    check(
        settled.is_cancelled("user"),
        format!("the prompt was closed with {settled:?}"),
    )?;
    completes(&mut client, &turn, TOLD_DISMISSED).map(drop)
}

fn silence(stage: &Stage) -> Step {
    let (mut client, turn) = ship_it(stage)?;
    let shown = client.prompt()?;
    cancel(&mut client, &turn)?;
    client.dismissed(&shown.prompt.prompt_id)?;
    let settled = client.settled(&shown.prompt.prompt_id)?;
    check(
        settled.is_cancelled("withdrawn"),
        format!("the prompt was closed with {settled:?}"),
    )?;
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
    check(
        client.settled(&id)?.is_cancelled("withdrawn"),
        "the prompt was not withdrawn",
    )?;
    client.reply(&shown, answer(true));
    let turns = read(&mut client, &turn)?;
    let [on_record] = turns.as_slice() else {
        return Err(format!("the conversation has {} turns where 1 was due", turns.len()).into());
    };
    check(
        on_record.outcome == Some(Outcome::Cancelled),
        "the outcome on record is not `cancelled`",
    )?;
    let counted = on_record
        .updates
        .iter()
        .any(|update| update["promptId"] == *id && update["outcome"] == "answered");
    check(!counted, "the late answer is on record as an answer")?;
    let again = client
        .take(&|message: &_| crate::client::update(message).filter(|(of, _)| *of == turn.turn));
    let again = again.filter(|(_, update)| matches!(update, Update::Question(Question::Closed(_))));
    check(again.is_none(), "the late answer closed the prompt again")
}

fn read(client: &mut Client, turn: &Turn) -> Step<Vec<ReadTurn>> {
    super::turns_of(client, &turn.conversation)
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
    let again = client.take(&|message: &_| match crate::client::update(message)?.1 {
        Update::Question(Question::Closed(settled)) if settled.prompt_id == id => Some(settled),
        _ => None,
    });
    check(
        again.is_none(),
        format!("the prompt was closed twice: {again:?}"),
    )
}
