//! Cancelled while the model speaks, and while it is asked a question.

use std::time::{Duration, Instant};

use aside_model_server::{ServedApi, play::ModelReply, server::ReplyGate};
use rustix::process::Signal;

use super::{
    live::{LONG, Live},
    questions::{TWICE, edit, reads},
    shown::shown,
    stage::{AUTO, ModelStage, place, row, says, sent, stalls},
};

/// Far more than it takes: a machine that is busy with other tests is slow.
const BOUND: Duration = Duration::from_millis(500);

/// Cancels, and says how long it took until the server saw its connection dropped.
#[track_caller]
fn cancel(stage: &ModelStage, run: Live) -> Duration {
    let before = Instant::now();
    run.signal(Signal::INT);
    assert!(stage.server.wait_for_dropped(1, LONG), "{:?}", stage.api);
    let took = stage.server.dropped()[0].at - before;
    let done = run.end().exits(130);
    assert!(shown(&done).contains("cancelled"), "{done:?}");
    took
}

#[track_caller]
#[expect(
    clippy::print_stdout,
    reason = "the figure is what a person wants to see of this test"
)]
fn report(api: ServedApi, what: &str, mut took: Vec<Duration>) {
    took.sort();
    let median = took[took.len() / 2];
    println!("{}: cancelled {what} in {median:?}", api.name());
    assert!(median < BOUND, "{api:?}: {took:?}");
}

#[test]
fn a_turn_is_cancelled_while_the_model_speaks_and_the_conversation_goes_on() {
    row(|api| {
        let once = || {
            let play = ModelReply::new("half").text(["Half a ", "sentence."]);
            let at = place(&play, api, "sentence.");
            let hangs = sent(play, move |reply| reply.wait_at(at, &ReplyGate::new()));
            let end = says(ModelReply::new("end").text("A whole one."));
            let stage = ModelStage::new(api, vec![hangs, end]);
            let mut run = stage.start("Speak.", &[]);
            run.update("text");
            let took = cancel(&stage, run);
            stage.run("And now?", &["--continue"]).exits(0);
            let expected = "user Speak.\nassistant Half a \nuser And now?\n";
            assert_eq!(stage.heard(), expected, "{api:?}");
            stage.is_clean();
            took
        };
        report(api, "in mid-stream", (0..5).map(|_| once()).collect());
    });
}

#[test]
fn a_turn_is_cancelled_before_the_model_speaks_and_the_conversation_goes_on() {
    row(|api| {
        let end = says(ModelReply::new("end").text("A whole one."));
        let stage = ModelStage::new(api, vec![stalls(), end]);
        let run = stage.start("Speak.", &[]);
        assert!(stage.server.wait_for(1, LONG));
        report(api, "before the first byte", vec![cancel(&stage, run)]);
        stage.run("And now?", &["--continue"]).exits(0);
        let expected = "user Speak.\nassistant [interrupted]\nuser And now?\n";
        assert_eq!(stage.heard(), expected, "{api:?}");
        stage.is_clean();
    });
}

#[test]
fn a_turn_is_cancelled_in_an_inquiry_and_the_conversation_goes_on() {
    row(|api| {
        let once = || {
            let script = vec![
                reads(&["a.txt"]),
                says(ModelReply::new("calls").say(edit("call_edit", "a.txt"))),
                stalls(),
                says(ModelReply::new("end").text("Fine.")),
            ];
            let stage = ModelStage::new(api, script);
            stage.world.write("a.txt", TWICE);
            let run = stage.start("Edit it.", &AUTO);
            assert!(stage.server.wait_for(3, LONG));
            let took = cancel(&stage, run);
            stage.run("And now?", &["--continue"]).exits(0);
            let expected = "\
user Edit it.
call read_file {\"path\":\"a.txt\"}
result x
x
call edit_file {\"path\":\"a.txt\",\"old_text\":\"x\",\"new_text\":\"y\"}
result Cancelled by the user.
user And now?
";
            assert_eq!(stage.heard(), expected, "{api:?}");
            assert_eq!(stage.world.read("a.txt"), TWICE);
            stage.is_clean();
            took
        };
        report(api, "in an inquiry", (0..5).map(|_| once()).collect());
    });
}
