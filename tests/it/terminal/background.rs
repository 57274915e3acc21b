//! A run among the jobs of a shell: in the background it paints nothing, and a pager that was stopped goes on.

use std::fs;

use serde_json::{Value, json};

use super::person::{PtyPerson, PtyStart};
use crate::world::{ASIDE, TestWorld, until};

/// The shell draws nothing itself; the program could.
const STARTS: &str = r#"
PS1='$ '; unset HISTFILE
alias run='TERM=xterm "$ASIDE" run --trust --unsandboxed -m "$MODEL" Go'
"#;
/// A picture of the spinner, each of which is drawn within a second.
const SPINNER: &str = "⠹";
/// Lines that the command prints in two seconds, in which a line in the foreground is drawn twenty times.
const SOON: usize = 20;

/// A shell with job control, in which `run` plays the script.
fn shell(world: &TestWorld, model: &str, pager: &str) -> PtyPerson {
    let rc = world.folder().join("scripts/rc");
    fs::write(&rc, STARTS).unwrap();
    let start = PtyStart {
        shell: r#"exec bash --rcfile "$1" -i"#,
        program: vec![rc.to_str().unwrap()],
        env: vec![
            ("TERM", "dumb"),
            ("ASIDE", ASIDE),
            ("MODEL", model),
            ("PAGER", pager),
        ],
    };
    let mut shell = PtyPerson::starts(world, &start);
    shell.sees("$ ");
    shell
}

/// Waits until the command went on for a while, and gives what came to the screen meanwhile.
fn meanwhile(world: &TestWorld, shell: &mut PtyPerson, mark: &str) -> String {
    let ticks = || fs::read_to_string(world.at("ticks")).map_or(0, |ticks| ticks.lines().count());
    let before = ticks();
    until("the command goes on", || ticks() > before + SOON);
    shell.types(&format!("echo {mark}\n"));
    shell.sees(&format!("\n{mark}\n"))
}

#[test]
fn a_job_in_the_background_paints_nothing() {
    for starts_there in [true, false] {
        let world = TestWorld::new();
        let command = "until [ -e go ]; do echo tick | tee -a ticks; sleep 0.1; done";
        let script = format!("run_command {{ command = '{command}' }}\n'Done.'");
        let model = world.script(&script);
        let mut shell = shell(&world, &model, "");
        if starts_there {
            shell.types("run --mode auto &\n");
        } else {
            shell.types("run --mode auto\n");
            shell.sees(SPINNER);
            shell.types("\x1a");
            shell.sees("Stopped");
            shell.types("bg\n");
        }
        until("the command runs", || world.at("ticks").exists());
        shell.types("echo begun\n");
        shell.sees("\nbegun\n");
        let shown = meanwhile(&world, &mut shell, "behind");
        for painted in ["\x1b", "tick", SPINNER] {
            assert!(!shown.contains(painted), "{painted:?}: {shown}");
        }
        shell.types("fg\n");
        shell.sees(SPINNER);
        fs::write(world.at("go"), "").unwrap();
        shell.sees("run_command: Exit status 0.");
        shell.sees("$ ");
    }
}

/// More lines than the screen has, in a file that is asked for.
fn long_change() -> String {
    let content: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let call = |tool: &str, arguments: Value| json!({ "call": tool, "arguments": arguments });
    let replies = json!([
        { "say": [call("write_file", json!({ "path": "big.txt", "content": content }))] },
        { "say": [{ "text": "Done." }] },
    ]);
    toml::to_string(&json!({ "reply": replies })).unwrap()
}

#[test]
fn a_pager_that_was_stopped_goes_on_and_is_not_shown_twice() {
    let world = TestWorld::new();
    let model = world.script(&long_change());
    let pager = "cat; echo the end; read -r key </dev/tty";
    let mut shell = shell(&world, &model, pager);
    shell.types("run --mode ask\n");
    shell.sees("line 60");
    shell.sees("the end\n");
    shell.types("\x1a");
    shell.sees("Stopped");
    shell.sees("$ ");
    shell.types("fg\n");
    shell.sees("--mode ask\n");
    shell.types("q\n");
    let shown = shell.is_asked();
    assert!(!shown.contains("line 60"), "{shown}");
    assert!(!shown.contains("the end"), "{shown}");
    shell.types("y\n");
    shell.sees("write_file: Created `big.txt`.");
    shell.sees("$ ");
    assert!(world.read("big.txt").ends_with("line 60\n"));
}
