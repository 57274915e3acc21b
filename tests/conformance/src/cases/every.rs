//! Rules of the ledger. Each plays an ordinary dialogue, so that there is something to watch; it fails by what the
//! ledger saw in this or in any other case of the run.

use serde_json::json;

use super::completes;
use crate::{
    Step,
    client::answer,
    script::{Ask, Script, TOLD_YES},
    stage::Stage,
};

cases! {
    messages_well_formed: "Every message has the documented fields and no others, and no request comes that the client did not declare." => ordinary;
    seq_without_gaps: "The updates of each turn count from 1 without gaps, and from 1 again after a resume." => resumed;
    completed_last_and_once: "`aside/turn/completed` is the last message of its turn, and comes once." => ordinary;
    prompts_sent_once: "No prompt is sent again while it is open." => ordinary;
}

/// Two questions, then words, then the end of the session.
fn ordinary(stage: &Stage) -> Step {
    let script = Script::asks(&[
        Ask::boolean("Ship it?"),
        Ask::select("Which?", &["oat", "soy"]),
    ])
    .heard("Just talk", "Words, words, words.");
    let mut client = stage.with(&script)?;
    let turn = client.ask("Go")?;
    let (ship, which) = (client.prompt()?, client.prompt()?);
    client.reply(&which, answer("oat"));
    client.reply(&ship, answer(true));
    completes(&mut client, &turn, TOLD_YES)?;
    let talk = client.turn(json!({"conversationId": turn.conversation, "message": "Just talk"}))?;
    completes(&mut client, &talk, "Words, words, words.")?;
    client.leave()
}

/// A turn that is left at its prompt and resumed.
fn resumed(stage: &Stage) -> Step {
    let mut client = stage.with(&Script::asks(&[Ask::boolean("Ship it?")]))?;
    let turn = client.ask("Go")?;
    client.prompt()?;
    client.vanish()?;
    let mut client = stage.again()?;
    client.resume(&turn)?;
    let shown = client.prompt()?;
    client.reply(&shown, answer(true));
    completes(&mut client, &turn, TOLD_YES)?;
    client.leave()
}
