//! The cases that make sense over the Agent Client Protocol, from the scripts of the others, whose names they have.

mod flood;
mod handshake;
mod permission;
mod questions;
mod turns;
mod vanish;

use super::Case;
use crate::{
    Step,
    script::{Ask, Script, TOLD_YES},
    stage::Stage,
};

cases! {
    messages_well_formed: "Every message is as the protocol's schema has it, with no field that the protocol does not know." => ordinary;
    completed_last_and_once: "Nothing of a turn comes after its prompt was answered." => ordinary;
    prompts_sent_once: "No request has the id of another." => ordinary;
}

/// All of them, in the order of the report.
pub fn all() -> Vec<Case> {
    [
        handshake::CASES,
        questions::CASES,
        turns::CASES,
        permission::CASES,
        vanish::CASES,
        flood::CASES,
        CASES,
    ]
    .concat()
}

/// Two questions, then words, so that there is something to watch.
fn ordinary(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::boolean("Ship it?"), Ask::boolean("Really?")])
        .heard("Just talk", "Words, words, words.");
    let (mut client, session) = stage.agent(&script)?;
    let prompt = client.say(&session, "Go");
    for _ in 0..2 {
        let asked = client.asked()?;
        client.accept(&asked, &"yes".into());
    }
    client.completes(&session, prompt, TOLD_YES)?;
    let talk = client.say(&session, "Just talk");
    client.completes(&session, talk, "Words, words, words.")?;
    client.vanish()
}
