//! What a turn costs on this machine: `cargo bench --bench turn`. Prints medians; nothing here passes or fails.
//! `cargo bench --bench turn -- commands` measures commands alone.
//!
//! Run it on an otherwise idle machine. Whole processes are measured from outside, from just before they are
//! started.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use aside_session::{record::Entry, store::Store};
use aside_turn::{
    Event,
    record::Outcome,
    response::{Finish, Usage},
};
use nix::sys::resource::{UsageWho, getrusage};
use tempfile::TempDir;

const ASIDE: &str = env!("CARGO_BIN_EXE_aside");

fn main() {
    let is_commands = std::env::args().any(|it| it == "commands");
    if !is_commands {
        turns();
    }
    commands(&TurnWorld::new(), "a command (`true`)");
    let many = TurnWorld::new();
    many.fill("src", 2000, 20);
    many.fill("node_modules", 16_000, 10);
    many.repository();
    commands(&many, "a command among 200,000 files, most of packages");
    let many = TurnWorld::new();
    many.fill("src", 20_000, 10);
    many.repository();
    commands(
        &many,
        "a command among 200,000 files in 20,000 folders of code",
    );
}

fn turns() {
    let world = TurnWorld::new();
    // First, while no other child can have had the peak.
    let short = world.script("short", "[[reply]]\nsay = [{ text = \"Done.\" }]\n");
    world.run(&short);
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).map_or(0, |usage| usage.max_rss());
    println!(
        "{:<58} {:>9.1} MiB   (wanted: under 16)",
        "peak memory of a short turn",
        as_mib(peak)
    );

    line(
        "aside --version",
        "under 5",
        &sample(60, || world.version()),
    );
    line(
        "aside run: process start to the response's first piece",
        "under 10",
        &sample(40, || world.first_piece(&short)),
    );
    let [none, one, all] = [0, 1, 51].map(|count| {
        let script = world.calls(count);
        sample(15, || world.run(&script))
    });
    line("a turn without calls, whole process", "", &none);
    line(
        "a turn of 51 calls one after another, whole process",
        "",
        &all,
    );
    let (none, one, all) = (median(&none), median(&one), median(&all));
    println!(
        "{:<58} {:>9.3} ms    the first of a process {:.3} ms   (wanted: under 2)",
        "a call (read a small file)",
        (all - one) / 50.0,
        one - none
    );
    conversations(&world);
}

/// A command without walls, and inside the sandbox: the first of a process, and each of those after it. Without a sandbox
/// here, the second is refused and takes no time.
fn commands(world: &TurnWorld, what: &str) {
    let scripts = [0, 1, 21].map(|count| world.commands(count));
    let each = |args: &[&str]| {
        let run = |script: &Path| {
            let mut command = world.turn(script);
            command.args(["--trust", "--mode", "auto"]).args(args);
            timed(|| finish(command.stdout(Stdio::null())))
        };
        let [none, first, all] = [0, 1, 2].map(|at| median(&sample(15, || run(&scripts[at]))));
        (first - none, (all - first) / 20.0)
    };
    let ((free_first, free), (first, held)) = (each(&["--unsandboxed"]), each(&[]));
    println!(
        "{what:<58} {free:>9.3} ms    without walls; the first of a process {free_first:.3} ms"
    );
    println!(
        "{:<58} {held:>9.3} ms    inside the sandbox: {:.3} ms more   (wanted: under 40); the first {first:.3} ms",
        "",
        held - free
    );
}

/// Appending and showing the last turn, in a short conversation and in a long one.
fn conversations(world: &TurnWorld) {
    let short = world.conversation(10);
    let long = world.conversation(10_000);
    let compare = |what: &str, one: &[f64], other: &[f64]| {
        let (one, other) = (median(one), median(other));
        println!(
            "{what:<58} {one:>9.4} ms at 10 turns, {other:.4} ms at 10,000: ratio {:.2}   (wanted: about 1)",
            other / one
        );
    };
    compare(
        "open a conversation and append an event",
        &short.append(),
        &long.append(),
    );
    compare("read the last turn", &short.last_turn(), &long.last_turn());
    compare(
        "aside conversation show --last, whole process",
        &sample(20, || world.show_last(&short.id)),
        &sample(20, || world.show_last(&long.id)),
    );
}

/// A workspace, and state of its own.
struct TurnWorld {
    folder: TempDir,
}

struct LongConversation {
    id: String,
    store: Store,
}

impl TurnWorld {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["work", "state", "home"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        fs::write(folder.path().join("work/small.txt"), "a small file\n").expect("a file");
        Self { folder }
    }

    /// Makes so many folders with so many empty files each, below one of the workspace.
    fn fill(&self, below: &str, folders: usize, files: usize) {
        for folder in 0..folders {
            let folder = self
                .work()
                .join(format!("{below}/{}/{folder}", folder / 100));
            fs::create_dir_all(&folder).expect("a folder");
            for file in 0..files {
                fs::write(folder.join(format!("file{file}.rs")), "").expect("a file");
            }
        }
    }

    /// Makes a repository as Git does, with objects.
    fn repository(&self) {
        let git = self.work().join(".git");
        for folder in ["refs/heads", "hooks", "info"] {
            fs::create_dir_all(git.join(folder)).expect("a folder");
        }
        for file in ["HEAD", "config", "index"] {
            fs::write(git.join(file), "").expect("a file");
        }
        for object in 0..256 {
            let folder = git.join(format!("objects/{object:02x}"));
            fs::create_dir_all(&folder).expect("a folder");
            fs::write(folder.join("0"), "").expect("a file");
        }
    }

