//! A world of its own for a run of the real program: a workspace, a home, and the state that is kept.

use std::{
    fs,
    io::{self, Read, Write},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::mpsc,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use self::steps::steps;
use crate::open::{self, program};

// Other tests take this file by its path.
#[path = "world/steps.rs"]
mod steps;

/// The path of the program under test, as it was built.
pub(crate) const ASIDE: &str = open::ASIDE;

/// How long anything may take before a test gives up on it, on a machine that has other things to do.
pub(crate) const LONG: Duration = Duration::from_secs(60);

/// How long a program may do nothing at all before a test gives up on it, whatever else the machine has to do.
const STILL: Duration = Duration::from_secs(10);

/// Bytes that files of tests may take in memory.
const ROOM: u64 = 2 << 30;

/// A workspace, and a home that knows nothing of the user who runs the tests.
pub(crate) struct TestWorld {
    folder: TempDir,
}

/// How a run of the program ended.
#[derive(Debug)]
pub(crate) struct ProgramResult {
    /// The exit code; -1 where a signal ended it.
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A run of the program that goes on. It is ended when this is dropped.
pub(crate) struct RunningProgram(Option<Child>);

impl TestWorld {
    pub(crate) fn new() -> Self {
        // As short as a name where temporary files are: texts that are cut at a length have paths in them.
        Self::of(match in_memory() {
            Some(memory) => tempfile::Builder::new().prefix("").tempdir_in(memory),
            None => tempfile::tempdir(),
        })
    }

    /// A world somewhere else than where temporary files are.
    pub(crate) fn below(base: &Path) -> Self {
        Self::of(tempfile::tempdir_in(base))
    }

    fn of(folder: io::Result<TempDir>) -> Self {
        let folder = folder.unwrap();
        for name in ["work", "home", "config", "state", "scripts"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        Self { folder }
    }

    /// The folder of everything: the workspace `work`, and beside it `home`, `config`, `state` and `scripts`.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// A path in the workspace.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.folder().join("work").join(path)
    }

    /// Writes a file of the workspace, folders included.
    pub(crate) fn write(&self, path: &str, text: &str) {
        write(&self.at(path), text);
    }

    /// Reads a file of the workspace.
    pub(crate) fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// Writes the user's own configuration.
    pub(crate) fn user_config(&self, text: &str) {
        write(&self.folder().join("config/aside/aside.toml"), text);
    }

    /// The server at this address listed this model before, and did not say what it takes: no turn asks it.
    pub(crate) fn listed(&self, model: &str, base_url: &str) {
        let (provider, model) = model.split_once('/').unwrap();
        let list = json!({ provider: { "base": base_url, "models": { model: {} } } });
        write(&self.models(), &list.to_string());
    }

    /// The file with what servers said of their models.
    pub(crate) fn models(&self) -> PathBuf {
        self.folder().join("state/aside/models.json")
    }

    /// Writes a script outside of the workspace, and returns the model that plays it. It is one of
    /// `server/provider/rehearsal/README.md`, or short, as [`steps`] reads it.
    pub(crate) fn script(&self, text: &str) -> String {
        let path = self.folder().join("scripts/script.toml");
        match text.contains("[[reply") {
            true => write(&path, text),
            false => write(&path, &steps(text)),
        }
        format!("rehearsal/{}", path.display())
    }

    /// The program with these arguments in the workspace: without a terminal, and with nothing on its standard
    /// input.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let program = program().to_str().unwrap();
        self.within("setsid", &[&[program], args].concat())
    }

    /// Another program, in the same place.
    pub(crate) fn within(&self, program: &str, args: &[&str]) -> Command {
        // A program that is looked for in a new environment is started by a copy of this process, all of its memory.
        let mut command = Command::new(found(program));
        command
            .args(args)
            .current_dir(self.at(""))
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder().join("home"))
            .env("XDG_CONFIG_HOME", self.folder().join("config"))
            .env("XDG_STATE_HOME", self.folder().join("state"))
            .env("TMPDIR", self.folder())
            // Whether a sandbox works here is another matter, for tests of its own.
            .env("ASIDE_SANDBOX", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs the program to its end.
    pub(crate) fn aside(&self, args: &[&str]) -> ProgramResult {
        start(&mut self.command(args)).end()
    }

    /// The same, with this on its standard input.
    pub(crate) fn aside_with(&self, input: &str, args: &[&str]) -> ProgramResult {
        let mut running = start(self.command(args).stdin(Stdio::piped()));
        let mut stdin = running.child().stdin.take().unwrap();
        // A program that does not want it may have closed it.
        let _ = stdin.write_all(input.as_bytes());
        drop(stdin);
        running.end()
    }

    /// One turn of a script, on the message `Go`.
    pub(crate) fn run(&self, script: &str, args: &[&str]) -> ProgramResult {
        let model = self.script(script);
        self.aside(&[&["run", "-m", &model, "Go"], args].concat())
    }

    /// Starts the program.
    pub(crate) fn start(&self, args: &[&str]) -> RunningProgram {
        start(&mut self.command(args))
    }

    /// Starts one turn of a script on the message `Go`, and waits until this is in its log.
    pub(crate) fn start_until(&self, script: &str, args: &[&str], event: &str) -> RunningProgram {
        let model = self.script(script);
        let running = self.start(&[&["run", "-m", &model, "Go"], args].concat());
        let begin = Instant::now();
        let event = format!("\"type\":\"{event}\"");
        let is_there = |folder: &PathBuf| {
            fs::read_to_string(folder.join("events.jsonl")).is_ok_and(|log| log.contains(&event))
        };
        while !self.conversations().iter().any(is_there) {
            assert!(begin.elapsed() < LONG, "no {event} in time");
            wait_since(begin);
        }
        running
    }

    /// The folders of the workspace's conversations.
    pub(crate) fn conversations(&self) -> Vec<PathBuf> {
        conversations(&self.folder().join("state/aside"))
    }

    /// The id of the only conversation.
    pub(crate) fn conversation(&self) -> String {
        let folder = only(self.conversations());
        folder.file_name().unwrap().to_str().unwrap().to_owned()
    }

    /// The log of the only conversation.
    pub(crate) fn log(&self) -> EventLog {
        EventLog::read(&only(self.conversations()))
    }
}

/// Where files are kept in memory, with room for all tests and for programs. Files that come and go by the ten thousand
/// cost a file system on disk most of its time, which is none of what is tested.
fn in_memory() -> Option<&'static Path> {
    let memory = Path::new("/dev/shm");
    let about = rustix::fs::statvfs(memory).ok()?;
    let has_room = about.f_bavail.saturating_mul(about.f_frsize) >= ROOM;
    let runs = !about.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC);
    let is_told = std::env::var_os("TMPDIR").is_some();
    (has_room && runs && !is_told).then_some(memory)
}

