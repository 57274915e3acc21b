//! What long logs and many conversations cost on this machine: `cargo bench --bench log`. Prints figures beside what is
//! wanted; nothing here passes or fails.
//!
//! `ASIDE_BENCH_MIB=64` makes a smaller log than that of 1 GB; `cargo bench --bench log -- memory` measures one part alone
//! (`long`, `many`, `slow`, `memory`).

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

use std::{
    fs,
    io::{BufWriter, Write},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

use aside_session::{
    codec,
    conversation::Conversation,
    record::{Entry, Frozen},
    store::Store,
};
use aside_test_client::Client;
use aside_turn::{
    Event,
    question::{AnswerType, Question, Source},
    record::{CallEnd, CallKey, Outcome, PromptId, PromptSubject},
    response::{Finish, Usage},
};
use serde_json::{Value, json};
use tempfile::TempDir;

const ASIDE: &str = env!("CARGO_BIN_EXE_aside");
/// Events of a turn of the long log.
const EVENTS: u64 = 11;
/// Events of the long log.
const ALL: u64 = 100_000;

fn main() {
    let mib = std::env::var("ASIDE_BENCH_MIB").map_or(1000, |mib| mib.parse().expect("a number"));
    let named: Vec<String> = std::env::args()
        .skip(1)
        .filter(|it| !it.starts_with('-'))
        .collect();
    let wants = |part: &str| named.is_empty() || named.iter().any(|it| it == part);
    if wants("long") {
        long_log(&LogWorld::new(), mib);
    }
    if wants("many") {
        many(5000);
    }
    if wants("slow") {
        slow_disk();
    }
    if wants("memory") {
        memory(&LogWorld::new());
    }
}

/// Prints a figure.
fn line(what: &str, figure: f64, unit: &str, wanted: &str) {
    println!("{what:<66} {figure:>9.2} {unit:<4} (wanted: {wanted})");
}

fn since(begin: Instant) -> f64 {
    begin.elapsed().as_secs_f64()
}

/// A workspace, and a store of its conversations.
struct LogWorld(TempDir);

impl LogWorld {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        for name in ["work", "state", "config"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        let script = "[[reply]]\nrepeat = true\nsay = [{ text = 'Fine.' }]\n";
        fs::write(folder.path().join("script.toml"), script).expect("a script");
        Self(folder)
    }

    fn store(&self) -> Store {
        let state = self.0.path().join("state/aside");
        Store::open(&state, &self.0.path().join("work")).expect("a store")
    }

    /// A server behind these words, which begin its command line.
    fn server(&self, before: &[&str]) -> Client {
        let words = [before, &[ASIDE, "lsp", "--stdio"]].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .current_dir(self.0.path().join("work"));
        command.env("XDG_STATE_HOME", self.0.path().join("state"));
        command.env("XDG_CONFIG_HOME", self.0.path().join("config"));
        let mut client = Client::run(command);
        let model = format!("rehearsal/{}", self.0.path().join("script.toml").display());
        let root = format!("file://{}", self.0.path().join("work").display());
        let options = json!({ "trusted": true, "config": { "assistant": { "model": model } } });
        let can = json!({ "experimental": { "aside": { "version": 1, "prompt": true } } });
        client.request(
            "initialize",
            json!({ "processId": null, "rootUri": root, "capabilities": can, "initializationOptions": options }),
        );
        client.notify("initialized", json!({}));
        client
    }
}

/// Memory of a process that is its own or shared, and its threads.
fn of_process(pid: u32) -> (f64, usize) {
    let rollup = fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).unwrap_or_default();
    let pss = rollup.lines().find_map(|line| line.strip_prefix("Pss:"));
    let kib = pss.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    let threads = fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
    (kib.unwrap_or(0.0) / 1024.0, threads)
}

/// The most memory that a process ever had.
fn peak(pid: u32) -> f64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = peak.and_then(|rest| rest.trim().trim_end_matches(" kB").parse().ok());
    kib.unwrap_or(0.0) / 1024.0
}

fn id(turn: u64) -> String {
    format!("t{turn:07}")
}