    fn work(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    fn script(&self, name: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join(format!("{name}.toml"));
        fs::write(&path, text).expect("a script");
        path
    }

    /// A script that reads a small file so many times, one call a message.
    fn calls(&self, count: usize) -> PathBuf {
        self.each(count, |number| {
            format!("\"read_file\", arguments = {{ path = \"small.txt\", to_line = {number} }}")
        })
    }

    /// A script that runs a command so many times, one call a message.
    fn commands(&self, count: usize) -> PathBuf {
        self.each(count, |number| {
            format!("\"run_command\", arguments = {{ command = \"true {number}\" }}")
        })
    }

    /// A script of calls that differ by their numbers: a turn that repeats one ends.
    fn each(&self, count: usize, call: impl Fn(usize) -> String) -> PathBuf {
        let reply = |number| format!("[[reply]]\nsay = [{{ call = {} }}]\n", call(number));
        let calls: String = (1..=count).map(reply).collect();
        self.script(
            &format!("{}{count}", call(0).split('"').nth(1).unwrap_or_default()),
            &format!("{calls}[[reply]]\nsay = [{{ text = \"Done.\" }}]\n"),
        )
    }

    fn command(&self) -> Command {
        let mut command = Command::new(ASIDE);
        command
            .current_dir(self.work())
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_CONFIG_HOME", self.folder.path().join("home"))
            .env("HOME", self.folder.path().join("home"))
            .stdin(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn turn(&self, script: &Path) -> Command {
        let mut command = self.command();
        command.args([
            "run",
            "--output",
            "jsonl",
            "--model",
            &format!("rehearsal/{}", script.display()),
            "go",
        ]);
        command
    }

    fn version(&self) -> f64 {
        timed(|| finish(self.command().arg("--version").stdout(Stdio::null())))
    }

    fn run(&self, script: &Path) -> f64 {
        timed(|| finish(self.turn(script).stdout(Stdio::null())))
    }

    fn show_last(&self, id: &str) -> f64 {
        let mut command = self.command();
        command
            .args(["conversation", "show", "--last", id])
            .stdout(Stdio::null());
        timed(|| finish(&mut command))
    }

    /// Until the first piece of the response is on standard output: the request was out before that.
    fn first_piece(&self, script: &Path) -> f64 {
        let start = Instant::now();
        let mut child = self
            .turn(script)
            .stdout(Stdio::piped())
            .spawn()
            .expect("aside runs");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let piece = lines.find(|line| {
            line.as_ref()
                .is_ok_and(|line| line.contains(r#""kind":"text""#))
        });
        let taken = as_ms(start.elapsed());
        assert!(piece.is_some(), "a piece comes");
        lines.for_each(drop);
        child.wait().expect("it ends");
        taken
    }

    /// A conversation of so many turns, as a front end leaves it.
    fn conversation(&self, turns: usize) -> LongConversation {
        let root = self.work().canonicalize().expect("the workspace");
        let store = Store::open(&self.folder.path().join("state/aside"), &root).expect("a store");
        let conversation = store.create(Some("long"), now()).expect("a conversation");
        let mut log = conversation.log(now()).expect("its log");
        for turn in 0..turns {
            for event in a_turn(turn) {
                log.append(now(), Some(&format!("t{turn}")), &event.into())
                    .expect("an event");
            }
        }
        LongConversation {
            id: conversation.id().to_owned(),
            store,
        }
    }
}

impl LongConversation {
    fn append(&self) -> Vec<f64> {
        let conversation = self.store.find(&self.id).expect("the conversation");
        sample(200, || {
            timed(|| {
                let mut log = conversation.log(now()).expect("its log");
                let title = "long".to_owned();
                log.append(now(), None, &Entry::Renamed { title })
                    .expect("an event");
            })
        })
    }

    fn last_turn(&self) -> Vec<f64> {
        let conversation = self.store.find(&self.id).expect("the conversation");
        sample(200, || {
            timed(|| {
                conversation.read_last_turn().expect("the last turn");
            })
        })
    }
}

fn a_turn(number: usize) -> Vec<Event> {
    let usage = Usage::default();
    vec![
        Event::TurnStart,
        Event::UserMessage {
            text: format!("Question {number}"),
            attachments: Vec::new(),
        },
        Event::RequestSent { step: 1 },
        Event::Text {
            text: "An answer of a usual length. ".repeat(20),
            opaque: None,
        },
        Event::ResponseEnd {
            finish: Some(Finish::Stop),
            usage,
        },
        Event::TurnEnd {
            outcome: Outcome::Completed,
            answer: Some("An answer.".into()),
            structured: None,
            error: None,
            usage,
            refusals: Vec::new(),
        },
    ]
}

fn finish(command: &mut Command) {
    let status = command.status().expect("aside runs");
    assert!(status.success(), "{command:?} ended with {status}");
}

fn timed(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    as_ms(start.elapsed())
}

/// After three runs that do not count.
fn sample(count: usize, mut measure: impl FnMut() -> f64) -> Vec<f64> {
    for _ in 0..3 {
        measure();
    }
    (0..count).map(|_| measure()).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}

fn line(what: &str, wanted: &str, values: &[f64]) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let wanted = if wanted.is_empty() {
        String::new()
    } else {
        format!("   (wanted: {wanted})")
    };
    println!(
        "{what:<58} {:>9.2} ms    least {least:.2}{wanted}",
        median(values)
    );
}

fn as_ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "kibibytes of memory")]
fn as_mib(kibibytes: i64) -> f64 {
    kibibytes as f64 / 1024.0
}

fn now() -> Duration {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default()
}
