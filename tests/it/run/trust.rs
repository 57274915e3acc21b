//! What runs where nobody can be asked.

use crate::world::{ProgramResult, TestWorld};

const EDITS_AND_RUNS: &str = r#"
    read_file read { path = "a.txt" }
    + write_file write { path = "b.txt", content = "b" }
    + run_command run { command = "echo ran >ran.txt" }
    "Done."
"#;

/// Plays it and checks what the model is told of the edit and of the command.
#[track_caller]
fn check(args: &[&str], write: &str, run: &str) -> ProgramResult {
    let world = TestWorld::new();
    world.write("a.txt", "the file\n");
    let done = world.run(EDITS_AND_RUNS, args).exits(0);
    let log = world.log();
    assert!(log.told("read").contains("the file"));
    assert!(
        log.told("write").starts_with(write),
        "{args:?}: {}",
        log.told("write")
    );
    assert!(
        log.told("run").starts_with(run),
        "{args:?}: {}",
        log.told("run")
    );
    assert_eq!(
        world.at("b.txt").exists(),
        log.result("write")["status"] == "ok"
    );
    assert_eq!(
        world.at("ran.txt").exists(),
        log.result("run")["status"] == "ok"
    );
    done
}

const WRITTEN: &str = "Created `b.txt`.";
const RAN: &str = "Exit status 0.";

fn unasked(tool: &str) -> String {
    let cause = match tool {
        "run_command" => ", as there is no sandbox here, so commands ask",
        _ => "",
    };
    format!(
        "{tool} needs approval and no interactive client is attached{cause}. Do not retry it in this turn."
    )
}

#[test]
fn a_workspace_that_is_not_trusted_is_read_and_no_more() {
    let refused = |tool: &str| {
        format!("{tool} is not allowed here (workspace not trusted). Do not retry it in this turn.")
    };
    for args in [
        &[][..],
        &["--mode", "edits"],
        &["--mode", "auto", "--unsandboxed"],
    ] {
        let done = check(args, &refused("write_file"), &refused("run_command"));
        done.says("trust it with `aside trust`");
    }
}

#[test]
fn what_needs_approval_is_refused_where_nobody_can_give_it() {
    check(
        &["--trust"],
        &unasked("write_file"),
        &unasked("run_command"),
    )
    .says("refused: run_command `");
    check(
        &["--trust", "--mode", "edits"],
        WRITTEN,
        &unasked("run_command"),
    );
    check(
        &["--trust", "--detached", "run=auto"],
        WRITTEN,
        &unasked("run_command"),
    );
}

#[test]
fn without_a_sandbox_commands_are_refused_unless_the_user_lets_them_run() {
    let refused = check(
        &["--trust", "--mode", "auto"],
        WRITTEN,
        &unasked("run_command"),
    );
    refused.says(
        "The sandbox is off, so every command needs approval; `--mode auto --unsandboxed` lets",
    );
    let ran = check(
        &["--trust", "--mode", "auto", "--unsandboxed"],
        WRITTEN,
        RAN,
    );
    ran.says("Commands run without a sandbox.");
    let run = [
        "--trust",
        "--mode",
        "edits",
        "--unsandboxed",
        "--detached",
        "auto",
    ];
    check(&run, WRITTEN, RAN).says("Commands run without a sandbox.");
    // Each output names it.
    let lines = check(
        &[
            "--trust",
            "--mode",
            "auto",
            "--unsandboxed",
            "--output",
            "jsonl",
        ],
        WRITTEN,
        RAN,
    )
    .lines();
    assert!(
        lines
            .iter()
            .any(|line| line["params"]["update"]["text"] == "Commands run without a sandbox.")
    );
}

#[test]
fn a_mode_that_plans_changes_nothing() {
    let refused = |tool: &str| {
        format!("{tool} is not allowed here (plan mode). Do not retry it in this turn.")
    };
    let plan = ["--trust", "--mode", "plan", "--unsandboxed"];
    check(&plan, &refused("write_file"), &refused("run_command"));
}

#[test]
fn a_workspace_sets_no_policy() {
    let world = TestWorld::new();
    world.write(
        "aside.toml",
        "unsandboxed = true\nconversation.mode = 'auto'\n",
    );
    let done = world.run(EDITS_AND_RUNS, &["--trust"]).exits(0);
    assert_eq!(world.log().told("run"), unasked("run_command"));
    assert!(!world.at("ran.txt").exists());
    done.says("unsandboxed").says("conversation.mode");
}