/// The events of a turn whose tool returns so many bytes.
fn events(turn: u64, bytes: usize) -> Vec<Entry> {
    let call = CallKey(0);
    let end = |finish| Event::ResponseEnd {
        finish: Some(finish),
        usage: Usage::default(),
    };
    let events = vec![
        Event::TurnStart,
        Event::UserMessage {
            text: format!("Read on, {turn}"),
            attachments: Vec::new(),
        },
        Event::RequestSent { step: 1 },
        Event::ToolCall {
            call,
            id: format!("call{turn}"),
            name: "read_file".into(),
            arguments: r#"{"path":"a.txt"}"#.into(),
            opaque: None,
        },
        end(Finish::ToolUse),
        Event::CallStarted {
            call,
            run: 1,
            title: "Read a.txt".into(),
        },
        Event::ToolResult {
            call,
            end: CallEnd::Success,
            content: "word\n".repeat(bytes / 5),
            held: false,
            details: None,
            media: Vec::new(),
            summary: None,
        },
        Event::RequestSent { step: 2 },
        Event::Text {
            text: "Read.".into(),
            opaque: None,
        },
        end(Finish::Stop),
        Event::TurnEnd {
            outcome: Outcome::Completed,
            answer: Some("Read.".into()),
            structured: None,
            error: None,
            usage: Usage::default(),
            refusals: Vec::new(),
        },
    ];
    events.into_iter().map(Entry::from).collect()
}

/// The events of a turn that was killed while it asked.
fn asking() -> Vec<Entry> {
    let question = Question::new("answer", "Name?", AnswerType::text());
    let call = CallKey(0);
    let events = vec![
        Event::TurnStart,
        Event::UserMessage {
            text: "Ask".into(),
            attachments: Vec::new(),
        },
        Event::RequestSent { step: 1 },
        Event::ToolCall {
            call,
            id: "asks".into(),
            name: "ask_user".into(),
            arguments: r#"{"question":"Name?"}"#.into(),
            opaque: None,
        },
        Event::ResponseEnd {
            finish: Some(Finish::ToolUse),
            usage: Usage::default(),
        },
        Event::InquiryRequest {
            id: "tool_call.ask_user.asks.answer.1".into(),
            call,
            source: Source::Assistant,
            question,
            live: false,
            label: None,
        },
        Event::PromptOpened {
            prompt: PromptId("p1".into()),
            call,
            subject: PromptSubject::Question {
                inquiry: "tool_call.ask_user.asks.answer.1".into(),
            },
        },
    ];
    events.into_iter().map(Entry::from).collect()
}

/// Writes the log of a conversation, without a wait for the disk.
fn write(conversation: &Conversation, turns: impl Iterator<Item = (String, Vec<Entry>)>) {
    let path = conversation.folder().join("events.jsonl");
    let mut file = BufWriter::new(fs::File::create(path).expect("a log"));
    let now = std::time::UNIX_EPOCH.elapsed().expect("a time");
    let mut seq = 1;
    let mut append = |turn: Option<&str>, entry: &Entry| {
        let line = codec::encode(seq, now, turn, entry).expect("a line");
        file.write_all(&line).expect("room");
        seq += 1;
    };
    append(None, &Entry::Conversation(Frozen::default()));
    for (turn, entries) in turns {
        entries.iter().for_each(|entry| append(Some(&turn), entry));
    }
    drop(file);
}

