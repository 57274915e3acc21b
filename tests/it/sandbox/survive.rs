//! Eight ways to survive what ends a command, all of them in one, and every way in which it is ended.
//!
//! `ASIDE_ENDS=100` plays each end a hundred times, on a machine that has nothing else to do: then nothing may be left
//! after two seconds. Otherwise the machine may be busy, and only that nothing is left counts.

#![expect(clippy::print_stdout, reason = "how long it took at most is on record")]

use std::{
    env, fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

use super::ground::{SandboxGround, SandboxedCall, User, auto_run, program, script, users};
use crate::world::{LONG, RunningProgram, start, until, until_within};

/// How long processes may live on after what held them, where time counts.
pub(crate) const SOON: Duration = Duration::from_secs(2);
/// How often each end is played, where nothing else is said.
const RUNS: usize = 10;

/// A command that leaves eight processes behind and goes on: in a session of their own, forked twice, deaf to a
/// terminal that hangs up, deaf to SIGTERM, with nothing open, in a group of their own, stopped, and as a grandchild that
/// holds the output. Each has the mark in its arguments, with its number.
pub(crate) fn survivors(mark: &str) -> String {
    "setsid sleep 1000 @1 &
     (setsid sleep 1000 @2 &)
     nohup sleep 1000 @3 >/dev/null 2>&1 &
     sh -c 'trap \"\" TERM HUP INT; exec sleep 1000 @4' &
     sleep 1000 @5 <&- >&- 2>&- &
     python3 -c 'import os; os.setpgid(0, 0); os.execvp(\"sleep\", [\"sleep\", \"1000\", \"@6\"])' &
     sh -c 'kill -STOP $$' @7 &
     sh -c 'sleep 1000 @8 & exit' &
     exec sleep 1000"
        .replace('@', mark)
}

/// The processes that have the mark in their arguments, by its number.
pub(crate) fn marked(mark: &str) -> Vec<(char, Pid)> {
    let mut found = Vec::new();
    for process in fs::read_dir("/proc").unwrap().flatten() {
        let arguments = fs::read(process.path().join("cmdline")).unwrap_or_default();
        let last = arguments.split(|byte| *byte == 0).rev().nth(1);
        let last = String::from_utf8_lossy(last.unwrap_or_default()).into_owned();
        let number = last.strip_prefix(mark).and_then(|rest| rest.chars().next());
        let id = process
            .file_name()
            .to_str()
            .and_then(|name| name.parse().ok());
        if let (Some(number), Some(pid)) = (number, id.and_then(Pid::from_raw))
            && last.len() == mark.len() + 1
        {
            found.push((number, pid));
        }
    }
    found.sort_unstable_by_key(|(number, _)| *number);
    found
}

/// Waits until all eight are there.
pub(crate) fn all_there(mark: &str) {
    until_within(LONG, "eight processes", || {
        let mut numbers: Vec<_> = marked(mark).into_iter().map(|(number, _)| number).collect();
        numbers.dedup();
        numbers.len() == 8
    });
}

pub(crate) fn new_mark() -> String {
    format!("0.0{:08}", fastrand::u32(..100_000_000))
}

#[test]
fn eight_ways_outlive_a_plain_kill() {
    let mark = new_mark();
    let mut shell = Command::new("sh")
        .args(["-c", &survivors(&mark)])
        .stdin(Stdio::null())
        .spawn()
        .unwrap();
    all_there(&mark);
    kill_process(Pid::from_child(&shell), Signal::TERM).unwrap();
    shell.wait().unwrap();
    let left = marked(&mark);
    for (_, pid) in &left {
        let _ = kill_process(*pid, Signal::KILL);
    }
    assert_eq!(left.len(), 8, "{left:?}");
}

/// Ends a running program in one way.
pub(crate) type End = fn(&mut RunningProgram);

pub(crate) fn cancelled(program: &mut RunningProgram) {
    program.signal(Signal::INT);
}

pub(crate) fn told_to_leave(program: &mut RunningProgram) {
    program.signal(Signal::TERM);
}

pub(crate) fn killed(program: &mut RunningProgram) {
    program.signal(Signal::KILL);
}

/// As `killall -9 aside` does: the program and what it holds its commands with, before either hears of the other.
pub(crate) fn killed_with_all_of_its_name(program: &mut RunningProgram) {
    let own = i32::try_from(program.id()).unwrap();
    let holders = children(own);
    assert!(!holders.is_empty());
    program.signal(Signal::STOP);
    for pid in holders
        .iter()
        .copied()
        .chain([own])
        .filter_map(Pid::from_raw)
    {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn children(of: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{of}/task")).unwrap().flatten();
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    let all: Vec<String> = texts.collect();
    let words = all.iter().flat_map(|text| text.split_whitespace());
    words.filter_map(|word| word.parse().ok()).collect()
}

fn check(user: User, ends: End) {
    let ground = SandboxGround::new(user);
    let said = env::var("ASIDE_ENDS").ok();
    let runs = said.as_ref().map_or(RUNS, |runs| runs.parse().unwrap());
    let mut longest = Duration::ZERO;
    for _ in 0..runs {
        let mark = new_mark();
        let call = SandboxedCall {
            id: "run",
            command: survivors(&mark),
            cwd: ".",
        };
        let model = ground.world.script(&script(&[call]));
        ground.hand_over();
        let args = auto_run(&model, &[]);
        let mut running = start(&mut ground.command(program(), &args));
        all_there(&mark);
        ends(&mut running);
        let begin = Instant::now();
        until("none is left", || marked(&mark).is_empty());
        longest = longest.max(begin.elapsed());
        drop(running);
    }
    println!("{runs} runs: nothing was left after {longest:?}");
    assert!(said.is_none() || longest < SOON, "{longest:?}");
}

#[test]
fn none_outlives_a_cancelled_turn() {
    users().iter().for_each(|user| check(*user, cancelled));
}

#[test]
fn none_outlives_the_program_when_it_leaves() {
    users().iter().for_each(|user| check(*user, told_to_leave));
}

#[test]
fn none_outlives_the_program_when_it_is_killed() {
    users().iter().for_each(|user| check(*user, killed));
}

#[test]
fn none_outlives_everything_of_its_name() {
    users()
        .iter()
        .for_each(|user| check(*user, killed_with_all_of_its_name));
}
