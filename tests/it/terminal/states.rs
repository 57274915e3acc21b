//! States of a run and what ends it: a table without an empty cell, each tried in a shell with job control.

use std::fs;

use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process},
};

use serde_json::{Value, json};

use super::person::{PtyPerson, PtyStart};
use crate::world::{ASIDE, TestWorld, until};

/// What ends a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RunEnd {
    Interrupt,
    Terminate,
    HangUp,
    Timeout,
}

impl RunEnd {
    const ALL: [Self; 4] = [
        Self::Interrupt,
        Self::Terminate,
        Self::HangUp,
        Self::Timeout,
    ];

    fn code(self) -> u32 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::HangUp => 129,
            Self::Timeout => 5,
        }
    }

    fn signal(self) -> Option<Signal> {
        match self {
            Self::Interrupt => Some(Signal::INT),
            Self::Terminate => Some(Signal::TERM),
            Self::HangUp => Some(Signal::HUP),
            Self::Timeout => None,
        }
    }
}

/// Who has the terminal in a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Foreground {
    Run,
    /// The run is a job of the shell's in the background.
    Shell,
    /// The run is such a job, and stopped.
    ShellAfterStop,
    /// Another program of the same job, which waits for the run.
    Starter,
}

/// A state in which a run is ended.
struct RunState {
    script: &'static str,
    /// What the shell runs: `run` is the program with its usual arguments, and `$LIMIT` its time limit.
    line: &'static str,
    /// What is on the screen once it is there.
    shows: &'static str,
    /// What is typed then, and what is on the screen after that.
    then: &'static [(&'static str, &'static str)],
    foreground: Foreground,
}

const ASKS: &str = "ask_user { question = 'Which way?' }\n'Done.'";
const BEHIND: &str = "`fg`";
const RUN: &str = "run $LIMIT";

impl RunState {
    const fn in_front(script: &'static str, line: &'static str, shows: &'static str) -> Self {
        Self {
            script,
            line,
            shows,
            then: &[],
            foreground: Foreground::Run,
        }
    }
}

/// The shell knows the program as `run`, and has a pipe that nobody writes, also at descriptor 7.
const STARTS: &str = r#"
PS1='$ '; unset HISTFILE
alias run='"$ASIDE" run --trust --unsandboxed --mode "$MODE" -m "$MODEL" Go'
exec 7<>open
"#;

/// The program below a process.
fn program_below(pid: i32) -> Option<Pid> {
    let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    children.split_whitespace().find_map(|child| {
        let child: i32 = child.parse().ok()?;
        // Its path is hidden from an ordinary user.
        let name = fs::read_to_string(format!("/proc/{child}/comm")).ok()?;
        match name == "aside\n" {
            true => Pid::from_raw(child),
            false => program_below(child),
        }
    })
}

/// Ends a run in this state in each way: it is over with the code that says so, and the shell has its terminal back.
fn ends(state: &RunState) {
    for end in RunEnd::ALL {
        let world = TestWorld::new();
        world.write("big.txt", "one\n");
        for pipe in ["open", "unwritten"] {
            let rw = Mode::RUSR | Mode::WUSR;
            mknodat(CWD, world.at(pipe), FileType::Fifo, rw, 0).unwrap();
        }
        let rc = world.folder().join("scripts/rc");
        fs::write(&rc, STARTS).unwrap();
        let model = world.script(state.script);
        let mode = if state.script == ASKS { "ask" } else { "auto" };
        let limit = if end == RunEnd::Timeout {
            "--timeout 3s"
        } else {
            ""
        };
        let start = PtyStart {
            shell: r#"exec bash --rcfile "$1" -i"#,
            program: vec![rc.to_str().unwrap()],
            env: vec![
                ("TERM", "dumb"),
                ("ASIDE", ASIDE),
                ("MODEL", &model),
                ("MODE", mode),
                ("LIMIT", limit),
                ("PAGER", "cat; exec sleep 1000"),
            ],
        };
        let mut shell = PtyPerson::starts(&world, &start);
        shell.sees("$ ");
        shell.types(&format!("{}\n", state.line));
        shell.sees("\n");
        shell.sees(state.shows);
        for (keys, shows) in state.then {
            shell.types(keys);
            shell.sees(shows);
        }
        let code = match state.foreground {
            Foreground::Run | Foreground::Starter => "echo code=$?.\n",
            Foreground::Shell | Foreground::ShellAfterStop => "wait %1; echo code=$?.\n",
        };
        // Of a job whose end it has told the shell knows no more.
        let waits_before = state.foreground == Foreground::Shell;
        if waits_before {
            shell.types(code);
        }
        let bash = shell.pid().as_raw_nonzero().get();
        if let Some(signal) = end.signal() {
            let mut found = None;
            until("the program is there", || {
                found = program_below(bash);
                found.is_some()
            });
            let program = found.unwrap();
            match (end, state.foreground) {
                (RunEnd::Interrupt, Foreground::Run) => shell.types("\x03"),
                _ => kill_process(program, signal).unwrap(),
            }
            if state.foreground == Foreground::ShellAfterStop {
                kill_process(program, Signal::CONT).unwrap();
            }
        } else if state.foreground == Foreground::ShellAfterStop {
            shell.types("bg\n");
        }
        if matches!(state.foreground, Foreground::Run | Foreground::Starter) {
            shell.sees("$ ");
        }
        if !waits_before {
            shell.types(code);
        }
        shell.sees(&format!("code={}.", end.code()));
        shell.types("stty -a | tr ' ;' '\\n\\n' | grep -x -e echo -e icanon | tr '\\n' +\n");
        shell.sees("icanon+echo+");
    }
}

