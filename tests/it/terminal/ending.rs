//! Turns that end while somebody is asked: by Ctrl-C, by a signal, by a terminal that goes away.

use std::{
    fs,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::person::{PtyPerson, PtyStart, output};
use crate::world::{EventLog, TestWorld, wait_since};

/// Asks and says what the answer was; a later turn greets.
const ASKING: &str = r#"
    { turn = 1, step = 1 } => ask_user { question = "Which way?" }
    { turn = 1, result = { contains = "left" } } => "Left it is."
    { turn = 2 } => "Here I am."
"#;

/// Asks while a command runs that does not end when it is told to; goes on when both have ended.
const RUNNING: &str = r#"
run_command run { command = "trap '' TERM INT HUP; echo $$ >pid; mv pid begun; while :; do sleep 1; done" }
+ ask_user ask { question = "Which way?" }
"I see."
"#;

const FREE: [&str; 4] = ["--trust", "--unsandboxed", "--mode", "auto"];

fn again<'a>(args: &[&'a str]) -> PtyStart<'a> {
    PtyStart::aside(&[&["run", "--trust"], args].concat())
}

/// The id of the prompt that was opened, which is one however often it was shown.
fn prompt(log: &EventLog) -> &Value {
    &log.one("prompt_opened")["prompt"]
}

/// The process of the command, once it runs.
fn command(world: &TestWorld, person: &mut PtyPerson) -> Pid {
    person.is_asked();
    let begin = Instant::now();
    while !world.at("begun").exists() {
        let waited = begin.elapsed();
        assert!(
            waited < super::person::PATIENCE,
            "the command does not begin"
        );
        wait_since(begin);
    }
    let pid = fs::read_to_string(world.at("begun")).unwrap();
    Pid::from_raw(pid.trim().parse().unwrap()).unwrap()
}

/// The process has ended, or does so within the two seconds that it is given.
fn assert_gone(pid: Pid) {
    let begin = Instant::now();
    let stat = format!("/proc/{}/stat", pid.as_raw_nonzero());
    let runs = || {
        let stat = fs::read_to_string(&stat).unwrap_or_default();
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| !state.starts_with(['Z', 'X']))
    };
    while runs() {
        let waited = begin.elapsed();
        assert!(waited < Duration::from_secs(2), "the command still runs");
        wait_since(begin);
    }
}

#[test]
fn one_ctrl_c_cancels_and_the_conversation_goes_on() {
    let world = TestWorld::new();
    let mut person = PtyPerson::runs(&world, ASKING, &["--trust"]);
    person.is_asked();
    person.types("half an ans\x03");
    let rest = person.ends(130);
    assert!(rest.contains("\n(no longer asked: withdrawn)\n"), "{rest}");
    let hint = format!(
        "\ncancelled; continue with: aside run -c {} 'Go on.' --trust\n",
        world.conversation()
    );
    assert!(rest.contains(&hint), "{rest}");
    assert_eq!(output(&world), "");
    let log = world.log();
    assert_eq!(log.one("inquiry_response")["reason"], "withdrawn");
    assert_eq!(log.one("tool_result")["content"], "Cancelled by the user.");
    assert_eq!(log.one("turn_end")["outcome"], "cancelled");

    world.aside(&["run", "--trust", "--resume"]).exits(2);
    let model = world.script(ASKING);
    let goes_on = again(&["--continue", "-m", &model, "Again"]);
    PtyPerson::starts(&world, &goes_on).ends(0);
    assert_eq!(output(&world), "Here I am.\n");
}

#[test]
fn two_ctrl_c_leave_and_the_turn_can_be_resumed() {
    let world = TestWorld::new();
    let mut person = PtyPerson::runs(&world, RUNNING, &FREE);
    let command = command(&world, &mut person);
    person.types("\x03");
    person.sees("\n(no longer asked: withdrawn)\n");
    person.types("\x03");
    let rest = person.ends(130);
    assert!(
        rest.contains("interrupted; continue with: aside run -c "),
        "{rest}"
    );
    assert_gone(command);
    assert_eq!(world.log().one("turn_end")["outcome"], "interrupted");

    PtyPerson::starts(&world, &again(&["--resume"])).ends(0);
    assert_eq!(output(&world), "I see.\n");
    let log = world.log();
    assert_eq!(
        log.told("run"),
        "run_command was interrupted; its effects are unknown. Look before you run it again."
    );
    assert_eq!(log.told("ask"), "Cancelled by the user.");
}

/// Ends the program while it asks; the same prompt is then shown by a resume, and answered.
fn is_asked_again(end: impl FnOnce(PtyPerson)) {
    let world = TestWorld::new();
    let mut person = PtyPerson::runs(&world, ASKING, &["--trust"]);
    let before = person.is_asked();
    end(person);
    let log = world.log();
    assert_eq!(
        log.all("inquiry_response").len(),
        0,
        "nobody decided anything"
    );
    assert_eq!(log.one("turn_end")["outcome"], "interrupted");
    let id = prompt(&log).clone();

    let mut person = PtyPerson::starts(&world, &again(&["--resume"]));
    assert_eq!(person.is_asked(), before);
    person.types("left\n");
    person.ends(0);
    assert_eq!(output(&world), "Left it is.\n");
    let log = world.log();
    assert_eq!(prompt(&log), &id);
    assert_eq!(log.one("inquiry_request")["question"]["text"], "Which way?");
    assert_eq!(log.one("inquiry_response")["answer"], "left");
}

#[test]
fn a_prompt_outlives_the_end_of_the_program() {
    is_asked_again(|person| {
        kill_process(person.pid(), Signal::TERM).unwrap();
        let rest = person.ends(143);
        assert!(rest.contains("\nwaits: Assistant: Which way?\n"), "{rest}");
    });
}

#[test]
fn a_prompt_outlives_its_terminal() {
    is_asked_again(|person| assert_eq!(person.hangs_up(), 129));
}

#[test]
fn a_terminal_that_goes_away_leaves_no_process() {
    let world = TestWorld::new();
    let mut person = PtyPerson::runs(&world, RUNNING, &FREE);
    let command = command(&world, &mut person);
    assert_eq!(person.hangs_up(), 129);
    assert_gone(command);
    let log = world.log();
    assert_eq!(log.one("turn_end")["outcome"], "interrupted");
    assert_eq!(log.all("tool_result").len(), 0);
}
