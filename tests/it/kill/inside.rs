//! The program is killed inside a tool's run, and as soon as something was told.

use std::{
    fs,
    io::{BufRead, BufReader},
    process::Child,
    sync::atomic::{AtomicUsize, Ordering},
};

use aside_session::conversation::ConversationActivity;

use super::{
    Sample,
    story::{STORY, StoryGround, StoryTurn, side_by_side},
    whole,
};
use crate::world::until;

/// Counts, and then hangs on with processes that do not want to end.
const CLINGING: &str = r#"
    [[reply]]
    when = { step = 1 }
    repeat = true
    say = [{ call = "run_command", arguments = { command = """
        echo once >>count
        setsid sh -c 'trap "" TERM HUP; echo >>begun; while :; do sleep 1; done' &
        (setsid sh -c 'echo >>begun; exec sleep 1000' &)
        trap "" TERM; echo >>begun; while :; do sleep 1; done""" } }]

    [[reply]]
    repeat = true
    say = [{ text = "Looked." }]
"#;

const CLING: StoryTurn = StoryTurn {
    message: "Count",
    script: ("clinging.toml", CLINGING),
    args: &["--mode", "auto"],
};

#[test]
fn killed_inside_a_run_it_leaves_no_process_and_says_what_is_not_known() {
    side_by_side(4, |_| {
        let ground = StoryGround::new();
        fs::write(
            ground.world.folder().join("scripts/clinging.toml"),
            CLINGING,
        )
        .unwrap();
        let mut program = begin(&ground, &CLING, &[]);
        let begun = ground.world.at("begun");
        until("a running command", || {
            fs::read(&begun).is_ok_and(|lines| lines.len() == 3)
        });
        program.kill().unwrap();
        program.wait().unwrap();
        until("no process", || whole::processes(&ground).is_empty());

        assert_eq!(
            ground.store.list().unwrap()[0].status,
            ConversationActivity::Interrupted
        );
        ends(&ground, &CLING);
        let [history] = &whole::histories(&ground, 1)[..] else {
            panic!("one turn")
        };
        let unknown =
            "run_command was interrupted; its effects are unknown. Look before you run it again.";
        assert_eq!(history.results(), [unknown]);
        assert_eq!(ground.world.read("count"), "once\n");
    });
}

#[test]
fn what_was_told_is_on_record_whenever_it_is_killed() {
    let told = AtomicUsize::new(usize::MAX);
    let sample = Sample::one_in(4);
    // The last notification is told when all is over.
    side_by_side(sample.count(80), |n| {
        let (n, turn) = (sample.place(n), &STORY[0]);
        if n >= told.load(Ordering::Relaxed) {
            return;
        }
        let ground = StoryGround::new();
        let mut program = begin(&ground, turn, &["--output", "jsonl"]);
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        let heard: Vec<String> = lines.by_ref().take(n + 1).map(Result::unwrap).collect();
        program.kill().unwrap();
        program.wait().unwrap();
        if heard
            .last()
            .is_none_or(|last| last.contains("turn/completed"))
        {
            told.fetch_min(heard.len(), Ordering::Relaxed);
        }
        recorded(&heard, &fs::read_to_string(ground.log()).unwrap());
        // A child that was not yet itself may hold the lock for a moment.
        until("no process", || whole::processes(&ground).is_empty());
        if !fs::read_to_string(ground.log())
            .unwrap()
            .contains(r#""type":"turn_end""#)
        {
            ends(&ground, turn);
        }
        whole::check(&ground, 1);
    });
    let told = told.into_inner();
    assert!((20..80).contains(&told), "{told} notifications");
}

/// Whatever a client was told of calls and their results is in the log.
pub(super) fn recorded(heard: &[String], log: &str) {
    let times = |text: &str| heard.iter().filter(|line| line.contains(text)).count();
    let events = |text: &str| log.matches(text).count();
    assert!(
        times(r#""kind":"toolResult""#) <= events(r#""type":"tool_result""#),
        "{heard:#?}\n{log}"
    );
    assert!(
        times(r#""status":"running""#) <= events(r#""type":"call_started""#),
        "{heard:#?}\n{log}"
    );
    assert!(
        times(r#""status":"answered""#) <= events(r#""type":"inquiry_response""#),
        "{heard:#?}\n{log}"
    );
    assert!(
        times(r#""kind":"edit""#) <= events(r#""type":"edit""#),
        "{heard:#?}\n{log}"
    );
    assert!(
        times("turn/completed") <= events(r#""type":"turn_end""#),
        "{heard:#?}\n{log}"
    );
}

fn begin(ground: &StoryGround, turn: &StoryTurn, more: &[&str]) -> Child {
    let args = ground.args(turn, false);
    let args: Vec<&str> = args
        .iter()
        .map(String::as_str)
        .chain(more.iter().copied())
        .collect();
    ground.world.command(&args).spawn().unwrap()
}

/// Goes on with the turn, or begins it where it was not begun; it comes to its end.
pub(super) fn ends(ground: &StoryGround, turn: &StoryTurn) {
    let status = ground.store.list().unwrap()[0].status;
    assert!(
        [
            ConversationActivity::Idle,
            ConversationActivity::Interrupted
        ]
        .contains(&status),
        "{status:?}"
    );
    let args = ground.args(turn, status == ConversationActivity::Interrupted);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ground.world.aside(&args).exits(0);
}
