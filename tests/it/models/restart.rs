//! Killed, and resumed by another process: what the model is sent is what it would have been sent.

use aside_model_server::play::ModelReply;
use rustix::process::Signal;

use super::{
    live::{LONG, Live},
    questions::{TWICE, answers, edit, reads},
    stage::{AUTO, ModelStage, PlayedStep, asked, row, says, stalls},
};
use crate::world::ProgramResult;

/// Kills the run when so many requests have come, and resumes it.
#[track_caller]
fn killed(stage: &ModelStage, requests: usize) -> ProgramResult {
    let run = stage.start("Edit it.", &AUTO);
    assert!(stage.server.wait_for(requests, LONG));
    run.signal(Signal::KILL);
    run.end().exits(-1);
    let args = ["run", "--resume", "--output", "jsonl", "--trust"];
    Live::start(stage.command(&[args.as_slice(), &AUTO].concat())).end()
}

/// The request that goes out when an inquiry was answered.
const AFTER_INQUIRY: usize = 3;

fn bytes(stage: &ModelStage, number: usize) -> String {
    String::from_utf8(stage.requests()[number].body.to_vec()).unwrap()
}

/// A body without the marks of Anthropic's prompt cache, which are no part of what the model reads.
fn unmarked(body: &str) -> String {
    body.replace(r#","cache_control":{"type":"ephemeral"}"#, "")
}

/// A body without what belongs to one world: the conversation's id, which goes along as a hint for the cache, and the
/// folder.
fn neutral(stage: &ModelStage, number: usize) -> String {
    let body = bytes(stage, number);
    let folder = stage.world.folder().display().to_string();
    body.replace(&stage.world.conversation(), "ID")
        .replace(&folder, "FOLDER")
}

fn script() -> Vec<PlayedStep> {
    let calls = ModelReply::new("calls")
        .reasoning("Read, then edit.")
        .text("Both at once.")
        .call("call_read", "read_file", r#"{"path":"b.txt"}"#)
        .say(edit("call_edit", "a.txt"));
    vec![
        reads(&["a.txt"]),
        says(calls),
        asked(answers),
        says(ModelReply::new("end").reasoning("Done.").text("Edited.")),
        says(ModelReply::new("next").text("You are welcome.")),
    ]
}

fn prepare(stage: &ModelStage) {
    stage.world.write("a.txt", TWICE);
    stage.world.write("b.txt", "B\n");
}

/// With the request that is under way at the kill in front of the same one.
fn check(at: usize) {
    row(|api| {
        let plain = ModelStage::new(api, script());
        prepare(&plain);
        plain.run("Edit it.", &AUTO).exits(0);
        plain.run("Thanks.", &["--continue"]).exits(0);
        plain.is_clean();

        let mut script = script();
        script.insert(at, stalls());
        let stage = ModelStage::new(api, script);
        prepare(&stage);
        killed(&stage, at + 1).exits(0);
        stage.run("Thanks.", &["--continue"]).exits(0);
        stage.is_clean();

        let (killed, resumed) = (bytes(&stage, at), bytes(&stage, at + 1));
        if at == AFTER_INQUIRY {
            // An inquiry has moved Anthropic's breakpoint, and no log tells where to; what is marked is the same.
            assert_eq!(unmarked(&killed), unmarked(&resumed), "{api:?}");
        } else {
            assert_eq!(killed, resumed, "{api:?}");
        }
        assert_eq!(stage.world.read("a.txt"), "y\ny\n", "{api:?}");
        for number in at..plain.requests().len() {
            let (here, there) = (neutral(&stage, number + 1), neutral(&plain, number));
            if at == AFTER_INQUIRY {
                assert_eq!(unmarked(&here), unmarked(&there), "{api:?} {number}");
            } else {
                assert_eq!(here, there, "{api:?} {number}");
            }
        }
    });
}

#[test]
fn a_turn_that_was_killed_before_the_first_byte_asks_the_same_again() {
    check(0);
}

#[test]
fn a_turn_that_was_killed_while_a_tool_waits_for_its_answer_asks_the_same_again() {
    check(2);
}

#[test]
fn a_turn_that_was_killed_after_its_tools_asks_the_same_again() {
    check(AFTER_INQUIRY);
}
