//! Tools that ask for ever, hang, crash, babble and flood: each ends its call, and the turn goes on.

use std::{fs, time::Instant};

use serde_json::json;

use super::{ALLOWED, calls, define, told, world};
use crate::world::{LONG, TestWorld};

#[track_caller]
fn check(script: &str, expected: &str) {
    assert_eq!(told(&world(script, ""), &[]), expected, "{script}");
}

#[test]
fn an_outcome_is_what_the_program_prints() {
    check("cat >/dev/null; echo plain; echo text", "plain\ntext");
    check("true", "(no output)");
    // What is said on standard error is for people, unless the program fails.
    check(
        r#"echo working >&2; echo '{"type":"success","content":"fine"}'"#,
        "fine",
    );
    check(
        r#"echo '{"type":"error","message":"no such service","trace":["line 3"]}'"#,
        "no such service\nline 3",
    );
    check(
        r#"echo '{"type":"error","message":"no such service"}'; exit 2"#,
        "no such service",
    );
    check(
        r#"echo '{"type":"success","content":"fine"}'; echo why >&2; exit 3"#,
        "mine failed. Exit status 3.\nStandard output:\n{\"type\":\"success\",\"content\":\"fine\"}\n\
         Standard error:\nwhy",
    );
}

#[test]
fn a_crash_is_an_error() {
    check(
        "echo half; kill -SEGV $$",
        "mine failed. Ended by signal 11 (SIGSEGV).\nStandard output:\nhalf",
    );
    let world = TestWorld::new();
    define(&world, "mine", &["/nowhere/at/all"], "");
    let told = told(&world, &[]);
    assert!(
        told.starts_with("mine could not be started: No such file or directory")
            && told.ends_with("tell the user to look at conversation.tools.mine.command."),
        "{told}"
    );
}

#[test]
fn what_hangs_is_stopped_with_all_that_it_started() {
    let world = world(
        "setsid sleep 1000 & echo $! >pids; trap '' TERM; echo begun >&2; while :; do sleep 1; done",
        "",
    );
    let begin = Instant::now();
    let told = told(&world, &["--set", "conversation.limits.tool_seconds=1"]);
    // The turn's own limit is half a second later, and may come first where it takes as long to end all of it.
    let says = |what: &str| told.contains(what);
    assert!(
        says("was stopped") && says("; its effects are unknown."),
        "{told}"
    );
    assert!(begin.elapsed() < LONG);
    let pid = world.read("pids");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(stat.is_err() || stat.unwrap().contains(" Z "));
}

#[test]
fn what_asks_for_ever_is_stopped() {
    let asks = |id: &str| {
        let question = r#"{"id":"ID","text":"Again?","answer_type":"Boolean","default":true}"#;
        let question = question.replace("ID", id);
        format!("printf '%s' '{{\"type\":\"needs_input\",\"question\":{question}}}'")
    };
    let keeps = "mine keeps asking and was stopped. Do not retry this tool call in this turn.";
    let by_default = ["--detached", "tool=defaults"];
    let same = world(&asks("it"), "");
    assert_eq!(told(&same, &by_default), keeps);
    assert_eq!(same.log().all("inquiry_request").len(), 4);
    let other = format!("echo x >>count; n=$(wc -l <count); {}", asks("q'$n'"));
    let other = world(&other, "");
    assert_eq!(told(&other, &by_default), keeps);
    assert_eq!(other.log().all("inquiry_request").len(), 33);
}

#[test]
fn a_broken_question_is_asked_of_nobody() {
    let check = |question: &str, what: &str| {
        let world = world(
            &format!("echo '{{\"type\":\"needs_input\",\"question\":{question}}}'"),
            "",
        );
        let expected = format!(
            "mine asked an invalid question ({what}). This is a defect of the tool; do not retry."
        );
        assert_eq!(told(&world, &[]), expected);
        let log = world.log();
        assert_eq!(log.one("inquiry_response")["reason"], "invalid_question");
    };
    check(
        r#"{"id":"a","text":"?","answer_type":"Colour"}"#,
        "its answer type is not known",
    );
    check(
        r#"{"id":"a","text":"?","answer_type":{"type":"select","options":[]}}"#,
        "it has no options",
    );
    check("7", "it is no object");
}

#[test]
fn what_is_no_utf_8_is_shown_as_far_as_it_is() {
    check(r"printf 'a\377b\033[31mc\000'", "a\u{fffd}bc␀");
    check(
        r#"printf '{"type":"success","content":"\377"}'"#,
        "{\"type\":\"success\",\"content\":\"\u{fffd}\"}",
    );
}

/// A part of a gigabyte is as much as is never kept whole; `ASIDE_TEST_GIGABYTE=1` sends all of it.
#[test]
fn a_gigabyte_takes_no_memory() {
    let bytes: u64 = match std::env::var_os("ASIDE_TEST_GIGABYTE") {
        Some(_) => 1 << 30,
        None => 96 << 20,
    };
    // What the program itself takes at most, before and after.
    let script = r#"
        cat >/dev/null
        parent=$(sed -n 's/^PPid:\t//p' /proc/$PPID/status)
        sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' /proc/$parent/status >>peaks
        [ $(wc -l <peaks) = 2 ] || head -c BYTES /dev/zero
    "#;
    let world = world(&script.replace("BYTES", &bytes.to_string()), "");
    let script = calls("mine", &[json!({}), json!({})]);
    world.run(&script, &ALLOWED).exits(0);
    let told = world.log().told("call1").to_owned();
    let left_out = format!(" of {bytes} bytes are left out here; its first 8 MiB are kept: ");
    assert!(told.contains(&left_out), "{}", told.len());
    let peaks = world.read("peaks");
    let peaks: Vec<u64> = peaks.lines().map(|line| line.parse().unwrap()).collect();
    let [before, after] = peaks[..] else {
        panic!("{peaks:?}")
    };
    assert!(after - before < 32 << 10, "{peaks:?}");
}
