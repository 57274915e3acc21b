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
    script::{Ask, Item, Script, TOLD_YES},
    stage::Stage,
};

/// What is watched in all cases that are played.
const WATCHED: &[Case] = &[
    Case {
        name: "messages_well_formed",
        sentence: "Every message is as the protocol's schema has it, with no field that the protocol does not know.",
        play: ordinary,
    },
    Case {
        name: "completed_last_and_once",
        sentence: "Nothing of a turn comes after its prompt was answered.",
        play: ordinary,
    },
    Case {
        name: "prompts_sent_once",
        sentence: "No request has the id of another.",
        play: ordinary,
    },
];

/// All of them, in the order of the report.
pub fn all() -> Vec<Case> {
    [
        handshake::CASES,
        questions::CASES,
        turns::CASES,
        permission::CASES,
        vanish::CASES,
        flood::CASES,
        WATCHED,
    ]
    .concat()
}

/// Two questions, then words, so that there is something to watch.
fn ordinary(stage: &Stage) -> Step {
    let script = Script::asks(&[Ask::boolean("Ship it?"), Ask::boolean("Really?")])
        .heard("Just talk", vec![Item::text("Words, words, words.")]);
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
