//! Each call on files fails once in a server that goes on: what was answered is heard, the next message is taken, and
//! every request keeps the rules of its API.
//!
//! A sample of them, unless somebody wants them all: `ASIDE_FAULTS=all cargo test --test it -- models::storage
//! --nocapture`, or so many of each error: `ASIDE_FAULTS=20`.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use aside_model_server::{
    ServedApi,
    play::{ModelReply, ReplyItem},
    server::Received,
};
use serde_json::{Value, json};

use super::{
    column,
    stage::{ModelStage, PlayedStep, asked},
};
use crate::{
    lsp::client::{Client, answer, initialize, prompts},
    traced::seen_into,
    world::{ASIDE, EventLog},
};

/// Calls of each error that are tried, unless somebody wants more.
const SAMPLE: usize = 3;
/// How often something may be refused that is asked for again: each thread of the server meets the fault once.
const PATIENCE: usize = 12;
/// Errors of a storage.
const ERRORS: [&str; 6] = ["ENOSPC", "EIO", "EDQUOT", "EROFS", "EMFILE", "EINTR"];

/// A call that fails: its name, and the how-manieth of each thread it is.
#[derive(Clone, Copy, Debug)]
struct StorageFault {
    error: &'static str,
    call: &'static str,
    number: usize,
}

/// What makes a server's calls fail while this is there.
struct Tracer(Child, PathBuf);

impl Tracer {
    fn of(client: &Client, report: PathBuf, log: &Path, fault: StorageFault) -> Self {
        let StorageFault {
            error,
            call,
            number,
        } = fault;
        let mut strace = Command::new("strace");
        strace.args(["-f", "-o"]).arg(&report);
        strace.args(["-p", &client.id().to_string()]);
        if call == "write" {
            // Threads are woken by writes, too.
            strace.arg("-P").arg(log);
        }
        strace.args(["-e", &format!("trace=?{call}")]);
        strace.args(["-e", &format!("inject=?{call}:error={error}:when={number}")]);
        let mut strace = strace.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = BufReader::new(strace.stderr.take().unwrap()).lines();
        let attached = said.next().expect("a word of strace").unwrap();
        assert!(attached.contains("attached"), "{attached}");
        thread::spawn(move || said.for_each(drop));
        Self(strace, report)
    }

    /// Lets the server alone, and counts the calls that failed.
    fn end(mut self) -> usize {
        let pid = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.0.wait().unwrap();
        let said = fs::read_to_string(&self.1).unwrap();
        said.matches("(INJECTED)").count()
    }
}

fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A question, then a file, then words, by what the model heard last. `Next` is answered at once.
fn says(received: &Received) -> ModelReply {
    let nth = number();
    let reply = ModelReply::new(&nth.to_string());
    let messages = received.json["messages"].as_array().unwrap();
    let blocks = messages.iter().flat_map(|it| match &it["content"] {
        Value::String(text) => vec![json!({ "type": "text", "text": text })],
        blocks => blocks.as_array().cloned().unwrap_or_default(),
    });
    let mut heard = blocks.filter_map(|block| match block["type"].as_str() {
        Some("tool_result") => block["tool_use_id"].as_str().map(|id| id[..3].to_owned()),
        Some("text") => block["text"].as_str().map(str::to_owned),
        _ => None,
    });
    let known = ["Go", "Stop", "Next", "ask", "wri"];
    let last = heard.rfind(|it| known.contains(&it.as_str()));
    let call = |name: &str, arguments: Value| {
        ReplyItem::call(
            &format!("{}_{nth}", &name[..3]),
            name,
            arguments.to_string(),
        )
    };
    match last.as_deref() {
        Some("Go" | "Stop") => reply.say(call("ask_user", json!({ "question": "Name?" }))),
        Some("ask") => reply.say(call(
            "write_file",
            json!({ "path": format!("{nth}.txt"), "content": "written" }),
        )),
        _ => reply.text("Fine."),
    }
}

/// A server whose files fail, and the conversation that it leads.
struct FaultyStorage {
    stage: ModelStage,
    client: Client,
    conversation: Value,
}

impl FaultyStorage {
    fn new() -> Self {
        let script: Vec<PlayedStep> = (0..200).map(|_| asked(says)).collect();
        let stage = ModelStage::new(ServedApi::Anthropic, script);
        let words = seen_into(&[ASIDE, "lsp", "--stdio"]);
        let mut command = stage.world.within("setsid", &words);
        command.envs(column::environment(&stage.server.address().to_string()));
        let mut client = Client::run(command);
        let model = column::model(ServedApi::Anthropic);
        let options = json!({
            "trusted": true,
            "config": { "assistant": { "model": model }, "conversation": { "mode": "auto" } },
        });
        client.request("initialize", initialize(&stage.world, prompts(), options));
        client.notify("initialized", json!({}));
        let made = client.request("aside/conversation/create", json!({}));
        Self {
            stage,
            client,
            conversation: made["conversationId"].clone(),
        }
    }

    fn log(&self) -> PathBuf {
        self.stage.world.conversations()[0].join("events.jsonl")
    }

    /// What is asked for until it is not refused. Each refusal says why.
    fn patiently(&mut self, method: &str, params: &Value) -> Value {
        for _ in 0..PATIENCE {
            let id = self.client.ask(method, params.clone());
            let reply = self.client.answer(id);
            if reply["error"].is_null() {
                return reply["result"].clone();
            }
            let why = reply["error"]["message"].as_str().unwrap_or_default();
            assert!(!why.is_empty(), "{method}: {reply}");
        }
        panic!("{method} is refused for good")
    }

