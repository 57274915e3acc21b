//! Requests that fail and are sent again.

use serde_json::json;

use crate::world::TestWorld;

/// Each retry as its number and why, and the answer.
#[track_caller]
fn check(faults: &str, args: &[&str], reasons: &[&str]) {
    let world = TestWorld::new();
    let script = format!("{faults}\n'At last.'");
    let lines = world
        .run(&script, &[args, &["--output", "jsonl"]].concat())
        .exits(0)
        .lines();
    let retries: Vec<_> = lines
        .iter()
        .filter(|line| line["params"]["update"]["kind"] == "retry")
        .collect();
    assert_eq!(retries.len(), reasons.len(), "{retries:#?}");
    for (place, (retry, reason)) in retries.iter().zip(reasons).enumerate() {
        let update = &retry["params"]["update"];
        assert_eq!(update["attempt"], place + 1);
        assert!(
            update["reason"].as_str().unwrap().contains(reason),
            "{update}"
        );
    }
    assert_eq!(lines.last().unwrap()["params"]["answer"], "At last.");
    let log = world.log();
    assert_eq!(log.all("text").len(), 1, "what was cut is not there");
    assert_eq!(log.one("turn_end")["outcome"], json!("completed"));
}

#[test]
fn a_server_that_is_busy_is_waited_for() {
    check(
        "{} => -\n& fault = { status = 429, retry_after = 0.1, text = 'Slowly.' }",
        &[],
        &["Slowly."],
    );
    check(
        "{} => -\n& fault = { status = 500, text = 'Broken.' }",
        &[],
        &["Broken."],
    );
}

#[test]
fn a_server_that_is_overloaded_is_waited_for() {
    check(
        "{} => -\n& fault = { status = 529, text = 'Too much.' }",
        &[],
        &["Too much."],
    );
}

#[test]
fn a_stream_that_breaks_is_begun_again() {
    let cut = "{} => { text = 'At la', pieces = 5 }\n& fault = { cut_after = 3 }";
    check(cut, &[], &[""]);
    check(&format!("{cut}\n{cut}"), &[], &["", ""]);
}

#[test]
fn retries_have_a_bound() {
    let busy = "always -\n& fault = { status = 429, text = 'Slowly.' }";
    let check = |limit: &str, retries: usize| {
        let world = TestWorld::new();
        let done = world
            .run(busy, &["--set", limit, "--output", "jsonl"])
            .exits(1);
        let lines = done.lines();
        assert_eq!(
            done.stdout.matches(r#""kind":"retry""#).count(),
            retries,
            "{limit}"
        );
        let error = &lines.last().unwrap()["params"]["error"];
        assert_eq!(error["code"], "provider");
        assert!(
            error["message"].as_str().unwrap().contains("Slowly."),
            "{error}"
        );
    };
    check("conversation.limits.retries=1", 1);
    check("conversation.limits.retries=0", 0);
    check("conversation.limits.retry_seconds=0", 0);
}

#[test]
fn the_cost_after_a_broken_response_is_said_to_be_a_part() {
    let cut = r#"
        [[reply]]
        say = [{ text = "Half an answer", pieces = 4 }]
        usage = { input = 95000, output = 5, cost = 0.19 }
        fault = { cut_after = 3 }
        [[reply]]
        say = [{ text = "Whole." }]
        usage = { input = 95000, output = 5, cost = 0.19 }
    "#;
    let world = TestWorld::new();
    world
        .run(cut, &[])
        .exits(0)
        .writes("Whole.\n")
        .says("at least 0.1900 US dollars");
    let json = world.run(cut, &["--output", "json"]).exits(0).json();
    assert_eq!(json["usage"]["atLeast"], true, "{json}");
    let whole = &cut[cut.rfind("[[reply]]").unwrap()..];
    let json = world.run(whole, &["--output", "json"]).exits(0).json();
    assert_eq!(json["usage"].get("atLeast"), None, "{json}");
}
