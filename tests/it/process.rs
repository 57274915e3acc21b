//! Commands as `run_command` runs them: real ones, under the real supervisor.

use std::{
    collections::HashMap,
    fs,
    io::{self, Read},
    os::{fd::OwnedFd, unix::net::UnixStream},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use aside_base::digest::sha256;
use aside_tool::{
    FileSnapshots, Files, ToolContext, ToolLimits, registry::Registry, sandbox::Sandbox,
    workspace::Workspace,
};
use aside_turn::{
    effect::CallWork,
    input::{Preparation, ToolOutcome},
    record::CallKey,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::world::{ASIDE, LONG, StillTime, wait_since};

/// A workspace in which commands run.
struct ProcessFixture {
    folder: TempDir,
    context: Arc<ToolContext>,
    registry: Registry,
    cancelled: CancellationToken,
    live: Arc<Mutex<String>>,
}

impl ProcessFixture {
    fn new(limits: ToolLimits) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let live = Arc::new(Mutex::new(String::new()));
        let shown = live.clone();
        let blobs = Arc::new(Mutex::new(HashMap::<String, Vec<u8>>::new()));
        let kept = blobs.clone();
        let context = Arc::new(ToolContext {
            files: Files::new(Workspace::open(folder.path()).unwrap(), None),
            seen: Mutex::new(FileSnapshots::default()),
            record_edit: Box::new(|_| Ok(())),
            keep_blob: Box::new(move |bytes| {
                kept.lock().unwrap().insert(sha256(bytes), bytes.to_owned());
                Ok(sha256(bytes))
            }),
            read_blob: Box::new(move |id, range| {
                let blobs = blobs.lock().unwrap();
                let blob = blobs.get(id).ok_or(io::ErrorKind::NotFound)?;
                let at = |at: u64| usize::try_from(at).unwrap().min(blob.len());
                Ok(blob[at(range.start)..at(range.end)].to_owned())
            }),
            said: Box::new(|_| Ok(Vec::new())),
            output: Box::new(move |_, text| shown.lock().unwrap().push_str(text)),
            progress: Box::new(|_, _| ()),
            approved: Box::new(|_| false),
            keep_approval: Box::new(|_| ()),
            attended: Box::new(|| false),
            distrust: Box::new(|_| true),
            ask_live: Arc::new(|_, _| {
                Box::pin(std::future::ready(Err("Nobody is there.".to_owned())))
            }),
            allowed: [].into(),
            sandbox: Sandbox::unsandboxed(),
            limits,
            tools: [].into_iter().collect(),
            conversation: "c1".into(),
            turn: "t1".into(),
            supervisor: ASIDE.into(),
        });
        let cancelled = CancellationToken::new();
        Self {
            folder,
            context,
            registry: Registry::builtin(),
            cancelled,
            live,
        }
    }

    async fn call(&self, tool: &str, arguments: Value) -> ToolOutcome {
        let work = CallWork {
            call: CallKey(0),
            id: "call_1".into(),
            tool: tool.into(),
            arguments,
            answers: vec![],
            new_text: None,
        };
        let prepared = self.registry.prepare(&work, &self.context).await;
        assert!(matches!(prepared, Preparation::Ready(_)), "{prepared:?}");
        self.registry
            .run(&work, &self.context, &self.cancelled)
            .await
    }

    async fn sh(&self, command: &str) -> String {
        text(
            self.call("run_command", json!({ "command": command }))
                .await,
        )
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn text(outcome: ToolOutcome) -> String {
    match outcome {
        ToolOutcome::Success(output) => output.content,
        ToolOutcome::Error(output) => format!("error: {}", output.content),
        other => format!("{other:?}"),
    }
}

async fn check(command: &str, expected: &str) {
    assert_eq!(
        ProcessFixture::new(ToolLimits::default()).sh(command).await,
        expected,
        "{command}"
    );
}

/// Waits for something, but not for ever.
fn wait_for<T>(what: &str, within: Duration, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < within, "not within {within:?}: {what}");
        wait_since(begin);
    }
}

/// The process ids that a command wrote into a file, once all of them are there.
fn pids(file: &Path, count: usize) -> Vec<i32> {
    wait_for("process ids", LONG, || {
        let text = fs::read_to_string(file).ok()?;
        let pids: Vec<i32> = text
            .split_inclusive('\n')
            .filter_map(|line| line.strip_suffix('\n')?.parse().ok())
            .collect();
        (pids.len() == count).then_some(pids)
    })
}

/// A process that has ended, or that only its parent has not looked at yet.
fn is_gone(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.is_empty()
        || stat
            .rsplit_once(") ")
            .is_some_and(|(_, rest)| rest.starts_with(['Z', 'X']))
}

fn assert_gone(pids: &[i32]) {
    for pid in pids {
        assert!(is_gone(*pid), "process {pid} is left");
    }
}

/// Leaves a process that left its session, one that ignores SIGTERM, and one whose parent is gone, and goes on.
const CLINGING: &str = "
    setsid sh -c 'trap \"\" TERM HUP; echo $$ >>pids; while :; do sleep 1; done' &
    sh -c 'trap \"\" TERM; echo $$ >>pids; while :; do sleep 1; done' &
    (setsid sh -c 'echo $$ >>pids; exec sleep 1000' &)
    trap '' TERM; echo $$ >>pids; while :; do sleep 1; done";

/// Says which descriptors are open.
const OPEN: &str =
    "for n in $(seq 0 99); do [ -e /proc/$$/fd/$n ] && printf '%s ' $n; done; echo end";

#[tokio::test]
async fn the_output_and_the_status_are_told() {
    check(
        "echo out; echo err >&2; echo out",
        "Exit status 0.\nout\nerr\nout",
    )
    .await;
    check("yes | head -n 1", "Exit status 0.\ny").await;
    check("exit 3", "Exit status 3.\n(no output)").await;
    check(
        "nonesuch-program 2>/dev/null",
        "Exit status 127.\n(no output)",
    )
    .await;
    check("kill -KILL $$", "Ended by signal 9 (SIGKILL).\n(no output)").await;
    check(
        "kill -TERM $$",
        "Ended by signal 15 (SIGTERM).\n(no output)",
    )
    .await;
    check(
        "printf '\\033[31mred\\033[0m \\377\\000'",
        "Exit status 0.\nred \u{fffd}␀",
    )
    .await;
}

#[tokio::test]
async fn children_get_nothing_by_default() {
    // Standard input is null, there is no terminal, and 0, 1 and 2 are all that is open.
    check("cat; echo end", "Exit status 0.\nend").await;
    check(
        "(: </dev/tty) 2>/dev/null || echo none",
        "Exit status 0.\nnone",
    )
    .await;
    check(OPEN, "Exit status 0.\n0 1 2 end").await;
    let ground = ProcessFixture::new(ToolLimits::default());
    let environment = ground.sh("env").await;
    assert!(environment.contains("\nPATH="), "{environment}");
    assert!(!environment.contains("CARGO_MANIFEST_DIR"), "{environment}");
    assert!(!environment.contains("CARGO_BIN_EXE"), "{environment}");
}

#[test]
fn what_was_left_open_in_us_does_not_reach_the_command() {
    // A shell passes on what it has open; the supervisor closes it.
    let script = "exec 7</dev/null 9</dev/null; exec \"$0\" __child 200 sh -c \"$1\"";
    let (ours, theirs) = UnixStream::pair().unwrap();
    let output = Command::new("sh")
        .args(["-c", script, ASIDE, OPEN])
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .output()
        .unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stdout), "0 1 2 end\n");
    drop(ours);
}

