//! Each call that a turn makes on files fails once, or is the one in which the program is killed. What was on record stays,
//! what the list calls interrupted can be resumed, and the next message is taken.
//!
//! The calls are those of a run that nothing happens to: each system call on files, as often as the thread makes it that
//! makes it most. A sample of them, unless somebody wants them all: `ASIDE_FAULTS=all cargo test --test it -- kill::faults
//! --nocapture`.

use std::{
    fs,
    path::Path,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use aside_session::conversation::ConversationActivity;
use tempfile::TempDir;

use super::{
    story::{STORY, StoryGround, StoryTurn, side_by_side},
    strace::{At, calls, kill},
    wants_all,
    whole::names,
};
use crate::world::ProgramResult;

/// Calls of each kind of fault that are tried.
const SAMPLE: usize = 6;

fn run(ground: &StoryGround, turn: &StoryTurn, resume: bool) -> ProgramResult {
    let args = ground.args(turn, resume);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ground.world.aside(&args)
}

/// A conversation with a turn that ended well, to which one can return.
struct Told {
    ground: StoryGround,
    kept: TempDir,
    log: Vec<u8>,
}

impl Told {
    fn new() -> Self {
        let ground = StoryGround::new();
        run(&ground, &STORY[1], false).exits(0).writes("Counted.\n");
        let (kept, log) = (
            tempfile::tempdir().unwrap(),
            fs::read(ground.log()).unwrap(),
        );
        let told = Self { ground, kept, log };
        for name in CHANGED {
            copy(
                &told.ground.world.folder().join(name),
                &told.kept.path().join(name),
            );
        }
        told
    }

    /// All is as it was behind that turn.
    fn again(self) -> Self {
        for name in CHANGED {
            let folder = self.ground.world.folder().join(name);
            fs::remove_dir_all(&folder).unwrap();
            copy(&self.kept.path().join(name), &folder);
        }
        self
    }

    /// Plays another turn with this fault, and checks what is left. Returns whether there was one.
    fn check(&self, at: At) -> bool {
        let ground = &self.ground;
        let outcome = kill(ground, &ground.args(&STORY[0], false), at);
        let happened = outcome.next.is_some() || outcome.failed > 0;

        let now = fs::read(ground.log()).unwrap();
        assert!(
            now.starts_with(&self.log),
            "{at:?}: what was on record stays"
        );
        let listed = ground.store.list().unwrap();
        assert_eq!(listed.len(), 1, "{at:?}");
        if listed[0].status == ConversationActivity::Interrupted {
            let resumed = run(ground, &STORY[0], true);
            assert!([0, 4].contains(&resumed.code), "{at:?}: {resumed:#?}");
        }
        let next = run(ground, &STORY[1], false);
        assert_eq!(
            (next.code, next.stdout.as_str()),
            (0, "Counted.\n"),
            "{at:?}: {next:#?}"
        );
        assert_eq!(ground.conversation.read_all().unwrap().faults, [], "{at:?}");
        let left = names(&ground.world.at(""));
        assert!(left == ["count", "notes.txt"], "{at:?}: {left:?}");
        happened
    }
}

/// What a turn changes in a world.
const CHANGED: [&str; 2] = ["work", "state"];

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).unwrap();
        }
    }
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
    if !wants_all() {
        fastrand::shuffle(&mut tried);
        tried.truncate(SAMPLE);
    }
    let (happened, free) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    side_by_side(tried.len(), |n| {
        let (call, number) = tried[n];
        let told = free.lock().unwrap().pop();
        let told = told.map_or_else(Told::new, Told::again);
        if told.check(at(call, number)) {
            happened.fetch_add(1, Ordering::Relaxed);
        }
        free.lock().unwrap().push(told);
    });
    // Which thread does what differs a little from run to run.
    eprintln!(
        "{what}: {} of {} calls, and it happened in {}: 0 cannot be opened, 0 words lost, 0 requests refused",
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
