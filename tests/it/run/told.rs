//! What a pipeline is told: by the exit code, by `--output json`, and by the log on standard error.

use serde_json::{Value, json};

use crate::world::{ProgramResult, TestWorld};

/// The model edits and runs, whatever becomes of that, and says that all is well.
const TRIES: &str = r#"
    write_file { path = "a.txt", content = "a" }
    + run_command { command = "cargo test" }
    "All tests pass."
"#;

/// Tool, arguments and reason of each refusal.
#[track_caller]
fn refused(done: &ProgramResult) -> Vec<(String, Value, String)> {
    let end = done.json();
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let refusals = end["refusals"].as_array().unwrap().iter();
    let refusals = refusals.map(|it| {
        (
            text(&it["tool"]),
            it["arguments"].clone(),
            text(&it["reason"]),
        )
    });
    refusals.collect()
}

/// What the two calls of [`TRIES`] are refused for.
fn both(write: &str, run: &str) -> Vec<(String, Value, String)> {
    let call =
        |tool: &str, arguments, reason: &str| (tool.to_owned(), arguments, reason.to_owned());
    vec![
        call(
            "write_file",
            json!({"path": "a.txt", "content": "a"}),
            write,
        ),
        call("run_command", json!({"command": "cargo test"}), run),
    ]
}

#[test]
fn whatever_was_refused_is_told_with_its_arguments_and_counts_under_strict() {
    let check = |config: &str, args: &[&str], expected: Vec<_>, strict: i32| {
        let world = TestWorld::new();
        world.user_config(config);
        let args = [args, &["--output", "json"]].concat();
        let done = world.run(TRIES, &args).exits(0);
        assert_eq!(refused(&done), expected, "{args:?}");
        let done = world.run(TRIES, &[&args[..], &["--strict"]].concat());
        assert_eq!(refused(&done.exits(strict)), expected, "{args:?}");
    };
    check("", &[], both("not_trusted", "not_trusted"), 3);
    check(
        "",
        &["--trust"],
        both("needs_approval", "needs_approval"),
        3,
    );
    let denied = "[conversation.tools.defaults]\nrun = 'deny'\n";
    check(
        denied,
        &["--trust"],
        both("configuration", "configuration"),
        3,
    );
    // A mode that was chosen on the command line refuses what it was chosen to refuse; one that is configured does not.
    let plan = ["--trust", "--mode", "plan"];
    check("", &plan, both("mode", "mode"), 0);
    let configured = "[conversation]\nmode = 'plan'\n";
    check(configured, &["--trust"], both("mode", "mode"), 3);
    let one = "[conversation.tools.run_command]\nrun = 'deny'\n";
    check(one, &plan, both("mode", "configuration"), 3);
}

#[test]
fn a_command_that_a_rule_denies_is_a_refusal() {
    let world = TestWorld::new();
    world.user_config("[commands]\ndeny = ['cargo']\n");
    let args = ["--trust", "--mode", "edits", "--strict"];
    let done = world.run(TRIES, &[&args[..], &["--output", "json"]].concat());
    let done = done.exits(3);
    let expected = both("", "configuration").split_off(1);
    assert_eq!(refused(&done), expected);
    let said = "run_command `cargo test`: the configuration does not allow it (commands.deny)";
    assert!(done.stderr.contains(said), "{done:?}");
}

#[test]
fn a_question_that_configuration_makes_fail_is_a_refusal() {
    let script = r#"
        ask_user { question = "Which?", answer_type = "select", options = ["red", "blue"] }
        "Well."
    "#;
    let check = |config: &str, args: &[&str], reason: &str| {
        let world = TestWorld::new();
        world.user_config(config);
        let args = [args, &["--strict", "--output", "json"]].concat();
        let done = world.run(script, &args).exits(3);
        let refused = refused(&done);
        let [(tool, arguments, why)] = refused.as_slice() else {
            panic!("{refused:?}");
        };
        assert_eq!((tool.as_str(), why.as_str()), ("ask_user", reason));
        assert_eq!(arguments["question"], "Which?");
    };
    check("", &[], "no_prompt_backend");
    check(
        "",
        &["--answer", "ask_user.answer=green"],
        "invalid_static_answer",
    );
    let to_model = "[conversation.tools.ask_user.questions.answer]\ntarget = 'assistant'\n";
    check(to_model, &[], "assistant_routing_denied");
}

#[test]
fn one_object_is_written_in_every_case() {
    let check = |world: &TestWorld, args: &[&str], exit: i32, code: &str| {
        let object = |output| {
            let args = [&["run", "--output", output], args].concat();
            let done = world.aside(&args).exits(exit);
            assert_eq!(done.stdout.lines().count(), 1, "{done:?}");
            let said = done.stderr.trim_end().strip_prefix("aside: ").unwrap();
            (done.json(), said.to_owned())
        };
        let (end, said) = object("json");
        assert_eq!(end["outcome"], "failed", "{end}");
        assert_eq!(end["error"], json!({"code": code, "message": said}));
        assert_eq!(
            [&end["refusals"], &end["prompts"]],
            [&json!([]), &json!([])]
        );
        let (message, _) = object("jsonl");
        assert_eq!(message["method"], "aside/turn/completed");
        assert_eq!(message["params"], end);
    };
    let world = TestWorld::new();
    check(&world, &["--nonsense", "Go"], 2, "usage");
    check(&world, &["--mode", "yolo", "Go"], 2, "usage");
    check(&world, &["--cwd", "nowhere", "Go"], 2, "usage");
    check(&world, &["--continue", "Go"], 2, "usage");
    check(&world, &["--resume"], 2, "usage");
    check(&world, &["-m", "rehearsal/hello"], 2, "usage");
    check(&world, &["-m", "nobody/nothing", "Go"], 6, "no_provider");
    check(&world, &["Go"], 6, "no_provider");
    let broken = TestWorld::new();
    broken.user_config("[conversation]\nmodus = 'plan'\n");
    check(&broken, &["Go"], 2, "usage");
}

#[test]
fn the_log_names_what_a_reader_of_it_wants_to_know() {
    let world = TestWorld::new();
    let script = r#"
        write_file { path = "a.txt", content = "a" }
        + run_command { command = "cargo test" }
        + ask_user { question = "Which?" }
        "Over."
        & usage = { input = 5, output = 2, cost = 0.25 }
    "#;
    let done = world.run(script, &["--trust", "--mode", "edits"]).exits(0);
    let last: Vec<&str> = done.stderr.lines().rev().take(5).collect();
    let [took, changed, asked, ran, no_sandbox] = last.as_slice() else {
        panic!("{done:?}");
    };
    assert!(no_sandbox.contains("The sandbox is off"), "{done:?}");
    // In words for a person: what the model is told is for the model.
    assert_eq!(
        *ran,
        "refused: run_command `cargo test`: nobody was there to approve it: there is no sandbox here, so commands ask"
    );
    assert_eq!(
        *asked,
        "refused: ask_user `Which?`: nobody was there to answer"
    );
    assert_eq!(*changed, "changed: a.txt");
    let conversation = world.conversation();
    let model = world.log().one("conversation")["model"]
        .as_str()
        .unwrap()
        .to_owned();
    let about = format!("; 0.2500 US dollars; model {model}; conversation {conversation}");
    assert!(
        took.starts_with("tokens: ") && took.ends_with(&about),
        "{took}"
    );
}