/// Where a program is, by its name; one that is nowhere stays a name.
fn found(program: &str) -> PathBuf {
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders)
        .filter(|_| !program.contains('/'))
        .map(|folder| folder.join(program))
        .find(|path| path.is_file())
        .unwrap_or(program.into())
}

/// Starts a program, whose output is piped.
pub(crate) fn start(command: &mut Command) -> RunningProgram {
    RunningProgram(Some(command.spawn().unwrap()))
}

/// The folders of all conversations in a state directory.
pub(crate) fn conversations(state: &Path) -> Vec<PathBuf> {
    let within = |folder: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let mut found: Vec<PathBuf> = within(state)
        .iter()
        .flat_map(|workspace| within(workspace))
        .filter(|folder| folder.join("events.jsonl").exists())
        .collect();
    found.sort();
    found
}

fn only(mut found: Vec<PathBuf>) -> PathBuf {
    assert_eq!(found.len(), 1, "{found:?}");
    found.remove(0)
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

impl RunningProgram {
    fn child(&mut self) -> &mut Child {
        self.0.as_mut().unwrap()
    }

    /// The id of the program's process.
    pub(crate) fn id(&mut self) -> u32 {
        self.child().id()
    }

    /// Sends a signal to the program.
    pub(crate) fn signal(&mut self, signal: Signal) {
        kill_process(Pid::from_child(self.child()), signal).unwrap();
    }

    /// Waits for its end, but not for ever.
    pub(crate) fn end(self) -> ProgramResult {
        self.end_within(LONG)
    }

    /// The same for a program that has more to do than others.
    pub(crate) fn end_within(mut self, most: Duration) -> ProgramResult {
        let mut child = self.0.take().unwrap();
        let stdout = reading(child.stdout.take());
        let stderr = reading(child.stderr.take());
        let mut patience = Patience::with(child.id());
        patience.most = most;
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break Some(status);
            }
            if patience.is_over() {
                child.kill().unwrap();
                child.wait().unwrap();
                break None;
            }
            std::thread::park_timeout(Duration::from_millis(2));
        };
        let (stdout, stderr) = (stdout.join().unwrap(), stderr.join().unwrap());
        let status = status.unwrap_or_else(|| panic!("it did not end:\n{stdout}\n{stderr}"));
        assert!(!stderr.contains("panicked at"), "it panicked:\n{stderr}");
        ProgramResult {
            code: status.code().unwrap_or(-1),
            stdout,
            stderr,
        }
    }
}