/// The last page, a resume and the list of a log of this size.
fn long_log(world: &LogWorld, mib: usize) {
    let store = world.store();
    let now = std::time::UNIX_EPOCH.elapsed().expect("a time");
    let conversation = store.create(None, now).expect("a conversation");
    let turns = ALL / EVENTS;
    let bytes = (mib << 20) / usize::try_from(turns).expect("a size");
    let all = (0..turns).map(|turn| (id(turn), events(turn, bytes)));
    write(&conversation, all.chain([("last".to_owned(), asking())]));
    let of = |mut params: Value| {
        params["conversationId"] = json!(conversation.id());
        params
    };
    println!("a log of {mib} MiB and {ALL} events");
    let mut client = world.server(&[]);
    let before = of_process(client.id()).0;
    let page = of(json!({ "after": id(turns - 20), "limit": 20 }));
    let begin = Instant::now();
    let read = client.request("aside/conversation/read", page);
    let took = since(begin);
    assert_eq!(read["turns"].as_array().map(Vec::len), Some(20));
    line(
        "  the last page of 20 turns",
        took,
        "s",
        "under 0.3; was 23",
    );
    let more = peak(client.id()) - before;
    line("  its memory at most", more, "MiB", "under 50; was 2048");
    for (what, params) in [
        ("  the first page of 20 turns", of(json!({ "limit": 20 }))),
        (
            "  a page amid",
            of(json!({ "after": id(turns / 2), "limit": 20 })),
        ),
    ] {
        let begin = Instant::now();
        client.request("aside/conversation/read", params);
        line(what, since(begin), "s", "was 23");
    }
    let begin = Instant::now();
    client.request("aside/conversation/list", json!({}));
    line("  the first list with it", since(begin), "s", "was 7.7");
    client.leave();

    let mut client = world.server(&[]);
    let begin = Instant::now();
    client.request("aside/turn/resume", of(json!({})));
    line(
        "  a resume after SIGKILL, to its answer",
        since(begin),
        "s",
        "under 1; was 4",
    );
    client.expect("aside/prompt");
    line("  and to its prompt", since(begin), "s", "under 1");
    client.crash();
}

/// The first list of so many conversations, and the second.
fn many(count: u64) {
    let world = LogWorld::new();
    let store = world.store();
    let now = std::time::UNIX_EPOCH.elapsed().expect("a time");
    for at in 0..count {
        let conversation = store.create(None, now).expect("a conversation");
        write(&conversation, std::iter::once((id(at), events(at, 1000))));
    }
    for (what, wanted) in [
        (
            "the first list of 5,000 conversations",
            "under 0.2; was 1.1",
        ),
        ("the first list of the next server", "under 0.2"),
    ] {
        let mut client = world.server(&[]);
        let begin = Instant::now();
        client.request("aside/conversation/list", json!({}));
        line(what, since(begin), "s", wanted);
        client.leave();
    }
}

fn turns(client: &mut Client, count: usize) {
    for _ in 0..count {
        let turn = client.turn(json!({ "message": "Go" }));
        client.play(&turn, |prompt| panic!("asked: {prompt}"));
        // What nobody reads would be searched again and again.
        for told in ["aside/conversation/changed", "aside/status"] {
            client.forget(told);
        }
    }
}

/// Threads behind turns on a disk that takes 0.3 s to sync.
fn slow_disk() {
    let world = LogWorld::new();
    let is_there = Command::new("strace").arg("-V").output().is_ok();
    if !is_there {
        return println!("without strace, no disk is slow");
    }
    let slow = [
        "strace",
        "-f",
        "-o",
        "/dev/null",
        "-e",
        "trace=fdatasync",
        "-e",
        "inject=fdatasync:delay_exit=300000",
    ];
    let mut client = world.server(&slow);
    let children = format!("/proc/{0}/task/{0}/children", client.id());
    let children = fs::read_to_string(children).unwrap_or_default();
    let pid: u32 = children.trim().parse().expect("the server's process");
    let before = of_process(pid).1;
    turns(&mut client, 150);
    let behind = of_process(pid).1;
    std::thread::sleep(Duration::from_secs(20));
    let later = of_process(pid).1;
    println!(
        "threads on a slow disk: {before} before 150 turns, {behind} after them (was 38), {later} 20 s later (was 38)"
    );
    client.crash();
}

/// Memory that a turn takes for good.
fn memory(world: &LogWorld) {
    let mut client = world.server(&[]);
    turns(&mut client, 5000);
    let (before, _) = of_process(client.id());
    turns(&mut client, 5000);
    let (after, threads) = of_process(client.id());
    line(
        "memory for good of a turn",
        (after - before) * 1024.0 / 5000.0,
        "KiB",
        "under 1; was 3.3",
    );
    println!("  {after:.1} MiB and {threads} threads after 10,000 turns");
    let leaves = Path::new("/proc").join(client.id().to_string());
    client.leave();
    assert!(!leaves.exists() || leaves.join("exe").read_link().is_err());
}
