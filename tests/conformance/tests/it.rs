//! The driver, tried on the real server, and on servers that are wrong in one way.

use std::{
    cmp::Reverse,
    fs,
    path::Path,
    process::Command,
    sync::atomic::{AtomicUsize, Ordering},
};

use aside_conformance::cases;
use aside_test_table::rows;
use serde_json::Value;

const CONFORMANCE: &str = env!("CARGO_BIN_EXE_conformance");
/// The real server, with the tool that asks.
const SERVER: &str = env!("CARGO_BIN_EXE_wrong-server");
/// Played beside the cases that a wrong server has to fail, which has to pass these.
const OTHERS: [&str; 6] = [
    "unknown_field",
    "answer_select",
    "decline_with_note",
    "permission_no",
    "own_turn_id",
    "turn_after_turn",
];

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
    let (code, verdicts) = conform(&["--timeout", "30", "--silent", "--asker"], &[SERVER]);
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
    let complains = ["sh", "-c", r#"echo out of cheese >&2; exec "$0""#, SERVER];
    let (code, verdicts) = conform(&["--only", "shutdown", "--silent"], &complains);
    let (names, why) = failed(&verdicts);
    assert_eq!((code, names.as_slice()), (1, &["shutdown"][..]));
    assert!(why.contains("its standard error: out of cheese"), "{why}");
    let (code, verdicts) = conform(&["--only", "shutdown"], &complains);
    assert_eq!(code, 0, "{verdicts}");
    let (code, verdicts) = conform(&["--only", "shutdown", "--silent"], &[SERVER]);
    assert_eq!(code, 0, "{verdicts}");
}

#[test]
fn a_random_order_passes_whatever_the_seed() {
    for seed in ["2", "3", "4", "5", "6", "7", "8", "9"] {
        let (code, verdicts) = conform(
            &["--only", "random_order", "--seed", seed, "--timeout", "30"],
            &[SERVER],
        );
        assert_eq!(code, 0, "seed {seed}: {verdicts}");
    }
}

/// Wrong servers with which hardly a case can pass.
const SPOILS_ALL: [&str; 1] = ["corrupted"];

/// A wrong server, and the cases that fail on it.
const VARIANTS: &str = "
    late-counted            | late_after_cancel
    prompt-twice            | prompts_sent_once
    null-is-yes             | answer_null permission_null beside_null
    error-is-answer         | answer_error permission_error fallback_error
    any-title-fits          | fallback_wrong_title
    answers-over-text       | fallback_offers
    any-answer-fits         | typed_number typed_multi_select typed_text typed_left_out wrong_type unknown_option fits_at_last
    unknown-prompt-accepted | reply_then_elsewhere unknown_prompt resume_first
    closed-twice            | elsewhere_then_reply reply_then_elsewhere
    no-dismiss              | silence elsewhere_dismisses
    completed-early         | completed_last_and_once
    completed-twice         | completed_last_and_once
    corrupted               | steer messages_well_formed
    field-missing           | messages_well_formed
    field-unknown           | messages_well_formed
    field-mistyped          | messages_well_formed
    undeclared              | messages_well_formed
    seq-gaps                | seq_without_gaps
    reordered               | seq_without_gaps
    update-lost             | permission_once seq_without_gaps
    response-twice          | many_requests
    # Each of these sends a request, or `exit`, while a prompt is open.
    blocks                  | silence elsewhere typed_number answer_null second_turn steer turn_after_turn exit_at_the_prompt flood fallback_later
    revoke-forgotten        | approval_kept_and_revoked
    trust-unseen            | preview_before_trust
    # Each of these leaves a prompt open and resumes it.
    vanish-completes        | vanish_at_the_prompt vanish_between_prompts vanish_twice resume_first
";

#[test]
fn each_wrong_server_fails_the_cases_that_it_should_and_passes_others() {
    let check = |[wrong, expected]: [&str; 2]| {
        let expected: Vec<&str> = expected.split(' ').collect();
        // Where nothing comes, the whole deadline is waited for.
        let mut options = vec!["--timeout", "4", "--jobs", "16"];
        let others = OTHERS.iter().filter(|_| !SPOILS_ALL.contains(&wrong));
        for case in expected.iter().chain(others) {
            options.extend(["--only", *case]);
        }
        let (code, verdicts) = conform(&options, &[SERVER, "--wrong", wrong]);
        let (names, why) = failed(&verdicts);
        assert_eq!(names, expected, "{wrong}:\n{why}");
        assert_eq!(code, 1, "{wrong}");
    };
    // Most of it is waiting, four at a time; those of which most is waited for come first.
    let mut variants = rows(VARIANTS);
    variants.sort_by_key(|[_, expected]| Reverse(expected.split(' ').count()));
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
fn a_wrong_agent_fails_the_cases_that_it_should() {
    for (wrong, expected) in [
        ("field-unknown", &["messages_well_formed"][..]),
        ("prompt-twice", &["prompts_sent_once"]),
        ("null-is-yes", &["answer_null"]),
        ("error-is-answer", &["answer_error"]),
    ] {
        let mut options = vec!["--acp", "--timeout", "4"];
        for case in expected.iter().chain(&["answer_select"]) {
            options.extend(["--only", *case]);
        }
        let (code, verdicts) = conform(&options, &[SERVER, "--wrong", wrong, "acp"]);
        let (names, why) = failed(&verdicts);
        assert_eq!((code, names.as_slice()), (1, expected), "{wrong}:\n{why}");
    }
}

#[test]
fn every_wrong_server_is_in_the_table() {
    let help = Command::new(SERVER).arg("--help").output().unwrap();
    let help = String::from_utf8_lossy(&help.stdout);
    let offered: Vec<_> = help
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ")?.split(':').next())
        .collect();
    let tried: Vec<_> = rows(VARIANTS).iter().map(|[wrong, _]| *wrong).collect();
    assert_eq!(offered, tried, "{help}");
}

#[test]
fn a_broken_rule_fails_its_case_though_another_was_chosen() {
    let (code, verdicts) = conform(
        &["--only", "answer_boolean"],
        &[SERVER, "--wrong", "seq-gaps"],
    );
    let (names, why) = failed(&verdicts);
    assert_eq!(names, ["seq_without_gaps"]);
    assert!(
        why.contains(" has seq ") && why.contains(" was due (in answer_boolean)"),
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
