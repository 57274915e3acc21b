//! Much at once.

use serde_json::{Value, json};

use super::{ends, is_on_record};
use crate::{
    Failure, Step, check,
    client::{Client, Shown, Turn, answer},
    same,
    script::{Ask, Script},
    stage::Stage,
    wire::Outcome,
};

cases! {
    flood: "With 50 prompts open and 2,000 notifications sent, a request is answered before any prompt is, and all 50 answers count.";
    random_order: "50 prompts are answered in random order, by reply and by `aside/prompt/answer`: each counts once, for its own prompt.";
    many_requests: "200 requests that are sent without waiting are each answered once.";
}

const PROMPTS: usize = 50;
const NOTIFICATIONS: usize = 2000;

/// Opens all prompts at once.
fn many(stage: &Stage) -> Step<(Client, Turn, Vec<Shown>)> {
    let questions: Vec<Ask> = (1..=PROMPTS)
        .map(|n| Ask::text(&format!("Question {n}?")))
        .collect();
    let mut client = stage.with(&Script::asks(&questions))?;
    let turn = client.ask("Go")?;
    let prompts = (0..PROMPTS)
        .map(|_| client.prompt())
        .collect::<Step<Vec<_>>>()?;
    let mut texts: Vec<_> = prompts.iter().map(|shown| &shown.prompt.text).collect();
    texts.sort_unstable();
    texts.dedup();
    same("the number of texts", &texts.len(), &PROMPTS)?;
    Ok((client, turn, prompts))
}

/// What is answered to a prompt: only it fits this one.
fn own_answer(shown: &Shown) -> Value {
    json!(format!("The answer to {}", shown.prompt.text))
}

/// Each prompt was closed with its own answer, and the turn is complete.
fn all_count(client: &mut Client, turn: &Turn, prompts: &[Shown]) -> Step {
    for shown in prompts {
        let settled = client.settled(&shown.prompt.prompt_id)?;
        check(
            settled.is_answer(&own_answer(shown)),
            format!("{:?} was closed with {settled:?}", shown.prompt.text),
        )?;
    }
    ends(client, turn, Outcome::Completed)?;
    let turns = super::turns_of(client, &turn.conversation)?;
    let counted = |shown: &&Shown| {
        let prompt = &shown.prompt.prompt_id;
        is_on_record(&turns, prompt, &own_answer(shown))
    };
    let on_record = prompts.iter().filter(counted).count();
    same("the number of answers on record", &on_record, &PROMPTS)
}

fn flood(stage: &Stage) -> Step {
    let (mut client, turn, prompts) = many(stage)?;
    let uri = stage.uri("flood.txt");
    let document = json!({"uri": uri, "languageId": "plaintext", "version": 0, "text": ""});
    client.notify("textDocument/didOpen", json!({"textDocument": document}));
    let start = json!({"line": 0, "character": 0});
    for n in 1..=NOTIFICATIONS / 2 {
        client.notify("$/unknown", json!({"n": n}));
        let change = json!({"range": {"start": start, "end": start}, "text": "x"});
        let document = json!({"uri": uri, "version": n});
        client.notify(
            "textDocument/didChange",
            json!({"textDocument": document, "contentChanges": [change]}),
        );
    }
    let pending = client.pending()?;
    same("the number of pending prompts", &pending.len(), &PROMPTS)?;
    for shown in &prompts {
        let own = own_answer(shown);
        client.reply(shown, answer(own));
    }
    all_count(&mut client, &turn, &prompts)
}

fn random_order(stage: &Stage) -> Step {
    let (mut client, turn, mut prompts) = many(stage)?;
    let mut random = fastrand::Rng::with_seed(stage.seed());
    random.shuffle(&mut prompts);
    for shown in &prompts {
        let own = answer(own_answer(shown));
        if random.bool() {
            client.reply(shown, own);
        } else {
            client.answer_elsewhere(&shown.prompt.prompt_id, own)?;
            client.reply(shown, json!({"action": "cancel"}));
        }
    }
    all_count(&mut client, &turn, &prompts)
        .map_err(|failure| Failure(format!("{failure} (with --seed {})", stage.seed())))
}

fn many_requests(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[]))?;
    let ids: Vec<i64> = (0..200)
        .map(|_| client.request("aside/prompt/pending", json!({})))
        .collect();
    for &id in ids.iter().rev() {
        let response = client.response(id, "`aside/prompt/pending`")?;
        check(
            response.is_ok(),
            format!("`aside/prompt/pending` was answered with {response:?}"),
        )?;
    }
    client.pending()?;
    let again = client.take(&|message: &_| match message {
        crate::client::Message::Response(id, _) => Some(*id),
        _ => None,
    });
    check(again.is_none(), "a request was answered twice")
}
