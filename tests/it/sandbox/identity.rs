//! A sandbox is built from places that may change meanwhile: nothing else than what was meant is ever mounted.
//!
//! `ASIDE_RACES` is how many commands start while another exchanges folders.

use std::{
    env, fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::PathBuf,
};

use super::ground::{
    SandboxGround, SandboxedCall, User, auto_run, program, script, script_of_messages, users,
};
use crate::world::{EventLog, start};

/// Commands that start in a race, where nothing is said.
const RACES: usize = 20;
/// Commands of one turn, which has a minute for them.
const IN_A_TURN: usize = 200;
/// Commands of one message, which holds so many calls and one more.
const AT_ONCE: usize = 250;

/// Exchanges two names without a moment in between.
const EXCHANGE: &str = "import ctypes; c = ctypes.CDLL(None, use_errno=True)\n\
    def exchange(a, b): return c.renameat2(-100, a.encode(), -100, b.encode(), 2)\n";

fn call<'a>(id: &'a str, command: &str) -> SandboxedCall<'a> {
    SandboxedCall {
        id,
        command: command.to_owned(),
        cwd: ".",
    }
}

/// A `bwrap` that exchanges two places of the workspace for commands that name `MARK`, before it becomes the real one:
/// so often, or each time.
fn exchanging(ground: &SandboxGround, pair: (&str, &str), times: usize) -> String {
    let bin = ground.world.folder().join("bin");
    fs::create_dir(&bin).unwrap();
    let (a, b) = (ground.world.at(pair.0), ground.world.at(pair.1));
    let done = ground.outside("done");
    let python = format!(
        "{EXCHANGE}import os, sys\ndone = len(open({done:?}).read()) if os.path.exists({done:?}) else 0\n\
         if done < {times}:\n    open({done:?}, 'a').write('x')\n    assert exchange({a:?}, {b:?}) == 0\n",
    );
    let text = format!(
        "#!/bin/sh\ncase \"$*\" in *MARK*) /usr/bin/env python3 - <<'P' || exit 9\n{python}\nP\n;; esac\n\
         exec /usr/bin/bwrap \"$@\"\n"
    );
    fs::write(bin.join("bwrap"), text).unwrap();
    fs::set_permissions(bin.join("bwrap"), fs::Permissions::from_mode(0o755)).unwrap();
    format!("{}:{}", bin.display(), env::var("PATH").unwrap_or_default())
}

/// The end of the path of the folder outside, as each file system has it.
fn name_outside(ground: &SandboxGround) -> String {
    let name = ground.world.folder().file_name().unwrap();
    format!("{}/outside", name.to_str().unwrap())
}

/// A place that is exchanged for another while the sandbox is built.
struct ExchangedPlace {
    name: &'static str,
    /// Files that are there.
    files: &'static [&'static str],
    /// The place, and what takes its place.
    pair: (&'static str, &'static str),
    /// A command that tries to profit from it.
    attempt: &'static str,
}

/// `l` is a link to a folder outside, `s` one to a file there, and `t` a folder of the workspace.
const EXCHANGED: &[ExchangedPlace] = &[
    ExchangedPlace {
        name: "a folder above settings",
        files: &["p/.npmrc"],
        pair: ("p", "l"),
        attempt: "echo evil >>p/.profile; echo evil >>p/.npmrc",
    },
    ExchangedPlace {
        name: "a folder that is part of a protected name",
        files: &[".cargo/config.toml"],
        pair: (".cargo", "l"),
        attempt: "echo evil >>.cargo/.profile",
    },
    ExchangedPlace {
        name: "a folder above a repository",
        files: &["p/.git/HEAD"],
        pair: ("p", "l"),
        attempt: "echo evil >>p/.profile",
    },
    ExchangedPlace {
        name: "protected files",
        files: &[".envrc"],
        pair: (".envrc", "s"),
        attempt: "echo evil >>.envrc",
    },
    ExchangedPlace {
        name: "a protected folder",
        files: &[".vscode/tasks.json"],
        pair: (".vscode", "l"),
        attempt: "echo evil >>.vscode/.profile",
    },
    ExchangedPlace {
        name: "a folder of the workspace",
        files: &["p/.git/hooks/x", "t/.git/hooks/x"],
        pair: ("p", "t"),
        attempt: "echo evil >>p/.git/hooks/x; echo evil >>t/.git/hooks/x",
    },
];

