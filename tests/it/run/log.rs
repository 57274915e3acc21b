//! The log of a run without a terminal: it says why a call failed, in each format of standard output.

use serde_json::json;

use crate::world::TestWorld;

const FREE: [&str; 4] = ["--trust", "--unsandboxed", "--mode", "auto"];

fn one_call(tool: &str, arguments: &serde_json::Value) -> String {
    let call = json!({"call": tool, "id": "c", "arguments": arguments});
    let replies = json!([{"say": [call]}, {"say": [{"text": "It is over."}]}]);
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

#[test]
fn a_failed_call_says_why_without_a_terminal() {
    let world = TestWorld::new();
    for (tool, arguments, why) in [
        (
            "run_command",
            json!({"command": "echo the reason; exit 3"}),
            "the reason",
        ),
        (
            "run_command",
            json!({"command": "echo the reason >&2; kill -9 $$"}),
            "the reason",
        ),
        (
            "run_command",
            json!({"command": "echo the reason; sleep 60", "timeout_seconds": 1}),
            "the reason",
        ),
        ("read_file", json!({"path": "missing.txt"}), "missing.txt"),
        (
            "edit_file",
            json!({"path": "missing.txt", "old_text": "a", "new_text": "b"}),
            "missing.txt",
        ),
        ("search", json!({"pattern": "("}), "regular expression"),
        ("no_such_tool", json!({}), "no_such_tool"),
    ] {
        for output in ["text", "json", "jsonl"] {
            let args = [&FREE[..], &["--output", output]].concat();
            world.run(&one_call(tool, &arguments), &args).says(why);
        }
    }
}

#[test]
fn a_long_failure_says_its_last_lines() {
    let world = TestWorld::new();
    let command = json!({"command": "seq -f 'line %g of many' 1 300; exit 1"});
    let done = world
        .run(&one_call("run_command", &command), &FREE)
        .exits(0);
    let lines: Vec<&str> = done
        .stderr
        .lines()
        .filter(|line| line.starts_with("  │"))
        .collect();
    let expected: Vec<String> = (281..=300)
        .map(|n| format!("  │ line {n} of many"))
        .collect();
    assert_eq!(lines, expected);
    let quiet = json!({"command": "seq -f 'line %g of many' 1 300"});
    let done = world.run(&one_call("run_command", &quiet), &FREE).exits(0);
    assert!(!done.stderr.contains("  │"), "{}", done.stderr);
}
