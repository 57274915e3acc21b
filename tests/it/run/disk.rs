//! State that cannot be written, and output that nobody takes.

use std::{
    fs::{self, File},
    os::unix::{fs::chown, process::CommandExt},
    path::Path,
    process::{Command, Stdio},
};

use rustix::process::geteuid;

use crate::{
    open::program,
    world::{ASIDE, ProgramResult, TestWorld, start},
};

const ANSWERS: &str = "always 'An answer.'";

#[test]
fn a_state_directory_that_is_none_is_said() {
    let check = |state: &str| {
        let world = TestWorld::new();
        let model = world.script(ANSWERS);
        let mut command = world.command(&["run", "-m", &model, "Go"]);
        let done = start(command.env("XDG_STATE_HOME", state))
            .end()
            .exits(2)
            .writes("");
        assert!(
            done.stderr
                .contains(&format!("cannot use the state directory {state}/aside: ")),
            "{done:?}"
        );
        assert_eq!(done.stderr.matches('\n').count(), 1, "{done:?}");
    };
    check("/proc");
    check("/dev/null");
}

/// A container's user has no home: a turn says so with the code of a wrong configuration, and the doctor still looks at
/// everything else.
#[test]
fn no_home_is_wrong_configuration_and_the_doctor_still_runs() {
    let world = TestWorld::new();
    let model = world.script(ANSWERS);
    let without = |args: &[&str]| {
        // A user of whom the user database says nothing either.
        let user = ["--unshare-user", "--uid", "54321", "--gid", "54321"];
        let place = ["--dev-bind", "/", "/", ASIDE];
        let mut command = world.within("bwrap", &[&user[..], &place, args].concat());
        command.env_remove("HOME").env_remove("XDG_STATE_HOME");
        start(&mut command).end()
    };
    let done = without(&["run", "-m", &model, "--output", "json", "Go"]).exits(2);
    assert_eq!(done.json()["error"]["code"], "usage", "{done:?}");
    assert!(
        done.stderr.contains("set HOME or XDG_STATE_HOME"),
        "{done:?}"
    );
    let done = without(&["doctor"]).exits(1);
    for part in ["set HOME or XDG_STATE_HOME", "ok       aside ", "editors"] {
        assert!(done.stdout.contains(part), "{part}: {done:?}");
    }
}

#[test]
fn an_answer_that_cannot_be_written_is_in_the_log() {
    for output in ["text", "json", "jsonl"] {
        let world = TestWorld::new();
        let model = world.script(ANSWERS);
        let mut command = world.command(&["run", "-m", &model, "--output", output, "Go"]);
        let full = File::options().write(true).open("/dev/full").unwrap();
        start(command.stdout(full))
            .end()
            .exits(1)
            .says("cannot write the answer to standard output: No space left on device");
        assert_eq!(world.log().one("user_message")["text"], "Go");
        // Where every piece is written, the turn does not go on without its reader.
        if output == "jsonl" {
            assert_eq!(world.log().one("turn_end")["outcome"], "interrupted");
        } else {
            assert_eq!(world.log().one("turn_end")["answer"], "An answer.");
        }
        // The conversation opens again.
        world
            .aside(&["run", "--continue", "-m", &model, "Again"])
            .exits(0)
            .writes("An answer.\n");
    }
    let demo = TestWorld::new();
    let full = File::options().write(true).open("/dev/full").unwrap();
    start(demo.command(&["demo"]).stdout(full))
        .end()
        .exits(1)
        .says("the output could not be written: ");
}