    /// Leads a turn to this end, as a person would: what was interrupted is resumed, what failed is said again.
    fn until(&mut self, message: &str, wanted: &str) {
        for _ in 0..PATIENCE {
            let list = self.patiently("aside/conversation/list", &json!({}));
            let conversation = json!({ "conversationId": self.conversation });
            let is_interrupted = list["items"][0]["status"] == "interrupted";
            let id = match is_interrupted {
                true => self.client.ask("aside/turn/resume", conversation),
                false => {
                    let of = &self.conversation;
                    let turn = json!({ "conversationId": of, "message": message });
                    self.client.ask("aside/turn/start", turn)
                }
            };
            let reply = self.client.answer(id);
            if reply["error"].is_null() && self.lead(&reply["result"], message)["outcome"] == wanted
            {
                return;
            }
        }
        panic!("no turn is {wanted} after {message}")
    }

    /// Answers the questions of a turn, adds a word before, or ends it, and returns its end.
    fn lead(&mut self, turn: &Value, message: &str) -> Value {
        loop {
            let of_turn = |it: &Value| it["params"]["turnId"] == turn["turnId"];
            let came = self.client.next("a message of the turn", of_turn);
            let id = json!({ "turnId": turn["turnId"] });
            match came["method"].as_str().unwrap() {
                "aside/prompt" if message == "Stop" => {
                    self.client.request("aside/turn/cancel", id);
                }
                "aside/prompt" => {
                    let steer = json!({ "turnId": turn["turnId"], "message": "Softly" });
                    let steer = self.client.ask("aside/turn/steer", steer);
                    self.client.answer(steer);
                    self.client.reply(&came, answer("Ada"));
                }
                "aside/turn/completed" => return came["params"].clone(),
                _ => {}
            }
        }
    }
}

/// What became of a server in which a call failed.
fn check(fault: StorageFault) -> usize {
    let mut storage = FaultyStorage::new();
    let report = storage.stage.world.folder().join("strace");
    let tracer = Tracer::of(&storage.client, report, &storage.log(), fault);
    storage.until("Go", "completed");
    storage.until("Stop", "cancelled");
    storage.until("Next", "completed");
    let failed = tracer.end();
    storage.until("Go", "completed");
    let FaultyStorage { stage, client, .. } = storage;
    client.leave();
    stage.forgets();
    stage.is_clean();
    let log = EventLog::read(&stage.world.conversations()[0]);
    // What was said of a turn without its message is nothing.
    let turns: HashSet<&str> = log
        .all("user_message")
        .iter()
        .filter_map(|it| it["turn"].as_str())
        .collect();
    let ended = log.all("turn_end");
    let ended: HashSet<&str> = ended.iter().filter_map(|it| it["turn"].as_str()).collect();
    assert!(
        turns.is_subset(&ended),
        "{fault:?}: {turns:?} of which {ended:?} ended"
    );
    let results = log.all("tool_result");
    let heard = results
        .iter()
        .filter(|it| it["content"].as_str().unwrap().contains("Ada"));
    // An answer whose own line could not be written is asked for again; the one after the fault is kept.
    assert!(heard.count() >= 1, "{fault:?}: an answer is lost");
    failed
}

/// The calls on files of these turns, as often as the thread makes them that makes them most.
fn calls() -> Vec<(&'static str, usize)> {
    let numbers = |call, most: usize| (1..=most).map(move |n| (call, n));
    let all = numbers("write", 40).chain(numbers("openat", 25));
    let all = all
        .chain(numbers("fdatasync", 3))
        .chain(numbers("fsync", 3));
    let all = all
        .chain(numbers("ftruncate", 4))
        .chain(numbers("mkdir", 4));
    let all = all
        .chain(numbers("rename", 4))
        .chain(numbers("renameat2", 2));
    let all = all
        .chain(numbers("renameat", 3))
        .chain(numbers("unlinkat", 3));
    let all = all
        .chain(numbers("unlink", 3))
        .chain(numbers("newfstatat", 6));
    all.chain(numbers("statx", 20))
        .chain(numbers("flock", 6))
        .chain(numbers("pread64", 6))
        .collect()
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn a_call_that_fails_once_costs_a_server_that_goes_on_no_answer_and_no_request() {
    let wanted = std::env::var("ASIDE_FAULTS").unwrap_or_default();
    let of_error = match wanted.as_str() {
        "all" => usize::MAX,
        number => number.parse().unwrap_or(SAMPLE),
    };
    let each = ERRORS.iter().flat_map(|error| {
        let faults = calls().into_iter().map(|(call, number)| StorageFault {
            error,
            call,
            number,
        });
        let mut faults: Vec<_> = faults.collect();
        fastrand::shuffle(&mut faults);
        faults.truncate(of_error);
        faults
    });
    let tried: Vec<StorageFault> = each.collect();
    let (next, happened) = (Mutex::new(tried.iter()), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some(fault) = { next.lock().unwrap().next() } {
                    if check(*fault) > 0 {
                        happened.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    eprintln!(
        "{} calls failed in a server that went on, {} of them happened: 0 invalid requests, 0 lost answers",
        tried.len(),
        happened.into_inner()
    );
}
