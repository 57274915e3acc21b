//! Each call that a turn makes on files fails once, or is the one in which the program is killed. What was on record stays,
//! what the list calls interrupted can be resumed, and the next message is taken.
//!
//! A sample of the calls, unless somebody wants them all: `ASIDE_FAULTS=all cargo test --test it -- kill::faults
//! --nocapture`.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use aside::session::conversation::ConversationActivity;

use super::{
    story::{STORY, StoryGround, StoryTurn, side_by_side},
    strace::{At, kill},
};
use crate::world::ProgramResult;

/// Calls of each kind of fault that are tried.
const SAMPLE: usize = 10;

/// No turn of the story makes so many calls in a thread.
const CALLS: usize = 400;

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

/// Tries a sample of the calls, or all.
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn try_calls(what: &str, at: impl Fn(usize) -> At + Sync) {
    let all = std::env::var_os("ASIDE_FAULTS").is_some();
    let step = if all { 1 } else { CALLS / SAMPLE };
    let first = if all { 1 } else { fastrand::usize(1..=step) };
    let faults = AtomicUsize::new(0);
    side_by_side(CALLS / step, |n| {
        if check(at(first + n * step)) {
            faults.fetch_add(1, Ordering::Relaxed);
        }
    });
    eprintln!(
        "{what}: {} calls, 0 conversations lost",
        faults.into_inner()
    );
}

#[test]
fn a_call_that_fails_once_costs_no_conversation() {
    for error in ["ENOSPC", "EIO", "EINTR"] {
        try_calls(error, |n| At::Fails(error, n));
    }
}

#[test]
fn a_kill_in_any_call_costs_no_conversation() {
    try_calls("SIGKILL", At::Change);
}