#[test]
fn a_reader_that_goes_away_interrupts_the_turn() {
    let script = r#"
        { step = 1 } => "Begin. "
        + "Wait."
        & fault = { stall = true }
    "#;
    let world = TestWorld::new();
    let model = world.script(script);
    let mut command = world.command(&["run", "-m", &model, "--output", "jsonl", "Go"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    start(command.stdout(writer))
        .end()
        .exits(1)
        .says("Broken pipe");
    world.script(ANSWERS);
    world
        .aside(&["run", "--resume"])
        .exits(0)
        .writes("An answer.\n");
}

/// The program where no file may grow over so many blocks of 512 bytes, as on a disk that is full.
fn on_a_small_disk(world: &TestWorld, blocks: u32, args: &[&str]) -> ProgramResult {
    let bound = format!("trap '' XFSZ; ulimit -f {blocks}; exec setsid \"$@\"");
    let args = [&["-c", &bound, "sh", ASIDE], args].concat();
    start(&mut world.within("sh", &args)).end()
}

#[test]
fn a_disk_that_is_full_fails_the_turn_which_is_resumed_later() {
    let script = r#"
        read_file read { path = "a.txt" }
        "Read."
    "#;
    let world = TestWorld::new();
    world.write("a.txt", &"a line of the file\n".repeat(1500));
    let model = world.script(script);
    // What the conversation begins with fits, and the result does not.
    let args = ["run", "-m", &model, "--output", "json", "Go"];
    let end = on_a_small_disk(&world, 64, &args).exits(1).json();
    assert_eq!(
        [&end["outcome"], &end["error"]["code"]],
        ["failed", "internal"],
        "{end:#}"
    );
    let said = end["error"]["message"].as_str().unwrap();
    assert!(
        said.starts_with("The conversation could not be written to disk: "),
        "{said}"
    );

    let again = world
        .aside(&["run", "--resume", "--output", "json"])
        .exits(0)
        .json();
    assert_eq!(again["turnId"], end["turnId"]);
    assert_eq!(again["answer"], "Read.");
    // The file is read anew: a run that changes nothing leaves nothing unknown.
    let log = world.log();
    let told = log.told("read");
    assert!(told.contains("a line of the file"), "{told}");
}

#[test]
fn a_disk_that_is_full_from_the_start_is_said() {
    let world = TestWorld::new();
    let model = world.script(ANSWERS);
    let done = on_a_small_disk(&world, 1, &["run", "-m", &model, "Go"])
        .exits(1)
        .writes("");
    assert_eq!(done.stderr.matches('\n').count(), 1, "{done:?}");
    world
        .aside(&["run", "-m", &model, "Go"])
        .exits(0)
        .writes("An answer.\n");
}

#[test]
fn a_disk_with_no_room_for_a_turn_is_found_by_the_doctor() {
    let world = TestWorld::new();
    let done = on_a_small_disk(&world, 64, &["doctor"]).exits(1);
    assert!(done.stdout.contains("is not writable: "), "{done:?}");
}

#[test]
fn a_command_whose_output_cannot_be_kept_ran_all_the_same() {
    let script = r#"
        run_command run { command = "touch ran; seq 200000; exit 3" }
        "Run."
    "#;
    let world = TestWorld::new();
    world.user_config("[conversation.tools.run_command]\nrun = 'unattended'\n");
    let model = world.script(script);
    // The conversation fits, and what is left out of the output does not.
    let args = ["run", "-m", &model, "--trust", "--unsandboxed", "Go"];
    let done = on_a_small_disk(&world, 512, &args).exits(0);
    let log = world.log();
    let told = log.told("run");
    assert!(told.starts_with("Exit status 3.\n1\n2\n"), "{told}");
    assert!(told.ends_with("\n199999\n200000"), "{told}");
    assert!(
        told.contains(" bytes are left out here and could not be kept: File too large"),
        "{told}"
    );
    assert!(done.stderr.contains("Exit status 3."), "{done:?}");
}

#[test]
fn a_call_that_a_full_disk_ended_was_cancelled_by_nobody() {
    let script = r#"{ step = 1 } => read_file read { path = "a.txt" }"#;
    let world = TestWorld::new();
    world.write("a.txt", &"a line of the file\n".repeat(1500));
    let model = world.script(script);
    for blocks in [16, 20, 24, 28, 32, 64] {
        let done = on_a_small_disk(&world, blocks, &["run", "-m", &model, "Go"]);
        assert!(!done.stderr.contains("by the user"), "{blocks}: {done:?}");
    }
}

#[test]
fn what_a_full_disk_left_is_resumed_where_the_list_says_that_it_was_interrupted() {
    let script = r#"
        9 times read_file read { path = "a.txt" }
        always "Read."
    "#;
    // From not even a line to all of the turn.
    for blocks in [1, 8, 16, 22, 24, 26, 28, 30, 34, 40, 64] {
        let world = TestWorld::new();
        world.write("a.txt", &"a line of the file\n".repeat(400));
        let model = world.script(script);
        on_a_small_disk(&world, blocks, &["run", "-m", &model, "Go"]);
        let list = world.aside(&["conversation", "list"]).exits(0);
        if list.stdout.contains("interrupted") {
            world
                .aside(&["run", "--resume", "-m", &model])
                .exits(0)
                .writes("Read.\n");
        }
        world
            .aside(&["run", "-m", &model, "Another"])
            .exits(0)
            .writes("Read.\n");
    }
}

/// A process with strace around it, in which each call that brings a file onto the disk fails.
fn with_a_disk_that_forgets(world: &TestWorld, args: &[&str]) -> ProgramResult {
    let strace = [
        "-f",
        "-qqq",
        "-o",
        "/dev/null",
        "-e",
        "trace=fdatasync",
        "-e",
        "inject=fdatasync:error=EIO",
        "--",
        ASIDE,
    ];
    start(&mut world.within("strace", &[&strace[..], args].concat())).end()
}

#[test]
fn a_disk_that_may_not_have_kept_the_turn_is_told() {
    let world = TestWorld::new();
    let model = world.script(ANSWERS);
    with_a_disk_that_forgets(&world, &["run", "-m", &model, "Go"])
        .exits(0)
        .writes("An answer.\n")
        .says("Input/output error");
}

/// An ordinary user, for whom there need not be a name.
const NOBODY: u32 = 65534;

fn give(path: &Path) {
    chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    for entry in fs::read_dir(path).into_iter().flatten().flatten() {
        give(&entry.path());
    }
}

#[test]
fn where_no_thread_can_be_had_the_program_says_so_and_ends() {
    let world = TestWorld::new();
    let model = world.script(ANSWERS);
    let as_nobody = |command: &mut Command| {
        if geteuid().is_root() {
            give(world.folder());
            command.uid(NOBODY).gid(NOBODY);
        }
    };
    for args in [
        &["run", "-m", &model, "Go"][..],
        &["lsp", "--stdio"],
        &["doctor"],
    ] {
        let bound = ["--nproc=1", program().to_str().unwrap()];
        let mut command = world.within("prlimit", &[&bound[..], args].concat());
        as_nobody(command.stdin(Stdio::null()));
        let done = start(&mut command)
            .end()
            .exits(1)
            .says("cannot start a thread: ");
        assert_eq!(done.stderr.matches('\n').count(), 1, "{done:?}");
    }
}

#[test]
fn where_few_files_may_be_open_the_program_says_so_and_ends() {
    let world = TestWorld::new();
    let model = world.script(ANSWERS);
    for args in [
        &["run", "-m", &model, "Go"][..],
        &["lsp", "--stdio"],
        &["doctor"],
    ] {
        for most in 4..16 {
            let bound = format!("--nofile={most}:{most}");
            let bound = [&bound, program().to_str().unwrap()];
            let mut command = world.within("prlimit", &[&bound[..], args].concat());
            let done = start(command.stdin(Stdio::null())).end();
            assert!(
                !done.stderr.contains("panicked"),
                "{args:?} {most}: {done:?}"
            );
        }
    }
}
