//! Each call that a turn makes on files fails once, or is the one in which the program is killed. What was on record stays,
//! what the list calls interrupted can be resumed, and the next message is taken.
//!
//! The calls are those of a run that nothing happens to: each system call on files, as often as the thread makes it that
//! makes it most. A sample of them, unless somebody wants them all: `ASIDE_FAULTS=all cargo test --test it -- kill::faults
//! --nocapture`.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use aside::session::conversation::ConversationActivity;

use super::{
    story::{STORY, StoryGround, StoryTurn, side_by_side},
    strace::{At, calls, kill},
};
use crate::world::ProgramResult;

/// Calls of each kind of fault that are tried.
const SAMPLE: usize = 10;

fn run(ground: &StoryGround, turn: &StoryTurn, resume: bool) -> ProgramResult {
    let args = ground.args(turn, resume);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ground.world.aside(&args)
}

/// Plays a turn with this fault behind one that ended well, and checks what is left. Returns whether there was one.
fn check(at: At) -> bool {
    let ground = StoryGround::new();
    run(&ground, &STORY[1], false).exits(0).writes("Counted.\n");
    let before = fs::read(ground.log()).unwrap();
    let outcome = kill(&ground, &ground.args(&STORY[0], false), at);
    let happened = outcome.next.is_some() || outcome.failed > 0;

    let now = fs::read(ground.log()).unwrap();
    assert!(now.starts_with(&before), "{at:?}: what was on record stays");
    let listed = ground.store.list().unwrap();
    assert_eq!(listed.len(), 1, "{at:?}");
    if listed[0].status == ConversationActivity::Interrupted {
        let resumed = run(&ground, &STORY[0], true);
        assert!([0, 4].contains(&resumed.code), "{at:?}: {resumed:#?}");
    }
    let next = run(&ground, &STORY[1], false);
    assert_eq!(
        (next.code, next.stdout.as_str()),
        (0, "Counted.\n"),
        "{at:?}: {next:#?}"
    );
    assert_eq!(ground.conversation.read_all().unwrap().faults, [], "{at:?}");
    happened
}

/// Tries a sample of these calls, or all.
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn try_calls(
    what: &str,
    calls: &[(&'static str, usize)],
    at: impl Fn(&'static str, usize) -> At + Sync,
) {
    let mut tried = calls.to_vec();
    if std::env::var_os("ASIDE_FAULTS").is_none() {
        fastrand::shuffle(&mut tried);
        tried.truncate(SAMPLE);
    }
    let happened = AtomicUsize::new(0);
    side_by_side(tried.len(), |n| {
        let (call, number) = tried[n];
        if check(at(call, number)) {
            happened.fetch_add(1, Ordering::Relaxed);
        }
    });
    // Which thread does what differs a little from run to run.
    eprintln!(
        "{what}: {} of {} calls, and it happened in {}: 0 conversations lost",
        tried.len(),
        calls.len(),
        happened.into_inner()
    );
}

/// Each call on files that the first turn of the story makes behind another turn: its name, and its number.
fn all_calls() -> Vec<(&'static str, usize)> {
    let ground = StoryGround::new();
    run(&ground, &STORY[1], false).exits(0);
    let counts = calls(&ground, &ground.args(&STORY[0], false));
    let each = counts
        .into_iter()
        .flat_map(|(call, count)| (1..=count).map(move |n| (call, n)));
    each.collect()
}

#[test]
fn a_call_that_fails_once_costs_no_conversation() {
    let mut calls = all_calls();
    // Threads are woken by writes, too; those to the log have tests of their own.
    calls.retain(|(call, _)| *call != "write");
    for error in ["ENOSPC", "EIO", "EINTR"] {
        try_calls(error, &calls, |call, n| At::Fails(error, call, n));
    }
}

#[test]
fn a_kill_in_any_call_costs_no_conversation() {
    try_calls("SIGKILL", &all_calls(), At::Call);
}
