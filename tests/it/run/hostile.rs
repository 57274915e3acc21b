//! A workspace that means harm, before anybody trusted it: nothing of it holds the program up or makes it grow.

use std::{
    fs,
    os::unix::fs::symlink,
    path::Path,
    time::{Duration, Instant},
};

use rustix::{
    fs::{CWD, FileType, Mode, mknodat},
    process::{Pid, Signal, kill_process},
};

use crate::{
    traced::with_files_seen,
    world::{ASIDE, TestWorld, start, until},
};

const LOOKS: &str = r#"
    list_files list {}
    + search search { pattern = "needle" }
    "Done."
"#;

/// How long a turn may take that looks at a workspace of some files, on a machine with much else to do.
const SOON: Duration = Duration::from_secs(10);

fn pipe(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

fn link(to: &str, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    symlink(to, path).unwrap();
}

/// Plays it in a workspace in which this was prepared, and checks what the model is told of the files.
#[track_caller]
fn check(prepare: impl FnOnce(&TestWorld), list: &str) {
    let world = TestWorld::new();
    world.write("a.txt", "needle\n");
    prepare(&world);
    let begin = Instant::now();
    world.run(LOOKS, &[]).exits(0);
    assert!(begin.elapsed() < SOON, "it took {:?}", begin.elapsed());
    let log = world.log();
    assert_eq!(log.told("list"), list);
    assert!(log.told("search").contains("a.txt:1:needle\n"));
}

#[test]
fn what_stands_in_the_place_of_ignored_names_is_read_only_where_it_is_a_file() {
    for name in [".gitignore", ".ignore", ".git/info/exclude"] {
        check(|world| pipe(&world.at(name)), "a.txt\n");
        for target in ["/dev/zero", "/dev/tty", "../../outside"] {
            check(|world| link(target, &world.at(name)), "a.txt\n");
        }
        check(
            |world| fs::create_dir_all(world.at(name)).unwrap(),
            "a.txt\n",
        );
    }
    check(|world| link("/dev/zero", &world.at(".git/info")), "a.txt\n");
    check(|world| pipe(&world.at("sub/.gitignore")), "a.txt\n");
}

#[test]
fn ignored_names_above_the_workspace_are_nobody_s_business() {
    for name in [".gitignore", ".ignore", ".git/info/exclude"] {
        let above = |world: &TestWorld| world.folder().join(name);
        check(|world| pipe(&above(world)), "a.txt\n");
        check(|world| link("/dev/zero", &above(world)), "a.txt\n");
    }
}

#[test]
fn ignored_names_are_bounded_and_the_first_of_them_count() {
    let many = |world: &TestWorld| {
        let rules: String = (0..900_000).map(|n| format!("*.{n:06}\n")).collect();
        world.write("b.000000", "");
        world.write("b.899999", "");
        world.write(".gitignore", &format!(".gitignore\n{rules}"));
    };
    let said =
        "a.txt\nb.899999\n[some rules of .gitignore were too many or too long and do not count]\n";
    check(many, said);
    // Of many files with many rules together, too.
    let world = TestWorld::new();
    let rules: String = (0..5000).map(|n| format!("*.{n:06}\n")).collect();
    for folder in 0..200 {
        world.write(&format!("sub/{folder}/.gitignore"), &format!("*\n{rules}"));
    }
    let begin = Instant::now();
    world.run(LOOKS, &[]).exits(0);
    assert!(begin.elapsed() < SOON, "it took {:?}", begin.elapsed());
    assert!(
        world
            .log()
            .told("list")
            .ends_with(&said[said.find('[').unwrap()..])
    );
}

#[test]
fn instructions_and_settings_are_read_only_where_they_are_files() {
    check(|world| pipe(&world.at("AGENTS.md")), "a.txt\n");
    check(|world| link("/dev/zero", &world.at("AGENTS.md")), "a.txt\n");
    let world = TestWorld::new();
    for target in ["/dev/zero", "/dev/tty"] {
        link(target, &world.at("aside.toml"));
        world.run(LOOKS, &[]).exits(0).says("it is not a file");
        world
            .run(LOOKS, &["--trust"])
            .exits(2)
            .says("it is not a file");
        fs::remove_file(world.at("aside.toml")).unwrap();
    }
    link("nowhere", &world.at("aside.toml"));
    let dangles = "it is a link to a file that is not there";
    world.run(LOOKS, &[]).exits(0).says(dangles);
    world.run(LOOKS, &["--trust"]).exits(2).says(dangles);
    fs::remove_file(world.at("aside.toml")).unwrap();
    pipe(&world.at("aside.toml"));
    world.run(LOOKS, &[]).exits(0).says("it is not a file");
}

#[test]
fn settings_that_are_broken_keep_nobody_from_working_before_the_workspace_is_trusted() {
    for (text, said) in [
        ("assistant.modle = 'x'\n", "unknown key `assistant.modle`"),
        ("sandbox = 7\n", "aside.toml:1: "),
        ("= nothing\n", "it is not TOML"),
    ] {
        let world = TestWorld::new();
        world.write("aside.toml", text);
        world
            .run(LOOKS, &[])
            .exits(0)
            .says(said)
            .says("The workspace is not trusted");
        world.run(LOOKS, &["--trust"]).exits(2).says(said);
        world.aside(&["trust", "--yes"]).exits(2).says(said);
    }
}

#[test]
fn programs_of_the_workspace_do_not_stand_in_for_the_system_s() {
    let world = TestWorld::new();
    for name in ["sh", "setsid"] {
        world.write(name, "#!/bin/sh\ntouch taken\n");
        let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
        fs::set_permissions(world.at(name), executable).unwrap();
    }
    let script = "run_command run { command = 'echo $PATH' }\n'Done.'";
    let model = world.script(script);
    let run = [
        "run",
        "-m",
        &model,
        "Go",
        "--trust",
        "--mode",
        "auto",
        "--unsandboxed",
    ];
    let mut command = world.within(ASIDE, &run);
    command.env("PATH", ".::bin:/usr/bin:/bin:");
    start(&mut command).end().exits(0);
    assert_eq!(world.log().told("run"), "Exit status 0.\n/usr/bin:/bin");
    assert!(!world.at("taken").exists());
}

#[test]
fn programs_that_settings_name_are_looked_at_within_bounds() {
    let large = |world: &TestWorld| {
        let file = fs::File::create(world.at("tool")).unwrap();
        file.set_len(200 << 20).unwrap();
        let words: Vec<String> = (0..100)
            .map(|n| format!("'{}tool'", "./".repeat(n)))
            .collect();
        let command = format!("conversation.tools.x.command = [{}]\n", words.join(", "));
        world.write("aside.toml", &command);
    };
    check(large, "a.txt\naside.toml\ntool\n");
    // Trusted, it is looked at once; with more of them than is looked at it cannot be trusted.
    let world = TestWorld::new();
    large(&world);
    let begin = Instant::now();
    world.aside(&["trust", "--yes"]).exits(0);
    assert!(begin.elapsed() < SOON, "it took {:?}", begin.elapsed());
    for name in ["one", "two"] {
        fs::File::create(world.at(name))
            .unwrap()
            .set_len(200 << 20)
            .unwrap();
    }
    let command = "conversation.tools.x.command = ['tool', 'one', 'two']\n";
    world.write("aside.toml", command);
    let begin = Instant::now();
    world
        .aside(&["trust", "--yes"])
        .exits(1)
        .says("together they are over 256 MiB");
    assert!(begin.elapsed() < SOON, "it took {:?}", begin.elapsed());
}

#[test]
fn what_blocks_in_a_thread_does_not_keep_the_program_from_leaving() {
    let world = TestWorld::new();
    world.write("a.txt", "needle\n");
    let model = world.script(LOOKS);
    let work = fs::canonicalize(world.at("")).unwrap();
    // The folder of a file system that does not answer.
    let strace = [
        "strace",
        "-D",
        "-f",
        "-qqq",
        "-o",
        "/dev/null",
        "-P",
        work.to_str().unwrap(),
        "-e",
        "trace=getdents64",
        "-e",
        "inject=getdents64:delay_enter=60000000",
        "--",
    ];
    let limit = "conversation.limits.tool_seconds=1";
    let run = with_files_seen(&[ASIDE, "run", "-m", &model, "Go", "--set", limit]);
    let mut running = start(&mut world.within("setsid", &[&strace[..], &run[..]].concat()));
    let stat = format!("/proc/{}/stat", running.id());
    let tracer = tracer(running.id());
    // The thread is still held by the tracer; what counts is that nobody waits for it.
    until("the program has left", || {
        let stat = fs::read_to_string(&stat).unwrap();
        stat.rsplit_once(") ")
            .is_some_and(|(_, state)| state.starts_with('Z'))
    });
    let log = world.log();
    assert_eq!(log.one("turn_end")["outcome"], "completed");
    assert!(log.told("list").contains("ran longer than 1 s"));
    // Without a tracer the thread goes on at once, and nobody has to wait for it.
    kill_process(tracer, Signal::KILL).unwrap();
    assert_eq!(running.end().code, 0);
}

/// The process that traces another, once one does.
fn tracer(process: u32) -> Pid {
    let status = format!("/proc/{process}/status");
    let mut tracer = 0;
    until("it is traced", || {
        let status = fs::read_to_string(&status).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("TracerPid:"));
        tracer = line.unwrap().trim().parse().unwrap();
        tracer != 0
    });
    Pid::from_raw(tracer).unwrap()
}