#[tokio::test]
async fn a_command_runs_where_it_should() {
    let ground = ProcessFixture::new(ToolLimits::default());
    fs::create_dir(ground.at("sub")).unwrap();
    let outcome = ground
        .call("run_command", json!({"command": "pwd", "cwd": "sub"}))
        .await;
    let sub = fs::canonicalize(ground.at("sub")).unwrap();
    assert_eq!(text(outcome), format!("Exit status 0.\n{}", sub.display()));
}

#[tokio::test]
async fn output_is_shown_while_it_comes() {
    let ground = ProcessFixture::new(ToolLimits::default());
    let command = "printf 'a\\303'; printf '\\244b\\n'";
    assert_eq!(ground.sh(command).await, "Exit status 0.\naäb");
    assert_eq!(*ground.live.lock().unwrap(), "aäb\n");
}

#[tokio::test]
async fn a_long_output_has_its_ends_and_the_rest_is_kept() {
    let ground = ProcessFixture::new(ToolLimits {
        head: 10,
        tail: 10,
        ..ToolLimits::default()
    });
    let all: String = (100..200).map(|n| format!("{n}\n")).collect();
    let id = sha256(all.as_bytes());
    let expected = format!(
        "Exit status 0.\n100\n101\n10\n[380 of 400 bytes are left out here: \
         read_output {{\"id\":\"{id}\",\"from\":10}}]\n7\n198\n199"
    );
    assert_eq!(ground.sh("seq 100 199").await, expected);
    let rest = ground
        .call("read_output", json!({"id": id, "from": 10, "length": 6}))
        .await;
    assert_eq!(text(rest), "2\n103\n\n[go on with from=16]");
}

