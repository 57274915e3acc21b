//! The driver, tried on a toy server that is right, or wrong in one way.

use std::{
    cmp::Reverse,
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use aside_conformance::cases;
use serde_json::Value;

const CONFORMANCE: &str = env!("CARGO_BIN_EXE_conformance");
const TOY: &str = env!("CARGO_BIN_EXE_toy-server");

/// Runs the driver on a server; gives its exit code and the verdicts.
fn conform(options: &[&str], server: &[&str]) -> (i32, Value) {
    let output = Command::new(CONFORMANCE)
        .arg("--json")
        .args(options)
        .arg("--")
        .args(server)
        .output()
        .unwrap();
    let stdout = String::from_utf8_lossy(&output.stdout);
    let verdicts = serde_json::from_str(&stdout).unwrap_or_else(|error| {
        panic!(
            "{error}: {stdout}{}",
            String::from_utf8_lossy(&output.stderr)
        )
    });
    (output.status.code().unwrap(), verdicts)
}

/// The names of the cases that failed, and all that is said of them.
fn failed(verdicts: &Value) -> (Vec<&str>, String) {
    let cases = verdicts["cases"].as_array().unwrap();
    let failed: Vec<_> = cases
        .iter()
        .filter(|case| case["passed"] == false)
        .collect();
    let names = failed
        .iter()
        .map(|case| case["name"].as_str().unwrap())
        .collect();
    let why = failed
        .iter()
        .map(|case| format!("{}: {}\n", case["name"], case["why"]))
        .collect();
    (names, why)
}

#[test]
fn the_right_server_passes_all_cases() {
    let (code, verdicts) = conform(&["--timeout", "30", "--silent", "--asker"], &[TOY]);
    let (names, why) = failed(&verdicts);
    assert!(names.is_empty(), "{why}");
    assert_eq!(code, 0);
    assert_eq!(
        verdicts["passed"].as_u64().unwrap(),
        cases::all().len() as u64
    );
}

#[test]
fn a_server_that_has_to_be_silent_fails_where_it_complains() {
    let complains = ["sh", "-c", r#"echo out of cheese >&2; exec "$0""#, TOY];
    let (code, verdicts) = conform(&["--only", "shutdown", "--silent"], &complains);
    let (names, why) = failed(&verdicts);
    assert_eq!((code, names.as_slice()), (1, &["shutdown"][..]));
    assert!(why.contains("its standard error: out of cheese"), "{why}");
    let (code, verdicts) = conform(&["--only", "shutdown"], &complains);
    assert_eq!(code, 0, "{verdicts}");
    let (code, verdicts) = conform(&["--only", "shutdown", "--silent"], &[TOY]);
    assert_eq!(code, 0, "{verdicts}");
}

#[test]
fn a_random_order_passes_whatever_the_seed() {
    for seed in ["2", "3", "4", "5", "6", "7", "8", "9"] {
        let (code, verdicts) = conform(
            &["--only", "random_order", "--seed", seed, "--timeout", "30"],
            &[TOY],
        );
        assert_eq!(code, 0, "seed {seed}: {verdicts}");
    }
}

/// A wrong server, and the cases that fail on it: these and no others.
const VARIANTS: [(&str, &[&str]); 18] = [
    ("late-counted", &["late_after_cancel"]),
    ("prompt-twice", &["prompts_sent_once"]),
    (
        "null-is-yes",
        &[
            "answer_null",
            "permission_null",
            "fallback_null",
            "beside_null",
        ],
    ),
    (
        "error-is-answer",
        &["answer_error", "permission_error", "fallback_error"],
    ),
    ("any-title-is-yes", &["fallback_wrong_title"]),
    (
        "answers-over-text",
        &["fallback_offers", "fallback_wrong_title"],
    ),
    (
        "any-answer-fits",
        &[
            "typed_number",
            "typed_multi_select",
            "typed_text",
            "typed_left_out",
            "wrong_type",
            "unknown_option",
            "fits_at_last",
        ],
    ),
    ("unknown-prompt-accepted", &["unknown_prompt"]),
    ("second-counted", &["elsewhere_then_reply"]),
    ("no-dismiss", &["elsewhere_dismisses"]),
    ("completed-early", &["completed_last_and_once"]),
    ("completed-twice", &["completed_last_and_once"]),
    ("field-missing", &["messages_well_formed"]),
    ("seq-gaps", &["seq_without_gaps"]),
    // Each of these sends a request, or `exit`, while a prompt is open.
    (
        "blocks",
        &[
            "silence",
            "late_after_cancel",
            "elsewhere",
            "elsewhere_dismisses",
            "elsewhere_then_reply",
            "reply_then_elsewhere",
            "typed_number",
            "typed_multi_select",
            "typed_text",
            "typed_left_out",
            "answer_null",
            "wrong_type",
            "unknown_option",
            "unknown_action",
            "answer_missing",
            "fits_at_last",
            "unfit_prompt_answer",
            "second_turn",
            "steer",
            "turn_after_turn",
            "two_conversations",
            "permission_late",
            "exit_at_the_prompt",
            "resume_first",
            "flood",
            "random_order",
            "fallback_null",
            "fallback_later",
            "fallback_one_at_a_time",
        ],
    ),
    ("revoke-forgotten", &["approval_kept_and_revoked"]),
    ("trust-unseen", &["preview_before_trust"]),
    // Each of these leaves a prompt open and resumes it.
    (
        "vanish-completes",
        &[
            "vanish_at_the_prompt",
            "vanish_between_prompts",
            "vanish_twice",
            "exit_at_the_prompt",
            "resume_first",
            "seq_without_gaps",
        ],
    ),
];

#[test]
fn each_wrong_server_fails_the_cases_that_it_should_and_passes_the_others() {
    let check = |(wrong, expected)| {
        // Where nothing comes, the whole deadline is waited for.
        let (code, verdicts) = conform(
            &["--timeout", "4", "--jobs", "16", "--asker"],
            &[TOY, "--wrong", wrong],
        );
        let (names, why) = failed(&verdicts);
        assert_eq!(names, expected, "{wrong}:\n{why}");
        assert_eq!(code, 1, "{wrong}");
    };
    // Most of it is waiting, four at a time; those of which most is waited for come first.
    let mut variants = VARIANTS;
    variants.sort_by_key(|(_, expected)| Reverse(expected.len()));
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(variant) = variants.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(*variant);
                }
            });
        }
    });
}

