//! Signals, where there is no terminal.

use rustix::process::Signal;

use crate::world::TestWorld;

const STALLS: &str = "'Half a '\n& fault = { stall = true }";
const GOES_ON: &str = "'A whole answer.'";

#[test]
fn ctrl_c_cancels_the_turn_and_the_conversation_goes_on() {
    let world = TestWorld::new();
    let mut running = world.start_until(STALLS, &["--output", "json"], "request_sent");
    running.signal(Signal::INT);
    let done = running
        .end()
        .exits(130)
        .says("cancelled; continue with: aside run -c ");
    assert_eq!(done.json()["outcome"], "cancelled");
    assert_eq!(world.log().one("turn_end")["outcome"], "cancelled");

    let model = world.script(GOES_ON);
    world
        .aside(&["run", "--continue", "-m", &model, "And now?"])
        .exits(0)
        .writes("A whole answer.\n");
    assert_eq!(world.log().all("turn_start").len(), 2);
    // What was cancelled cannot be resumed.
    world
        .aside(&["run", "--resume"])
        .exits(2)
        .says("nothing to resume");
}

/// A signal that leaves at once, and a resume.
fn check_leaves(signals: &[Signal], code: i32) {
    let world = TestWorld::new();
    let mut running = world.start_until(STALLS, &["--output", "json"], "request_sent");
    for signal in signals {
        running.signal(*signal);
    }
    let done = running.end().exits(code);
    assert_eq!(done.json()["outcome"], "interrupted", "{signals:?}");
    assert!(
        done.stderr
            .contains("interrupted; continue with: aside run -c "),
        "{done:?}"
    );
    let turn = done.json()["turnId"].clone();

    world.script(GOES_ON);
    let resumed = world
        .aside(&["run", "--resume", "--output", "json"])
        .exits(0)
        .json();
    assert_eq!(resumed["turnId"], turn);
    assert_eq!(resumed["answer"], "A whole answer.");
    let log = world.log();
    assert_eq!(log.all("turn_start").len(), 1);
    assert_eq!(log.all("turn_end").last().unwrap()["outcome"], "completed");
}

#[test]
fn sigterm_and_sighup_leave_and_the_turn_can_be_resumed() {
    check_leaves(&[Signal::TERM], 143);
    check_leaves(&[Signal::HUP], 129);
}

#[test]
fn a_command_that_runs_is_ended_with_the_turn() {
    let script = r#"
        run_command long { command = "echo begun; sleep 1000" }
        "Done."
    "#;
    let auto = ["--trust", "--mode", "auto", "--unsandboxed"];
    let world = TestWorld::new();
    let mut running = world.start_until(script, &auto, "call_started");
    running.signal(Signal::INT);
    running.end().exits(130);
    assert_eq!(world.log().told("long"), "Cancelled by the user.");

    let world = TestWorld::new();
    let mut running = world.start_until(script, &auto, "call_started");
    running.signal(Signal::TERM);
    running.end().exits(143);
    // Nobody knows how far it came.
    world
        .aside(&["run", "--resume", "--trust", "--unsandboxed"])
        .exits(0)
        .writes("Done.\n");
    assert_eq!(
        world.log().told("long"),
        "run_command was interrupted; its effects are unknown. Look before you run it again."
    );
}