#[tokio::test]
async fn gigabytes_of_output_are_read_and_dropped() {
    let ground = ProcessFixture::new(ToolLimits::default());
    let outcome = ground.sh("head -c 2147483648 /dev/zero; echo end").await;
    assert!(outcome.starts_with("Exit status 0.\n␀␀␀"));
    assert!(
        outcome.contains(
            "[2147450884 of 2147483652 bytes are left out here; its first 8 MiB are kept: "
        )
    );
    assert!(
        outcome.ends_with("␀␀end"),
        "{}",
        &outcome[outcome.len() - 30..]
    );
    // Each zero byte is shown by three.
    assert!(outcome.len() < 3 * (32 << 10) + 300, "{}", outcome.len());
    assert!(ground.live.lock().unwrap().len() < 3 * ((256 << 10) + (64 << 10)) + 100);
}

#[tokio::test]
async fn what_a_command_leaves_in_the_background_ends_with_it() {
    let ground = ProcessFixture::new(ToolLimits::default());
    let begin = Instant::now();
    let command = ": >pids
        sleep 1000 & echo $! >>pids
        setsid sh -c 'trap \"\" TERM HUP; echo $$ >>pids; while :; do sleep 1; done' &
        while [ $(wc -l <pids) -lt 2 ]; do :; done; echo done";
    assert_eq!(ground.sh(command).await, "Exit status 0.\ndone");
    assert!(begin.elapsed() < LONG, "it waits for nobody");
    assert_gone(&pids(&ground.at("pids"), 2));
}

#[tokio::test]
async fn the_last_words_of_what_is_left_come_through() {
    let ground = ProcessFixture::new(ToolLimits {
        drain: LONG,
        ..ToolLimits::default()
    });
    // What is left waits until the command is gone, and ends long before its time is over.
    let command = "(while kill -0 $$ 2>/dev/null; do :; done; echo late) & echo first";
    assert_eq!(ground.sh(command).await, "Exit status 0.\nfirst\nlate");
}

#[tokio::test(start_paused = true)]
async fn time_ends_a_command_with_all_of_its_processes() {
    let time = StillTime::begin();
    // The limit of a minute, less the moment in which a tool tells what it has.
    let limit = Duration::from_millis(59_500);
    let ground = ProcessFixture::new(ToolLimits {
        time: limit,
        ..ToolLimits::default()
    });
    let command = format!("echo begun; {CLINGING}");
    // The argument asks for more than the user allows.
    let arguments = json!({"command": command, "timeout_seconds": 1000});
    let file = ground.at("pids");
    let passes = async {
        let pids = tokio::task::spawn_blocking(move || pids(&file, 4)).await;
        time.passes(limit).await;
        (pids.unwrap(), Instant::now())
    };
    let (outcome, (pids, over)) = tokio::join!(ground.call("run_command", arguments), passes);
    assert!(over.elapsed() < LONG, "{:?}", over.elapsed());
    let outcome = text(outcome);
    assert!(
        outcome.starts_with("error: Stopped after 60 s, with all its processes;"),
        "{outcome}"
    );
    assert!(outcome.ends_with("\nbegun"), "{outcome}");
    assert_gone(&pids);
}

#[tokio::test]
async fn cancelling_ends_a_command_with_all_of_its_processes() {
    let ground = ProcessFixture::new(ToolLimits::default());
    let file = ground.at("pids");
    let token = ground.cancelled.clone();
    let watch = std::thread::spawn(move || {
        let pids = pids(&file, 4);
        token.cancel();
        (pids, Instant::now())
    });
    assert_eq!(ground.sh(CLINGING).await, "Stopped");
    let (pids, cancelled) = watch.join().unwrap();
    assert!(cancelled.elapsed() < LONG, "{:?}", cancelled.elapsed());
    assert_gone(&pids);
}