impl Drop for RunningProgram {
    fn drop(&mut self) {
        if let Some(mut child) = self.0.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

fn reading(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            pipe.read_to_end(&mut bytes).unwrap();
        }
        String::from_utf8(bytes).unwrap()
    })
}

impl ProgramResult {
    /// Checks the exit code.
    #[track_caller]
    pub(crate) fn exits(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }

    /// Checks that this was said on standard error.
    #[track_caller]
    pub(crate) fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "no {text:?} in {self:#?}");
        self
    }

    /// Checks standard output, all of it.
    #[track_caller]
    pub(crate) fn writes(self, text: &str) -> Self {
        assert_eq!(self.stdout, text, "{self:#?}");
        self
    }

    /// Standard output as one JSON object.
    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Standard output as one JSON object a line.
    #[track_caller]
    pub(crate) fn lines(&self) -> Vec<Value> {
        let line = |line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"));
        assert!(self.stdout.ends_with('\n'), "{self:#?}");
        self.stdout.lines().map(line).collect()
    }
}

/// What is on disk of a conversation.
pub(crate) struct EventLog(Vec<Value>);

impl EventLog {
    /// Reads the log in a conversation's folder; each line has to be whole and in its place.
    pub(crate) fn read(conversation: &Path) -> Self {
        let text = fs::read_to_string(conversation.join("events.jsonl")).unwrap();
        assert!(text.ends_with('\n'), "a torn line: {text}");
        let events: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}")))
            .collect();
        for (place, event) in events.iter().enumerate() {
            assert_eq!(event["seq"], place + 1, "{event}");
        }
        Self(events)
    }

    /// All events of the log, in order.
    pub(crate) fn events(&self) -> &[Value] {
        &self.0
    }

    /// The events of a type.
    pub(crate) fn all(&self, kind: &str) -> Vec<&Value> {
        self.0.iter().filter(|it| it["type"] == kind).collect()
    }

    /// The only event of a type.
    #[track_caller]
    pub(crate) fn one(&self, kind: &str) -> &Value {
        let all = self.all(kind);
        assert_eq!(all.len(), 1, "{kind}: {:#?}", self.0);
        all[0]
    }

    /// The result of the only call with this id.
    #[track_caller]
    pub(crate) fn result(&self, id: &str) -> &Value {
        let calls = self.all("tool_call");
        let calls: Vec<_> = calls.into_iter().filter(|it| it["id"] == id).collect();
        assert_eq!(calls.len(), 1, "{id}: {calls:#?}");
        let of_call =
            |it: &&Value| it["turn"] == calls[0]["turn"] && it["call"] == calls[0]["call"];
        let results: Vec<_> = self
            .all("tool_result")
            .into_iter()
            .filter(of_call)
            .collect();
        assert_eq!(results.len(), 1, "{id}: {:#?}", self.0);
        results[0]
    }

    /// What the model is told of the only call with this id.
    #[track_caller]
    pub(crate) fn told(&self, id: &str) -> &str {
        self.result(id)["content"].as_str().unwrap()
    }

    /// What the model is told of this call begins so.
    #[track_caller]
    pub(crate) fn told_begins(&self, id: &str, start: &str) {
        let told = self.told(id);
        assert!(told.starts_with(start), "{id}: {told}");
    }

    /// What the model is told of this call has this part.
    #[track_caller]
    pub(crate) fn told_has(&self, id: &str, part: &str) {
        let told = self.told(id);
        assert!(told.contains(part), "{id}: {told}");
    }
}