#[test]
fn every_wrong_server_is_in_the_table() {
    let help = Command::new(TOY).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout);
    let offered: Vec<_> = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next())
        .collect();
    assert_eq!(offered, VARIANTS.map(|(wrong, _)| wrong), "{help}");
}

#[test]
fn a_broken_rule_fails_its_case_though_another_was_chosen() {
    let (code, verdicts) = conform(&["--only", "answer_boolean"], &[TOY, "--wrong", "seq-gaps"]);
    let (names, why) = failed(&verdicts);
    assert_eq!(names, ["seq_without_gaps"]);
    assert!(
        why.contains("t-2 has seq 2 where 1 was due (in answer_boolean)"),
        "{why}"
    );
    assert_eq!((code, verdicts["passed"].as_u64()), (1, Some(1)));
}

#[test]
fn what_is_no_server_fails_and_does_not_hold_up_the_driver() {
    for (server, why) in [
        (
            &["sleep", "60"][..],
            "a response to initialize did not come within 1s",
        ),
        (&["false"], "did not come: the server ended"),
        (&["sh", "-c", "echo no idea >&2"], "it said \\\"no idea\\\""),
        (&["echo", "hello"], "this is no line of a header"),
        (&["/no/such/server"], "cannot be started"),
    ] {
        let (code, verdicts) = conform(&["--only", "initialize", "--timeout", "1"], server);
        let (_, said) = failed(&verdicts);
        assert_eq!(code, 1, "{server:?}");
        assert!(said.contains(why), "{server:?}: {said}");
    }
}

#[test]
fn bad_usage_is_exit_2() {
    for arguments in [
        &[][..],
        &["--only", "nothing", "--", "x"],
        &["--timeout", "0", "--", "x"],
    ] {
        let output = Command::new(CONFORMANCE).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn the_readme_has_the_tables_of_cases() {
    let readme =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).unwrap();
    for cases in [cases::all(), cases::agent::all()] {
        let table = cases::table(&cases);
        assert!(
            readme.contains(&table),
            "a table in README.md has to be that of `conformance --list`:\n{table}"
        );
    }
}

#[test]
fn names_of_cases_are_unique_and_each_rule_has_its_case() {
    let names_of = |cases: Vec<cases::Case>| {
        let mut names: Vec<_> = cases.iter().map(|case| case.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), cases.len());
        names
    };
    names_of(cases::agent::all());
    let names = names_of(cases::all());
    for rule in aside_conformance::ledger::Rule::ALL {
        assert!(names.contains(&rule.case()), "{rule:?}");
    }
}