impl ExchangedPlace {
    fn ground(&self, user: User) -> SandboxGround {
        let ground = SandboxGround::new(user);
        for file in self.files {
            ground.world.write(file, "harmless\n");
        }
        fs::write(ground.outside("private"), "PRIVATE\n").unwrap();
        fs::create_dir_all(ground.world.at("t")).unwrap();
        symlink(ground.outside(""), ground.world.at("l")).unwrap();
        symlink(ground.outside("private"), ground.world.at("s")).unwrap();
        ground
    }

    /// Runs the attempt while the place is exchanged so often; what the command said.
    fn run(&self, ground: &SandboxGround, times: usize) -> String {
        let path = exchanging(ground, self.pair, times);
        let mounted = name_outside(ground);
        let look = format!(
            ": MARK; {}; awk '{{ print $4 }}' /proc/self/mountinfo | grep -F '{}' && echo FOREIGN; echo end",
            self.attempt, mounted
        );
        let model = ground.world.script(&script(&[call("run", &look)]));
        ground.hand_over();
        let args = auto_run(&model, &[]);
        start(ground.command(program(), &args).env("PATH", path))
            .end()
            .exits(0);
        ground.world.log().told("run").to_owned()
    }
}

#[test]
fn nothing_is_mounted_that_took_the_place_of_what_was_meant() {
    for (place, user) in EXCHANGED
        .iter()
        .flat_map(|place| users().iter().map(move |it| (place, *it)))
    {
        // Exchanged each time, the command may never start; exchanged once, the sandbox is built again from what is
        // there then.
        for times in [100, 1] {
            let ground = place.ground(user);
            let told = place.run(&ground, times);
            let who = format!("{} as {user:?}, {times} times: {told}", place.name);
            assert!(!told.contains("FOREIGN"), "{who}");
            // What is a link then, a command could replace.
            let asks = told.contains("is a link");
            assert!(told.ends_with("end") || asks || times > 1, "{who}");
            untouched(&ground, place);
        }
    }
}

