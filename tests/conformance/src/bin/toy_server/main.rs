//! A server that speaks as much of the Aside protocol as the cases need, right, or wrong in one way.
//!
//! It is what the driver is tested on: the right one passes all cases, and each wrong one fails those that it should.
//! One thread, one message after the other; the model's script is played at once, so nothing waits but prompts.

mod consent;
mod fallback;
mod methods;
mod replies;
mod store;
mod turns;
mod wrong;

use std::{
    collections::{HashMap, HashSet, VecDeque},
    io::{self, Write},
    path::PathBuf,
};

use aside_conformance::script::Script;
use aside_test_client::framing;
use clap::Parser;
use serde_json::{Value, json};

use crate::{store::Store, wrong::Wrong};

/// A toy server for the Aside protocol on stdin and stdout
#[derive(Parser)]
struct Args {
    /// Is wrong in this way
    #[arg(long, value_name = "NAME", value_enum)]
    wrong: Option<Wrong>,
}

/// The toy server, with all that it keeps.
struct Toy {
    wrong: Option<Wrong>,
    /// `initialize` was answered.
    ready: bool,
    /// The client answers `aside/prompt`; else it knows nothing of Aside.
    knows: bool,
    /// It shows messages beside the text.
    beside: bool,
    root: PathBuf,
    /// The fingerprint of the workspace that is trusted.
    trusted: Option<String>,
    script: Script,
    store: Store,
    /// The `seq` of each turn that runs in this process.
    live: HashMap<String, u64>,
    /// The prompt of each request that was not replied to.
    asked: HashMap<i64, String>,
    /// Prompts whose message was sent away without an answer.
    put_off: HashSet<String>,
    /// Prompts that were settled by `aside/prompt/answer`.
    elsewhere: HashSet<String>,
    requests: i64,
    out: Vec<Value>,
}

/// What goes to a client under `aside/` is in the protocol's table.
fn assert_is_listed(method: &str, kind: &str) {
    let listed = aside_conformance::methods::row(method)
        .is_some_and(|row| row.kind == kind && row.to == "client");
    assert!(
        listed || !method.starts_with("aside/"),
        "{method} is no {kind} to a client in editors/methods.json"
    );
}

fn main() -> io::Result<()> {
    let args = Args::parse();
    let mut toy = Toy::new(args.wrong)?;
    let mut stdin = io::stdin().lock();
    let mut waiting = VecDeque::new();
    loop {
        let message = match waiting.pop_front().filter(|_| !toy.is_blocked()) {
            Some(message) => message,
            // An end inside of a message is an end.
            None => match framing::read(&mut stdin) {
                Ok(Some(message)) => message.parse()?,
                Ok(None) | Err(_) => break,
            },
        };
        if toy.is_blocked() && message.get("method").is_some() {
            waiting.push_back(message);
            continue;
        }
        if message["method"] == "exit" {
            break;
        }
        toy.handle(message);
        toy.flush()?;
    }
    toy.gone();
    toy.flush()
}

impl Toy {
    fn new(wrong: Option<Wrong>) -> io::Result<Self> {
        Ok(Self {
            wrong,
            ready: false,
            knows: false,
            beside: false,
            root: PathBuf::new(),
            trusted: None,
            script: Script::default(),
            store: Store::open()?,
            live: HashMap::new(),
            asked: HashMap::new(),
            put_off: HashSet::new(),
            elsewhere: HashSet::new(),
            requests: 0,
            out: Vec::new(),
        })
    }

    fn is(&self, wrong: Wrong) -> bool {
        self.wrong == Some(wrong)
    }

    /// Whether it waits for a reply, and reads nothing else: the wrong one.
    fn is_blocked(&self) -> bool {
        self.is(Wrong::Blocks) && !self.asked.is_empty()
    }

    fn handle(&mut self, mut message: Value) {
        let params = message
            .get_mut("params")
            .map(Value::take)
            .unwrap_or_default();
        let method = message.get("method").and_then(Value::as_str);
        match (method, message.get("id")) {
            (Some(method), Some(id)) => {
                let response = match self.request(method, &params) {
                    Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
                    Err(error) => {
                        json!({"jsonrpc": "2.0", "id": id, "error": {"code": error.code, "message": error.message}})
                    }
                };
                // What a request sets off may be told before it is answered; a client has to take both.
                self.out.push(response);
            }
            (None, Some(id)) => {
                if let Some(prompt) = id.as_i64().and_then(|id| self.asked.remove(&id)) {
                    self.replied(&prompt, &message);
                }
            }
            (_, None) => {}
        }
    }

    /// Nobody will answer any more: what is open stays open, on record.
    fn gone(&mut self) {
        if self.is(Wrong::VanishCompletes) {
            for prompt in self.open_prompts() {
                self.settle(&prompt.prompt, replies::Given::Answer(json!(true), None));
            }
        }
    }

    fn send(&mut self, method: &str, params: Value) {
        assert_is_listed(method, "notification");
        self.out
            .push(json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request about a prompt and gives its id.
    fn ask(&mut self, method: &str, params: &Value) -> i64 {
        assert_is_listed(method, "request");
        self.requests += 1;
        self.out.push(
            json!({"jsonrpc": "2.0", "id": self.requests, "method": method, "params": params}),
        );
        self.requests
    }

    /// What is announced is on disk before.
    fn flush(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        self.store.save()?;
        let mut stdout = io::stdout().lock();
        for message in self.out.drain(..) {
            // A client that is gone hears nothing.
            if stdout.write_all(&framing::frame(&message)).is_err() {
                break;
            }
        }
        let _ = stdout.flush();
        Ok(())
    }
}