#[tokio::test]
async fn a_command_that_minds_sigterm_may_tidy_up() {
    let ground = ProcessFixture::new(ToolLimits::default());
    let file = ground.at("pids");
    let token = ground.cancelled.clone();
    let watch = std::thread::spawn(move || {
        pids(&file, 1);
        token.cancel();
    });
    let command =
        "trap 'echo tidied >tidied; exit' TERM; echo $$ >>pids; while :; do sleep 0.01; done";
    assert_eq!(ground.sh(command).await, "Stopped");
    watch.join().unwrap();
    assert_eq!(fs::read_to_string(ground.at("tidied")).unwrap(), "tidied\n");
}

#[tokio::test]
async fn a_dropped_call_ends_its_processes() {
    let ground = ProcessFixture::new(ToolLimits::default());
    let file = ground.at("pids");
    let pids = {
        let running = ground.sh(CLINGING);
        let ready = tokio::task::spawn_blocking(move || pids(&file, 4));
        tokio::select! {
            outcome = running => panic!("it ended: {outcome}"),
            pids = ready => pids.unwrap(),
        }
    };
    wait_for("all processes gone", LONG, || {
        pids.iter().all(|pid| is_gone(*pid)).then_some(())
    });
}

#[tokio::test]
async fn a_command_that_kills_its_supervisor_leaves_nothing_either() {
    let ground = ProcessFixture::new(ToolLimits::default());
    let command = ": >pids
        setsid sh -c 'trap \"\" TERM HUP; echo $$ >>pids; while :; do sleep 1; done' &
        sh -c 'echo $$ >>pids; exec sleep 1000' &
        while [ $(wc -l <pids) -lt 2 ]; do :; done; kill -KILL $PPID; sleep 1000";
    assert_eq!(
        ground.sh(command).await,
        "error: Its processes were ended from outside; its exit status is not known.\n(no output)"
    );
    assert_gone(&pids(&ground.at("pids"), 2));
}

#[tokio::test]
async fn a_stopped_supervisor_does_not_hold_a_cancel_up() {
    let ground = ProcessFixture::new(ToolLimits::default());
    let file = ground.at("pids");
    let token = ground.cancelled.clone();
    let watch = std::thread::spawn(move || {
        let pids = pids(&file, 1);
        token.cancel();
        (pids, Instant::now())
    });
    let command = "kill -STOP $PPID; echo $$ >>pids; sleep 1000";
    assert_eq!(ground.sh(command).await, "Stopped");
    let (pids, cancelled) = watch.join().unwrap();
    assert!(cancelled.elapsed() < LONG, "{:?}", cancelled.elapsed());
    assert_gone(&pids);
}

#[tokio::test]
async fn a_script_may_signal_its_own_group() {
    check(
        "trap 'exit 5' TERM; kill -TERM 0; sleep 1",
        "Exit status 5.\n(no output)",
    )
    .await;
}

#[test]
fn when_the_parent_is_killed_its_commands_are_gone_within_two_seconds() {
    let folder = tempfile::tempdir().unwrap();
    // A process that stands for Aside: it holds the lifeline, and is killed without warning.
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut supervisor = Command::new(ASIDE)
        .args(["__child", "200", "sh", "-c", CLINGING])
        .current_dir(&folder)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let mut parent = Command::new("sleep")
        .arg("1000")
        .stdin(Stdio::from(OwnedFd::from(ours)))
        .spawn()
        .unwrap();
    let mut pids = pids(&folder.path().join("pids"), 4);
    assert!(pids.iter().all(|pid| !is_gone(*pid)));
    pids.push(i32::try_from(supervisor.id()).unwrap());
    parent.kill().unwrap();
    wait_for("all processes gone", LONG, || {
        pids.iter().all(|pid| is_gone(*pid)).then_some(())
    });
    parent.wait().unwrap();
    supervisor.wait().unwrap();
}

#[test]
fn the_supervisor_says_how_it_went() {
    let report = |args: &[&str]| {
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let status = Command::new(ASIDE)
            .arg("__child")
            .args(args)
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .status()
            .unwrap();
        assert!(status.success());
        let mut line = String::new();
        ours.read_to_string(&mut line).unwrap();
        line
    };
    assert_eq!(report(&["0", "sh", "-c", "exit 7"]), "exit 7\n");
    // Not SIGHUP, which is ignored where the tests run under nohup.
    assert_eq!(report(&["0", "sh", "-c", "kill -KILL $$"]), "signal 9\n");
    assert!(report(&["0", "nonesuch-program"]).starts_with("failed No such file"));
    assert_eq!(report(&["0"]), "failed no program\n");
    assert_eq!(report(&["sh"]), "failed no milliseconds\n");
}