/// How long a program is waited for. A busy machine lets it wait, and that counts for less than a program that does
/// nothing though it could.
pub(crate) struct Patience {
    process: u32,
    begin: Instant,
    /// How long it may take at all.
    most: Duration,
    /// When it had last done something, and how much it had done then.
    done: (Instant, u64),
    looked: Instant,
}

impl Patience {
    /// With the process of this id, which was not waited for yet.
    pub(crate) fn with(process: u32) -> Self {
        let now = Instant::now();
        Self {
            process,
            begin: now,
            most: LONG,
            done: (now, 0),
            looked: now,
        }
    }

    /// It took too long, or did nothing for too long.
    pub(crate) fn is_over(&mut self) -> bool {
        let now = Instant::now();
        if now - self.looked > STILL / 20 {
            self.looked = now;
            self.take(now, done_by(self.process));
        }
        self.is_over_at(now)
    }

    /// What it had done by then, where that is known.
    fn take(&mut self, now: Instant, done: Option<u64>) {
        if done.is_none_or(|done| done != self.done.1) {
            self.done = (now, done.unwrap_or_default());
        }
    }

    fn is_over_at(&self, now: Instant) -> bool {
        now - self.begin > self.most || now - self.done.0 > STILL
    }
}

/// For how long a process and its children were running or wanted to; nothing where the system does not say.
pub(crate) fn done_by(process: u32) -> Option<u64> {
    let mut sum = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let thread = thread.ok()?.path();
        // On a processor, and waiting for one.
        let times = fs::read_to_string(thread.join("schedstat")).ok()?;
        let times = times.split(' ').take(2).map(str::parse::<u64>);
        sum += times.sum::<Result<u64, _>>().ok()?;
        let children = fs::read_to_string(thread.join("children")).ok()?;
        let children = children.split_whitespace();
        sum += children
            .filter_map(|child| done_by(child.parse().ok()?))
            .sum::<u64>();
    }
    Some(sum)
}

#[test]
fn a_program_that_does_nothing_is_given_up_on_long_before_one_that_works() {
    let mut child = Command::new("sh");
    let mut child = child.args(["-c", "while :; do :; done"]).spawn().unwrap();
    let first = done_by(child.id()).expect("the system says");
    until("work", || done_by(child.id()) > Some(first));
    let mut patience = Patience::with(child.id());
    child.kill().unwrap();
    child.wait().unwrap();

    let begin = patience.begin;
    let mut after = |seconds: u64, done: Option<u64>| {
        let now = begin + Duration::from_secs(seconds);
        patience.take(now, done);
        patience.is_over_at(now)
    };
    assert!(
        !after(1, Some(5)) && !after(10, Some(5)),
        "it may begin again"
    );
    assert!(after(12, Some(5)), "it hangs");
    assert!(
        (12..60).all(|second| !after(second, Some(second))),
        "it works"
    );
    assert!(!after(60, None), "nobody knows");
    assert!(after(61, Some(100)), "it works for ever");
}

/// Waits before what is waited for is looked for again: the longer it takes, the longer, as looking costs those who
/// work for it their time.
pub(crate) fn wait_since(begin: Instant) {
    let part = begin.elapsed() / 8;
    std::thread::park_timeout(part.clamp(Duration::from_millis(1), Duration::from_millis(25)));
}

/// Waits for something, but not for ever.
pub(crate) fn until(what: &str, is_so: impl FnMut() -> bool) {
    until_within(Duration::from_secs(10), what, is_so);
}

/// The same, for what other programs take longer for on a machine that has other things to do.
pub(crate) fn until_within(time: Duration, what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < time, "not within {time:?}: {what}");
        wait_since(begin);
    }
}

/// Time of a runtime whose clock is paused: while this is there it stands still, whatever is waited for, and only
/// passes where a test says so.
pub(crate) struct StillTime(#[expect(dead_code, reason = "dropped with it")] mpsc::Sender<()>);

impl StillTime {
    /// To be called in the runtime.
    pub(crate) fn begin() -> Self {
        let (holds, held) = mpsc::channel();
        // A paused clock goes on by itself only where nothing else is left to do.
        tokio::task::spawn_blocking(move || held.recv());
        Self(holds)
    }

    /// So much time passes at once.
    pub(crate) async fn passes(&self, time: Duration) {
        tokio::time::advance(time).await;
    }
}
