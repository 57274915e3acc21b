//! The exit codes that scripts depend on, each by a turn that ends so.

use aside_test_table::rows;
use serde_json::Value;

use crate::world::TestWorld;

/// Plays a script and checks the exit code, the outcome and the error's code. A turn that did not complete has
/// no answer for standard output, and says on standard error why.
#[track_caller]
fn check(script: &str, args: &[&str], code: i32, outcome: &str, error: Option<&str>) {
    let world = TestWorld::new();
    let json = world
        .run(script, &[args, &["--output", "json"]].concat())
        .exits(code);
    let end = json.json();
    assert_eq!(end["outcome"], outcome, "{end:#}");
    assert_eq!(end["error"]["code"].as_str(), error, "{end:#}");
    let recorded = world.log().one("turn_end").clone();
    assert_eq!(recorded["outcome"], outcome);
    assert_eq!(
        recorded["error"],
        end.get("error").cloned().unwrap_or(Value::Null)
    );

    let text = world.run(script, args).exits(code);
    if outcome == "completed" {
        assert!(!text.stdout.is_empty(), "{text:?}");
    } else {
        let message = end["error"]["message"].as_str().unwrap();
        assert_eq!(text.stdout, "");
        assert!(
            text.stderr.contains(&format!("error: {message}")),
            "{text:?}"
        );
    }
}

/// The model asks a user who is not there.
const ASKS: &str = r#"
    ask_user { question = "Which?" }
    "Without it, then."
"#;

#[test]
fn a_completed_turn_is_0() {
    check("'Done.'", &[], 0, "completed", None);
    check(ASKS, &[], 0, "completed", None);
}

#[test]
fn a_failed_turn_is_1() {
    let table = r#"
        provider     |                            | [[reply]]\nfault = { status = 400, text = 'No such thing.' }
        provider     |                            | [[reply]]\nfault = { status = 402, text = 'No credit.' }
        schema       | --schema {"type":"object"} | [[reply]]\nrepeat = true\nsay = [{ text = 'no JSON' }]
        refused      |                            | [[reply]]\nsay = [{ text = 'I w' }]\nfinish = 'refusal'
        refused      |                            | [[reply]]\nsay = [{ text = 'I w' }]\nfinish = 'content_filter'
        context_full |                            | [[reply]]\nsay = []\nfinish = 'context_full'
        # The script has no more to say.
        provider     |                            | [[reply]]\nsay = [{ call = 'list_files' }]
    "#;
    for [error, args, reply] in rows(table) {
        let args: Vec<&str> = args.split_whitespace().collect();
        check(&reply.replace(r"\n", "\n"), &args, 1, "failed", Some(error));
    }
}

#[test]
fn a_refusal_for_want_of_a_human_is_3_under_strict() {
    check(ASKS, &["--strict"], 3, "completed", None);
    check("'Done.'", &["--strict"], 0, "completed", None);
    // A mode's refusal is no want of a human.
    let edits = r#"
        write_file { path = "a", content = "a" }
        "Not possible."
    "#;
    check(
        edits,
        &["--trust", "--mode", "plan", "--strict"],
        0,
        "completed",
        None,
    );
    check(
        edits,
        &["--trust", "--mode", "ask", "--strict"],
        3,
        "completed",
        None,
    );
}

#[test]
fn a_budget_or_a_limit_is_5() {
    let costly = r#"
        list_files {}
        & usage = { cost = 0.02 }
        "Done."
        & usage = { cost = 0.02 }
    "#;
    check(costly, &["--max-cost", "0.01"], 5, "failed", Some("budget"));
    check(costly, &["--max-cost", "0.05"], 0, "completed", None);
    check(costly, &["--max-steps", "1"], 5, "failed", Some("limit"));
    check(costly, &["--max-steps", "2"], 0, "completed", None);
    let stalls = "'Wait'\n& fault = { stall = true }";
    check(stalls, &["--timeout", "1s"], 5, "failed", Some("limit"));
    let cut = "always reasoning 'So'\n& truncate_last = true";
    check(cut, &[], 5, "failed", Some("cut_off"));
    let nothing = "[[reply]]\nrepeat = true\nsay = []";
    check(nothing, &[], 1, "failed", Some("empty"));
    check(nothing, &["--strict"], 1, "failed", Some("empty"));
    let once = "[[reply]]\nsay = []\n[[reply]]\nsay = [{ text = 'Done.' }]";
    check(once, &[], 0, "completed", None);
    let after_a_call =
        "[[reply]]\nsay = [{ call = 'list_files' }]\n[[reply]]\nrepeat = true\nsay = []";
    check(after_a_call, &[], 1, "failed", Some("empty"));
}

#[test]
fn no_usable_provider_or_model_is_6() {
    check(
        "-\n& fault = { status = 401 }",
        &[],
        6,
        "failed",
        Some("no_provider"),
    );
    check(
        "-\n& fault = { status = 404 }",
        &[],
        6,
        "failed",
        Some("no_provider"),
    );
}

#[test]
fn a_model_in_a_circle_is_warned_and_then_stopped() {
    let same = "[[reply]]\nrepeat = true\nsay = [{ call = 'list_files' }]";
    let refused = "[[reply]]\nrepeat = true\nsay = [{ call = 'run_command', arguments = { command = 'true' } }]";
    let unknown = "[[reply]]\nrepeat = true\nsay = [{ call = 'no_such_tool' }]";
    for script in [same, refused, unknown] {
        check(script, &[], 5, "failed", Some("repeating"));
        let world = TestWorld::new();
        world
            .run(script, &[])
            .says("with the same result; it is told so")
            .says("7 times with the same result, also after it was told so");
    }
}