/// Nothing outside was written, and nothing protected.
fn untouched(ground: &SandboxGround, place: &ExchangedPlace) {
    let mut left: Vec<_> = fs::read_dir(ground.outside(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort();
    assert_eq!(left, ["done", "private"], "{}", place.name);
    for file in place.files {
        let text = fs::read_to_string(ground.world.at(file)).unwrap_or_default();
        assert!(!text.contains("evil"), "{}: {file}", place.name);
    }
}

/// The commands that start while the folders `p` and `q` are exchanged, by another command of the same turn or by one of
/// another Aside. Each has to run, and none may have something mounted that is not in the workspace.
#[expect(clippy::print_stdout, reason = "a test that prints its figures")]
fn race(races: usize, by_another: bool) {
    let ground = SandboxGround::new(User::Same);
    ground.world.write("p/.bashrc", "");
    let home = ground.outside("");
    symlink(&home, ground.world.at("q")).unwrap();
    let swap = format!(
        "{EXCHANGE}import sys, time\nend = time.time() + float(sys.argv[1])\nwhile time.time() < end: exchange('p', 'q')\n"
    );
    ground.world.write("swap.py", &swap);
    // As long as commands take, and some more.
    let swapping = |commands: usize| {
        let seconds = 1.0 + commands as f64 * 0.05;
        call("swap", &format!("python3 swap.py {seconds}"))
    };
    let probe = format!(
        "awk '{{ print $4 }}' /proc/self/mountinfo | grep -F '{}' && echo evil >>p/.profile && echo FOREIGN; echo ran",
        name_outside(&ground)
    );
    let ids: Vec<String> = (0..races).map(|it| format!("probe{it}")).collect();
    let other = ground.world.folder().join("scripts/other.toml");
    fs::write(&other, script(&[swapping(races)])).unwrap();
    let other = format!("rehearsal/{}", other.display());
    let args = auto_run(&other, &[]);
    let running = by_another.then(|| start(&mut ground.command(program(), &args)));
    let messages = ids.chunks(AT_ONCE).map(|ids| {
        let own = Some(swapping(ids.len())).filter(|_| !by_another);
        let probes = ids.iter().map(|id| call(id, &probe));
        own.into_iter().chain(probes).collect::<Vec<_>>()
    });
    let messages: Vec<Vec<_>> = messages.collect();
    let messages = messages.iter().map(Vec::as_slice);
    let model = ground.world.script(&script_of_messages(messages));
    ground.aside(&auto_run(&model, &[])).exits(0);
    drop(running);
    assert!(
        fs::read_dir(&home).unwrap().next().is_none(),
        "by another: {by_another}"
    );
    let is_own = |folder: &PathBuf| {
        let log = fs::read_to_string(folder.join("events.jsonl")).unwrap();
        log.contains("\"probe0\"")
    };
    let all = ground.world.conversations();
    let log = EventLog::read(all.iter().find(|it| is_own(it)).unwrap());
    let told: Vec<&str> = ids.iter().map(|id| log.told(id)).collect();
    let ran = told.iter().filter(|told| told.ends_with("\nran")).count();
    let foreign = told.iter().filter(|told| told.contains("FOREIGN")).count();
    println!(
        "by another: {by_another}: {ran} of {races} commands ran, {foreign} with a foreign mount"
    );
    assert_eq!((ran, foreign), (races, 0), "{told:?}");
}

#[test]
fn no_command_mounts_what_another_exchanges_all_the_time() {
    let races: usize = env::var("ASIDE_RACES").map_or(RACES, |it| it.parse().expect("a number"));
    for by_another in [false, true] {
        for begun in (0..races).step_by(IN_A_TURN) {
            race(IN_A_TURN.min(races - begun), by_another);
        }
    }
}

/// A filter for the calls of the second wall, which then are as on a kernel that has none, in the kernel's layout.
fn without_second_wall() -> Vec<u8> {
    const ABSENT: u32 = 0x5_0000 | 38;
    let load_number = (0x20_u16, 0_u8, 0_u8, 0_u32);
    let (first, last) = ((0x35, 0, 2, 444), (0x25, 1, 0, 446));
    let (fails, runs) = ((0x06, 0, 0, ABSENT), (0x06, 0, 0, 0x7fff_0000));
    let all = [load_number, first, last, fails, runs].into_iter();
    let bytes = all.flat_map(|(code, then, otherwise, value)| {
        let [a, b] = code.to_ne_bytes();
        let [c, d, e, f] = value.to_ne_bytes();
        [a, b, then, otherwise, c, d, e, f]
    });
    bytes.collect()
}

#[test]
fn what_is_mounted_outside_while_a_command_runs_cannot_be_written() {
    for user in users() {
        let ground = SandboxGround::new(*user);
        let waits = "touch begun; for i in $(seq 100); do [ -e ../outside/x/there ] && break; [ -e ../outside/made ] && \
                     break; sleep 0.1; done; echo evil >../outside/x/evil && echo WROTE; echo end";
        let model = ground.world.script(&script(&[call("waits", waits)]));
        let filter = ground.world.folder().join("filter");
        fs::write(&filter, without_second_wall()).unwrap();
        ground.hand_over();
        let mounts = format!(
            "mkdir x && mount --make-rshared / && {{ (until [ -e '{}' ]; do sleep 0.05; done; mount -t tmpfs t x; \
             touch x/there made) & }}",
            ground.world.at("begun").display()
        );
        let line = format!(
            "exec bwrap --dev-bind / / --seccomp 9 \"$@\" 9<'{}'",
            filter.display()
        );
        let aside = program().to_str().unwrap();
        let run = auto_run(&model, &[]);
        ground
            .run_in_mounts(
                &mounts,
                &[&["sh", "-c", &line, "sh", aside], &run[..]].concat(),
            )
            .exits(0);
        assert!(ground.outside("made").exists(), "nothing was mounted");
        let told = ground.world.log().told("waits").to_owned();
        assert!(
            !told.contains("WROTE") && told.ends_with("end"),
            "{user:?}: {told}"
        );
    }
}