#[test]
fn while_the_configuration_is_read() {
    let line = "run $LIMIT --schema unwritten";
    ends(&RunState::in_front(
        "'{}'",
        line,
        "reading the configuration",
    ));
}

#[test]
fn while_standard_input_is_awaited() {
    let line = "run $LIMIT <&7";
    ends(&RunState::in_front(
        "'Done.'",
        line,
        "end of standard input",
    ));
}

#[test]
fn while_servers_start() {
    let line = r#"run $LIMIT --set 'mcp.servers.lazy.command="sleep"' --set 'mcp.servers.lazy.args=["1000"]'"#;
    let shows = "starting the MCP servers: lazy\n";
    ends(&RunState::in_front("'Done.'", line, shows));
}

#[test]
fn while_the_model_is_awaited() {
    let script = "list_files {}\n'Done.'\n& delay_ms = 1000000";
    ends(&RunState::in_front(script, RUN, "ok list_files"));
}

#[test]
fn while_a_command_runs() {
    let script = "run_command { command = 'echo begun; sleep 1000' }\n'Done.'";
    ends(&RunState::in_front(script, RUN, "run_command"));
}

#[test]
fn while_it_asks() {
    ends(&RunState::in_front(ASKS, RUN, "\n> "));
}

#[test]
fn while_the_pager_has_the_terminal() {
    // More lines than the screen has.
    let content: String = (1..=60).map(|n| format!("line {n}\n")).collect();
    let call = |tool: &str, arguments: Value| json!({ "call": tool, "arguments": arguments });
    let replies = json!([
        { "say": [call("read_file", json!({ "path": "big.txt" }))] },
        { "say": [call("write_file", json!({ "path": "big.txt", "content": content }))] },
    ]);
    let script = toml::to_string(&json!({ "reply": replies })).unwrap();
    let line = "MODE=ask; run $LIMIT";
    ends(&RunState::in_front(script.leak(), line, "line 60"));
}

#[test]
fn while_it_asks_in_the_background() {
    ends(&RunState {
        foreground: Foreground::Shell,
        ..RunState::in_front(ASKS, "run $LIMIT &", BEHIND)
    });
}

#[test]
fn while_it_asks_and_was_sent_to_the_background() {
    ends(&RunState {
        then: &[("\x1a", "Stopped"), ("bg\n", BEHIND)],
        foreground: Foreground::Shell,
        ..RunState::in_front(ASKS, RUN, "\n> ")
    });
}

#[test]
fn while_it_asks_and_is_stopped() {
    ends(&RunState {
        then: &[("\x1a", "Stopped")],
        foreground: Foreground::ShellAfterStop,
        ..RunState::in_front(ASKS, RUN, "\n> ")
    });
}

#[test]
fn while_it_asks_in_a_group_of_its_own() {
    let line = r#"bash -c 'timeout 1000 "$ASIDE" run --trust -m "$MODEL" Go $LIMIT; exit $?'"#;
    ends(&RunState {
        foreground: Foreground::Starter,
        ..RunState::in_front(ASKS, line, BEHIND)
    });
}
