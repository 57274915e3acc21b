//! Exact kills: SIGKILL as the program enters a chosen system call, which then does not happen. Or it does not happen
//! for another reason, and the program goes on.

use std::{
    collections::{BTreeMap, HashMap},
    fs,
    path::Path,
    process::Command,
};

use super::story::StoryGround;
use crate::{
    traced::with_files_seen,
    world::{ASIDE, ProgramResult, TestWorld, start},
};

/// Where the program is killed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum At {
    /// As it is about to write its n-th line to the log, counted from 1. The line that announces an edit is written by
    /// another thread and is not counted.
    Line(usize),
    /// As a thread is about to rename a file for the n-th time. An edit keeps the old text and the new first.
    Rename(usize),
    /// As it is about to put a file in its place in the workspace for the n-th time. Other threads rename others.
    Place(usize),
    /// As a thread is about to change anything on disk, in any one way, for the n-th time.
    Change(usize),
    /// As a thread is about to make this call for the n-th time.
    Call(&'static str, usize),
    /// Not at all: each thread's n-th call of this fails with this error.
    Fails(&'static str, &'static str, usize),
    /// Not at all: each thread's n-th line to the log fails with this error.
    Refused(&'static str, usize),
}

/// What changes something on disk, and opens or writes what it may.
const CHANGES: [&str; 17] = [
    "openat",
    "write",
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "link",
    "linkat",
    "unlink",
    "unlinkat",
    "rmdir",
    "ftruncate",
    "chmod",
    "fchmod",
    "fchmodat",
    "fdatasync",
];

/// What came of it.
#[derive(Debug)]
pub(crate) struct TracedOutcome {
    /// The type of the line that was never written; none where the program ended before.
    pub(crate) next: Option<String>,
    /// How it ended.
    pub(crate) done: ProgramResult,
    /// Calls that failed because they were made to.
    pub(crate) failed: usize,
}

/// Runs the program in a ground and kills it there.
pub(super) fn kill(ground: &StoryGround, args: &[String], at: At) -> TracedOutcome {
    let command = command(ground, args);
    kill_command(&ground.world, &ground.log(), &command, at)
}

fn command(ground: &StoryGround, args: &[String]) -> Command {
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    ground
        .world
        .within("setsid", &[&[ASIDE], args.as_slice()].concat())
}

/// Runs a command of a world, whose conversation has this log, and kills it there.
pub(crate) fn kill_command(
    world: &TestWorld,
    log: &Path,
    command: &Command,
    at: At,
) -> TracedOutcome {
    need();
    let report = world.folder().join("strace");
    let inject = inject(at);
    let mut strace = vec!["strace", "-f", "-qqq", "-s", "300", "-o", text(&report)];
    if let At::Fails(..) | At::Refused(..) = at {
        // What is not of interest is not held up, by which a run takes a fraction of the time. No signal comes so.
        strace.push("--seccomp-bpf");
    }
    if let At::Line(_) | At::Refused(..) = at {
        strace.extend(["-P", text(log)]);
    }
    let work = world.at("");
    if let At::Place(_) = at {
        strace.extend(["-P", text(&work)]);
    }
    let trace = format!("trace={}", injected(at));
    strace.extend(["-e", &trace, "-e", &inject]);
    let done = traced(world, strace, command);
    let said = fs::read_to_string(&report).unwrap();
    fs::remove_file(&report).unwrap();
    assert!(
        done.code >= 0 || said.contains("+++ killed by SIGKILL +++"),
        "{done:?}\n{said}"
    );
    let next = (done.code < 0).then(|| match at {
        At::Line(_) | At::Refused(..) => type_of_last(&said),
        At::Rename(_) => "edit".into(),
        At::Place(_) => "tool_result".into(),
        At::Change(_) | At::Call(..) | At::Fails(..) => said.lines().last().unwrap().to_owned(),
    });
    let failed = said.matches("(INJECTED)").count();
    TracedOutcome { next, done, failed }
}

/// The calls that a run makes on files, each with the most times that one of its threads makes it.
pub(super) fn calls(ground: &StoryGround, args: &[String]) -> BTreeMap<&'static str, usize> {
    calls_of(&ground.world, &command(ground, args))
}

/// The same of a command of a world.
pub(crate) fn calls_of(world: &TestWorld, command: &Command) -> BTreeMap<&'static str, usize> {
    need();
    let report = world.folder().join("strace");
    let wanted = format!("trace=?{}", CHANGES.join(",?"));
    let mut strace = vec!["strace", "-f", "--seccomp-bpf", "-qqq"];
    strace.extend(["-o", text(&report), "-e", &wanted]);
    traced(world, strace, command);
    let said = fs::read_to_string(&report).unwrap();
    fs::remove_file(&report).unwrap();
    let mut counts: HashMap<(&str, &str), usize> = HashMap::new();
    for line in said.lines() {
        let (thread, call) = line.split_once(' ').unwrap();
        if let Some((name, _)) = call.trim_start().split_once('(') {
            *counts.entry((thread, name)).or_default() += 1;
        }
    }
    let most = |name: &str| {
        let of_threads = counts.iter().filter(|((_, call), _)| *call == name);
        of_threads.map(|(_, count)| *count).max()
    };
    CHANGES
        .iter()
        .filter_map(|name| Some((*name, most(name)?)))
        .collect()
}

/// Runs a command that begins with `setsid` below strace.
fn traced<'a>(world: &TestWorld, mut strace: Vec<&'a str>, command: &'a Command) -> ProgramResult {
    let program: Vec<&str> = command
        .get_args()
        .map(|arg| arg.to_str().unwrap())
        .collect();
    // Only paths have to be seen, and what makes that possible makes calls that would be counted.
    let program = match strace.contains(&"-P") {
        true => with_files_seen(&program),
        false => program,
    };
    strace.push("--");
    strace.extend(program);
    let mut traced = world.within("setsid", &strace);
    let set = command
        .get_envs()
        .filter_map(|(name, value)| Some((name, value?)));
    start(traced.envs(set)).end()
}

/// The calls in which something happens.
fn injected(at: At) -> String {
    match at {
        At::Line(_) | At::Refused(..) => "write".to_owned(),
        At::Rename(_) | At::Place(_) => "?rename,renameat,renameat2".to_owned(),
        At::Change(_) => format!("?{}", CHANGES.join(",?")),
        At::Fails(_, call, _) | At::Call(call, _) => format!("?{call}"),
    }
}

fn inject(at: At) -> String {
    let calls = injected(at);
    match at {
        At::Line(n) | At::Rename(n) | At::Place(n) | At::Change(n) | At::Call(_, n) => {
            format!("inject={calls}:signal=SIGKILL:when={n}")
        }
        At::Fails(error, _, n) | At::Refused(error, n) => {
            format!("inject={calls}:error={error}:when={n}")
        }
    }
}

/// The type of the last line that strace saw on its way to the log.
fn type_of_last(said: &str) -> String {
    let last = said.lines().rfind(|line| line.contains(" write("));
    let (_, after) = last
        .unwrap_or_else(|| panic!("no write: {said}"))
        .split_once(r#"\"type\":\""#)
        .unwrap();
    after.split_once('\\').unwrap().0.to_owned()
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn need() {
    let there = Command::new("strace")
        .arg("-V")
        .output()
        .is_ok_and(|said| said.status.success());
    assert!(
        there,
        "the tests need strace; install the package strace, such as with apt-get install strace"
    );
}
