//! Much at once.

use serde_json::{Value, json};

use crate::{
    Failure, Step, check,
    client::{Asked, Client, Message},
    same,
    script::{Ask, Script},
    stage::Stage,
};

cases! {
    flood: "With 50 forms open and 2,000 notifications sent, a request is answered before any form is, and all 50 answers count.";
    random_order: "50 forms are answered in random order: each answer counts once, for its own question.";
    many_requests: "200 requests that are sent without waiting are each answered once.";
}

const PROMPTS: usize = 50;
/// An answer that comes second.
const SECOND: &str = "something else";
const NOTIFICATIONS: usize = 2000;

/// Opens all forms at once.
fn many(stage: &Stage) -> Step<(Client, String, i64, Vec<Asked>)> {
    let questions: Vec<Ask> = (1..=PROMPTS)
        .map(|n| Ask::text(&format!("Question {n}?")))
        .collect();
    let script = Script::asks(&questions).told("\"answer\":\"The answer to Question", "Told.");
    let (mut client, session) = stage.agent(&script)?;
    let prompt = client.say(&session, "Go");
    let asked = (0..PROMPTS)
        .map(|_| client.asked())
        .collect::<Step<Vec<_>>>()?;
    let mut texts: Vec<_> = asked.iter().map(Asked::text).collect();
    texts.sort_unstable();
    texts.dedup();
    same("the number of texts", &texts.len(), &PROMPTS)?;
    Ok((client, session, prompt, asked))
}

/// What is answered to a form: only it fits this one.
fn own_answer(asked: &Asked) -> Value {
    json!(format!("The answer to {}", asked.text()))
}

/// Each answer is on record, and no other.
fn all_count(stage: &Stage, asked: &[Asked]) -> Step {
    let record = stage.record()?;
    let counted = asked
        .iter()
        .filter(|it| record.contains(&own_answer(it).to_string()));
    let counted = counted.count();
    check(
        counted == PROMPTS && !record.contains(SECOND),
        format!("{counted} of {PROMPTS} answers are on record"),
    )
}

fn flood(stage: &Stage) -> Step {
    let (mut client, session, prompt, asked) = many(stage)?;
    for n in 1..=NOTIFICATIONS {
        client.notify("_none/such", json!({ "n": n }));
    }
    client.sessions(&stage.workspace())?;
    for it in &asked {
        client.accept(it, &own_answer(it));
    }
    client.completes(&session, prompt, "Told.")?;
    all_count(stage, &asked)
}

fn random_order(stage: &Stage) -> Step {
    let (mut client, session, prompt, mut asked) = many(stage)?;
    let mut random = fastrand::Rng::with_seed(stage.seed());
    random.shuffle(&mut asked);
    for it in &asked {
        client.accept(it, &own_answer(it));
        if random.bool() {
            // A second answer counts for nothing.
            client.accept(it, &json!(SECOND));
        }
    }
    client
        .completes(&session, prompt, "Told.")
        .and_then(|()| all_count(stage, &asked))
        .map_err(|failure| Failure(format!("{failure} (with --seed {})", stage.seed())))
}

fn many_requests(stage: &Stage) -> Step {
    let (mut client, _) = stage.agent(&Script::asks(&[]))?;
    let ids: Vec<i64> = (0..200)
        .map(|_| client.request("session/list", json!({})))
        .collect();
    for &id in ids.iter().rev() {
        let response = client.response(id, "`session/list`")?;
        check(
            response.is_ok(),
            format!("`session/list` was answered with {response:?}"),
        )?;
    }
    client.sessions(&stage.workspace())?;
    let again = client.take(&|message: &_| match message {
        Message::Response(id, _) => Some(*id),
        _ => None,
    });
    check(again.is_none(), "a request was answered twice")
}
