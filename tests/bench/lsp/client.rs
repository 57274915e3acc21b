//! The test client in a place of its own, and the time at which each message was read.

use std::{
    ffi::OsString,
    fs,
    process::Command,
    time::{Duration, Instant},
};

use aside_test_client as shared;
use serde_json::{Value, json};
use tempfile::TempDir;

/// How long a message may take before the benchmark gives up on it.
const LONG: Duration = Duration::from_secs(60);

/// A workspace, and state of its own.
pub(crate) struct World {
    folder: TempDir,
    protocol: Protocol,
}

/// What is spoken with the server.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Protocol {
    Lsp,
    Acp,
}

/// A client, and its server, which ends with it.
pub(crate) struct Client {
    client: shared::Client,
    /// The id of the last request.
    last: u64,
    /// When the response of `initialize` had been read.
    pub(crate) initialized: Instant,
    pub(crate) root: String,
    pub(crate) protocol: Protocol,
    /// The id of the session, of the Agent Client Protocol.
    session: Value,
    /// Something was said in it.
    prompted: bool,
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
    pub(crate) fn new(protocol: Protocol) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in ["work", "state", "home"] {
            fs::create_dir(folder.path().join(name)).expect("a folder");
        }
        fs::write(folder.path().join("work/small.txt"), "a small file\n").expect("a file");
        let world = Self { folder, protocol };
        if protocol == Protocol::Acp {
            // The other one says so itself.
            let trusted = world.command().args(["trust", "--yes"]).output();
            assert!(trusted.expect("the program").status.success(), "no trust");
        }
        world
    }

    /// The program, in this place.
    fn command(&self) -> Command {
        let binary = std::env::var_os("ASIDE_BENCH_BINARY")
            .unwrap_or_else(|| OsString::from(env!("CARGO_BIN_EXE_aside")));
        let mut command = Command::new(binary);
        command
            .current_dir(self.folder.path().join("work"))
            .env("XDG_STATE_HOME", self.folder.path().join("state"))
            .env("XDG_CONFIG_HOME", self.folder.path().join("home"))
            .env("HOME", self.folder.path().join("home"));
        command
    }

    pub(crate) fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// The model of a script.
    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.folder.path().join(format!("{name}.toml"));
        fs::write(&path, text).expect("a script");
        format!("rehearsal/{}", path.display())
    }

    /// Starts the server and initializes it with these settings of the user's scope.
    pub(crate) fn client(&self, config: Value) -> Client {
        let protocol = self.protocol;
        if protocol == Protocol::Acp {
            // There is no other way to have settings.
            let text = toml::to_string(&config).expect("settings");
            let place = self.folder.path().join("home/aside");
            fs::create_dir_all(&place).expect("a folder");
            fs::write(place.join("aside.toml"), text).expect("a file");
        }
        let mut server = self.command();
        server.args(match protocol {
            Protocol::Lsp => ["lsp", "--stdio"].as_slice(),
            Protocol::Acp => &["acp"],
        });
        let work = self.folder.path().join("work");
        let mut client = Client {
            client: match protocol {
                Protocol::Lsp => shared::Client::run(server),
                Protocol::Acp => shared::Client::run_lines(server),
            },
            last: 0,
            initialized: Instant::now(),
            root: format!("file://{}", work.display()),
            protocol,
            session: Value::Null,
            prompted: false,
        };
        match protocol {
            Protocol::Lsp => client.initialize(&config),
            Protocol::Acp => client.open(),
        }
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

    fn open(&mut self) {
        let params = json!({ "protocolVersion": 1, "clientCapabilities": {} });
        self.request("initialize", params);
        self.initialized = self.reply().0;
        self.new_session();
    }

    fn new_session(&mut self) {
        let work = self.root.trim_start_matches("file://").to_owned();
        self.request("session/new", json!({ "cwd": work, "mcpServers": [] }));
        self.session = self.reply().1["sessionId"].clone();
        self.until(|it| it["params"]["update"]["sessionUpdate"] == "available_commands_update");
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.client.notify(method, params);
    }

    /// Sends a request and returns when: just before it was written.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Instant {
        let (id, at) = self.client.ask_at(method, params);
        self.last = id;
        at
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
            let message = self.client.next_raw(LONG);
            let json = json(&message);
            if fits(&json) {
                return (message.at, json);
            }
        }
    }

    /// Plays a turn to its end.
    pub(crate) fn turn(&mut self, params: Value) -> Turn {
        if self.protocol == Protocol::Acp {
            return self.prompt(&params["message"]);
        }
        let asked = self.request("aside/turn/start", params);
        let mut messages = Vec::new();
        // What came is looked at when all is there: nothing slows the reading down.
        loop {
            let message = self.client.next_raw(LONG);
            let over = message.contains(br#""aside/turn/completed""#);
            messages.push(message);
            if over {
                break;
            }
        }
        let last = messages.last().expect("the end");
        let end = json(last);
        assert_eq!(end["params"]["outcome"], "completed", "{end}");
        let text = messages.iter().filter_map(|message| {
            let json = json(message);
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

    /// Plays a prompt to its end, in a session of its own, as turns are in conversations of their own.
    fn prompt(&mut self, text: &Value) -> Turn {
        if std::mem::replace(&mut self.prompted, true) {
            self.new_session();
        }
        let prompt = json!([{ "type": "text", "text": text }]);
        let params = json!({ "sessionId": self.session, "prompt": prompt });
        let asked = self.request("session/prompt", params);
        let mut messages = Vec::new();
        loop {
            let message = self.client.next_raw(LONG);
            let over = message.contains(br#""stopReason""#);
            messages.push(message);
            if over {
                break;
            }
        }
        let text = messages.iter().filter_map(|message| {
            let json = json(message);
            let update = &json["params"]["update"];
            (update["sessionUpdate"] == "agent_message_chunk").then(|| Piece {
                at: message.at,
                bytes: message.bytes,
                text: update["content"]["text"]
                    .as_str()
                    .unwrap_or_default()
                    .to_owned(),
            })
        });
        Turn {
            asked,
            completed: messages.last().expect("the end").at,
            conversation: self.session.as_str().unwrap_or_default().to_owned(),
            pieces: text.collect(),
        }
    }

    /// The memory that only the server has, and its share of the rest, in MiB. Not everywhere is it told.
    pub(crate) fn memory(&self) -> Option<f64> {
        let text = fs::read_to_string(format!("/proc/{}/smaps_rollup", self.client.id())).ok()?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
        let kibibytes: f64 = line.trim().strip_suffix(" kB")?.trim().parse().ok()?;
        Some(kibibytes / 1024.0)
    }

    /// The time that the server's threads have spent on a processor, in seconds. Not everywhere is it told.
    pub(crate) fn processor(&self) -> Option<f64> {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.client.id())).ok()?;
        let spent = |task: fs::DirEntry| -> Option<f64> {
            let text = fs::read_to_string(task.path().join("schedstat")).ok()?;
            text.split(' ').next()?.parse().ok()
        };
        let spent: Vec<f64> = tasks.flatten().filter_map(spent).collect();
        (!spent.is_empty()).then(|| spent.iter().sum::<f64>() / 1e9)
    }
}

fn json(message: &shared::Message) -> Value {
    message.parse().expect("JSON")
}
