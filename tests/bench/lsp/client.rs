//! A client of the server as a process: real pipes, and the time at which each message was read.

use std::{
    ffi::OsString,
    fs,
    io::{BufRead, BufReader, Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    sync::mpsc::{Receiver, channel},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a message may take before the benchmark gives up on it.
const LONG: Duration = Duration::from_secs(60);

/// A workspace, and state of its own.
pub(crate) struct World {
    folder: TempDir,
}

/// A client, and its server, which ends with it.
pub(crate) struct Client {
    server: Child,
    input: ChildStdin,
    messages: Receiver<Message>,
    last: u64,
    /// When the response of `initialize` had been read.
    pub(crate) initialized: Instant,
    pub(crate) root: String,
}

/// A message of the server.
pub(crate) struct Message {
    /// When its last byte had been read.
    pub(crate) at: Instant,
    /// What it took of the pipe, in bytes.
    pub(crate) bytes: usize,
    body: Vec<u8>,
}

/// A turn that is over.
pub(crate) struct Turn {
    /// Just before the request was written.
    pub(crate) asked: Instant,
    pub(crate) completed: Instant,
    pub(crate) conversation: String,
    /// Its updates of text.
    pub(crate) pieces: Vec<Piece>,
}

/// An update of text.
pub(crate) struct Piece {
    pub(crate) at: Instant,
    pub(crate) bytes: usize,
    pub(crate) text: String,
}

impl World {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["work", "state", "home"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        fs::write(folder.path().join("work/small.txt"), "a small file\n").expect("a file");
        Self { folder }
    }

    /// The model of a script.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(format!("{name}.toml"));
        fs::write(&path, text).expect("a script");
        format!("rehearsal/{}", path.display())
    }

    /// Starts the server and initializes it with these settings of the user's scope.
    pub(crate) fn client(&self, config: Value) -> Client {
        let binary = std::env::var_os("ASIDE_BENCH_BINARY")
            .unwrap_or_else(|| OsString::from(env!("CARGO_BIN_EXE_aside")));
        let mut server = Command::new(binary)
            .args(["lsp", "--stdio"])
            .current_dir(self.folder.path().join("work"))
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_CONFIG_HOME", self.folder.path().join("home"))
            .env("HOME", self.folder.path().join("home"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("aside runs");
        let input = server.stdin.take().expect("its input");
        let output = server.stdout.take().expect("its output");
        let (say, messages) = channel();
        std::thread::spawn(move || {
            let mut output = BufReader::with_capacity(64 * 1024, output);
            while let Some(message) = read(&mut output) {
                if say.send(message).is_err() {
                    return;
                }
            }
        });
        let root = format!("file://{}", self.folder.path().join("work").display());
        let mut client = Client {
            server,
            input,
            messages,
            last: 0,
            initialized: Instant::now(),
            root,
        };
        client.initialize(&config);
        client
    }
}

impl Client {
    fn initialize(&mut self, config: &Value) {
        let params = json!({
            "processId": null,
            "rootUri": self.root,
            "capabilities": { "experimental": { "aside": { "version": 1, "prompt": true } } },
            "initializationOptions": { "trusted": true, "config": config },
        });
        self.request("initialize", params);
        self.initialized = self.reply().0;
        self.notify("initialized", json!({}));
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns when: just before it was written.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Instant {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))
    }

    /// The reply to the last request. What comes before it is dropped.
    pub(crate) fn reply(&mut self) -> (Instant, Value) {
        let id = self.last;
        let (at, reply) = self.until(|it| it["id"] == id && it["method"].is_null());
        assert_eq!(reply["error"], Value::Null, "the request failed");
        (at, reply["result"].clone())
    }

    /// The next message that fits. What comes before it is dropped.
    pub(crate) fn until(&mut self, fits: impl Fn(&Value) -> bool) -> (Instant, Value) {
        loop {
            let message = self.messages.recv_timeout(LONG).expect("a message");
            let json = message.json();
            if fits(&json) {
                return (message.at, json);
            }
        }
    }

    /// Plays a turn to its end.
    pub(crate) fn turn(&mut self, params: Value) -> Turn {
        let asked = self.request("aside/turn/start", params);
        let mut messages = Vec::new();
        // What came is looked at when all is there: nothing slows the reading down.
        loop {
            let message = self.messages.recv_timeout(LONG).expect("a message");
            let over = message.has(br#""aside/turn/completed""#);
            messages.push(message);
            if over {
                break;
            }
        }
        let last = messages.last().expect("the end");
        let end = last.json();
        assert_eq!(end["params"]["outcome"], "completed", "{end}");
        let text = messages.iter().filter_map(|message| {
            let json = message.json();
            let update = &json["params"]["update"];
            (update["kind"] == "text").then(|| Piece {
                at: message.at,
                bytes: message.bytes,
                text: update["text"].as_str().unwrap_or_default().to_owned(),
            })
        });
        Turn {
            asked,
            completed: last.at,
            conversation: end["params"]["conversationId"]
                .as_str()
                .unwrap_or_default()
                .to_owned(),
            pieces: text.collect(),
        }
    }

    /// The memory that only the server has, and its share of the rest, in MiB. Not everywhere is it told.
    pub(crate) fn memory(&self) -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.server.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        let kibibytes: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kibibytes / 1024.0)
    }

    /// The time that the server's threads have spent on a processor, in seconds. Not everywhere is it told.
    pub(crate) fn processor(&self) -> Option<f64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.server.id())).ok()?;
        let spent = |task: fs::DirEntry| -> Option<f64> {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        let spent: Vec<f64> = tasks.flatten().filter_map(spent).collect();
        (!spent.is_empty()).then(|| spent.iter().sum::<f64>() / 1e9)
    }

    fn send(&mut self, message: &Value) -> Instant {
        let body = message.to_string();
        let bytes = format!("Content-Length: {}\r\n\r\n{body}", body.len());
        let at = Instant::now();
        self.input
            .write_all(bytes.as_bytes())
            .expect("the server reads");
        at
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Message {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    fn has(&self, bytes: &[u8]) -> bool {
        self.body.windows(bytes.len()).any(|part| part == bytes)
    }
}

fn read(output: &mut BufReader<ChildStdout>) -> Option<Message> {
    let (mut line, mut head, mut length) = (String::new(), 0, 0);
    loop {
        line.clear();
        head += output
            .read_line(&mut line)
            .ok()
            .filter(|count| *count > 0)?;
        if line == "\r\n" {
            break;
        }
        if let Some(count) = line.strip_prefix("Content-Length: ") {
            length = count.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).ok()?;
    Some(Message {
        at: Instant::now(),
        bytes: head + length,
        body,
    })
}
