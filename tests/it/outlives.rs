//! What is open when its call ends, in every way in which that may happen, on every front end: it ends with its call, the
//! next turn begins at once, and nothing of it is left.
//!
//! The cells of each front end are played in one server, where it has one; a kind of question that a way of ending knows
//! nothing of is no cell.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use serde_json::json;

use crate::{
    mcp::left,
    world::{EventLog, LONG, TestWorld, until, until_within},
};

/// What is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenKind {
    /// The assistant asks.
    Assistant,
    /// A call needs permission.
    Permission,
    /// A result needs permission to be delivered.
    Delivery,
    /// A local tool asks in place of a result.
    LocalTool,
    /// A server asks while its call runs.
    ServerMeanwhile,
    /// A server asks in place of a result.
    ServerInstead,
}

pub(crate) const KINDS: [OpenKind; 6] = [
    OpenKind::Assistant,
    OpenKind::Permission,
    OpenKind::Delivery,
    OpenKind::LocalTool,
    OpenKind::ServerMeanwhile,
    OpenKind::ServerInstead,
];

/// How the call ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CallsEnd {
    Answered,
    Dismissed,
    /// The client cannot show it; a terminal goes away.
    Unshown,
    Cancelled,
    TimeOver,
    ServerGone,
    /// The server takes its question back, and its call goes on for a while.
    TakenBack,
    /// The server ends its call without an answer.
    WentOn,
    ClientGone,
}

pub(crate) const ENDS: [CallsEnd; 9] = [
    CallsEnd::Answered,
    CallsEnd::Dismissed,
    CallsEnd::Unshown,
    CallsEnd::Cancelled,
    CallsEnd::TimeOver,
    CallsEnd::ServerGone,
    CallsEnd::TakenBack,
    CallsEnd::WentOn,
    CallsEnd::ClientGone,
];

impl CallsEnd {
    /// Whether such a question can end so.
    pub(crate) fn is_of(self, kind: OpenKind) -> bool {
        let needs_server = matches!(self, Self::TakenBack | Self::WentOn);
        !needs_server || kind == OpenKind::ServerMeanwhile
    }

    /// The message with which the model is made to call.
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::TakenBack => "Back",
            Self::WentOn => "On",
            _ => "Go",
        }
    }
}

/// Asks for a place, and then says what it was told.
const LOCAL: &str = r#"call=$(cat); case $call in *'"answers":{}'*) printf '%s' '{"type":"needs_input","question":{"id":"to","text":"Where?","answer_type":{"type":"text"}}}' ;; *) printf '%s' '{"type":"success","content":"done"}' ;; esac"#;

/// A world in which such a question comes up, and the model that makes it.
pub(crate) struct OpenGround {
    pub(crate) world: TestWorld,
    pub(crate) model: String,
    kind: OpenKind,
}

impl OpenGround {
    pub(crate) fn new(kind: OpenKind) -> Self {
        let world = TestWorld::new();
        let tool = match kind {
            OpenKind::Assistant => "ask_user",
            OpenKind::Permission => "srv__echo",
            OpenKind::Delivery => "read_file",
            OpenKind::LocalTool => "deploy",
            OpenKind::ServerMeanwhile | OpenKind::ServerInstead => "srv__ask",
        };
        let call = |message: &str, way: &str| {
            let arguments = match kind {
                OpenKind::Assistant => json!({ "question": "Name?" }),
                OpenKind::Delivery => json!({ "path": "a.txt" }),
                OpenKind::ServerMeanwhile => json!({ "way": way }),
                _ => json!({}),
            };
            let call = json!({ "call": tool, "arguments": arguments });
            json!({ "when": { "user": message, "step": 1 }, "repeat": true, "say": [call] })
        };
        let fine = json!({ "repeat": true, "say": [{ "text": "Fine." }] });
        let replies = [
            call("Go", "waits"),
            call("Back", "takes-back"),
            call("On", "goes-on"),
            fine,
        ];
        world.write("a.txt", "text\n");
        let model = world.script(&toml::to_string(&json!({ "reply": replies })).unwrap());
        let ground = Self { world, model, kind };
        ground.limit(false);
        ground.world.aside(&["trust", "--yes"]).exits(0);
        ground
    }

    /// Writes the configuration, with or without a second as the time of a turn.
    pub(crate) fn limit(&self, seconds: bool) {
        let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp/server.py");
        let behaviour = match self.kind {
            OpenKind::ServerInstead => "modern",
            _ => "outlives",
        };
        let tool = match self.kind {
            OpenKind::Delivery => "[conversation.tools.read_file]\nresult = 'ask'\n",
            OpenKind::ServerMeanwhile | OpenKind::ServerInstead => {
                "[conversation.tools.srv__ask]\nrun = 'unattended'\n"
            }
            _ => "",
        };
        let local = match self.kind {
            OpenKind::LocalTool => format!(
                "[conversation.tools.deploy]\nsource = 'local'\ndescription = 'Deploys.'\nrun = 'unattended'\n\
                 command = {}\n",
                json!(["sh", "-c", LOCAL])
            ),
            _ => String::new(),
        };
        let mode = match self.kind {
            OpenKind::Permission => "ask",
            _ => "auto",
        };
        // Within it the server starts, also on a machine that is busy.
        let limit = if seconds {
            "conversation.limits.turn_seconds = 3\n"
        } else {
            ""
        };
        self.world.user_config(&format!(
            "assistant.model = '{}'\nunsandboxed = true\nconversation.mode = '{mode}'\n{limit}\
             [mcp.servers.srv]\ncommand = 'python3'\nargs = {}\n{tool}{local}",
            self.model,
            json!([server, behaviour])
        ));
    }

    /// Lets a server go on that waits for that.
    pub(crate) fn go(&self) {
        fs::write(self.world.at("../home/go"), "").unwrap();
    }

    /// Ends the server as a crash does.
    pub(crate) fn kill_server(&self) {
        let all = left(&self.world);
        assert!(!all.is_empty(), "no server runs");
        for process in all {
            let pid = Path::new(&process)
                .file_name()
                .unwrap()
                .to_str()
                .unwrap()
                .to_owned();
            // One that is the other's child may be gone with it.
            let _ = Command::new("kill").args(["-9", &pid]).output();
        }
        until("the server is gone", || left(&self.world).is_empty());
    }

    /// The program with these arguments, which says in a file how many tasks it has.
    pub(crate) fn counted(&self, args: &[&str]) -> Command {
        let log = self.log_file();
        let mut command = self
            .world
            .command(&[&["--log-file", log.to_str().unwrap()], args].concat());
        command.env("ASIDE_LOG", "aside::turn=debug");
        command
    }

    fn log_file(&self) -> PathBuf {
        self.world.folder().join("tasks")
    }

    /// The tasks that the server had when its last turn began.
    fn tasks(&self) -> usize {
        let said = fs::read_to_string(self.log_file()).unwrap();
        let (_, last) = said.rsplit_once("tasks=").expect("a turn");
        let digits = last.split(|letter: char| !letter.is_ascii_digit());
        digits.into_iter().next().unwrap().parse().unwrap()
    }

    /// Everything that was asked in the conversations was settled, and all that began has ended.
    pub(crate) fn is_settled(&self) {
        for folder in self.world.conversations() {
            let log = EventLog::read(&folder);
            for (begun, ended) in [
                ("turn_start", "turn_end"),
                ("tool_call", "tool_result"),
                ("inquiry_request", "inquiry_response"),
            ] {
                let ends: Vec<_> = log.all(ended);
                let ends = ends.iter().filter(|it| it["outcome"] != "interrupted");
                let ends = ends.filter(|it| it["held"] != true).count();
                assert_eq!(log.all(begun).len(), ends, "{begun}: {:#?}", log.events());
            }
        }
        until("no server is left", || left(&self.world).is_empty());
    }
}

/// What a server has of threads and tasks before and after.
pub(crate) struct Counted {
    pid: u32,
    threads: usize,
    tasks: usize,
}

fn threads(pid: u32) -> usize {
    fs::read_dir(format!("/proc/{pid}/task")).unwrap().count()
}

impl Counted {
    /// Counts what there is when nothing has happened yet but a plain turn.
    pub(crate) fn new(ground: &OpenGround, pid: u32, mut plain: impl FnMut()) -> Self {
        let threads = threads(pid);
        let tasks = (0..3).map(|_| {
            plain();
            ground.tasks()
        });
        // The first one begins before its servers run.
        let tasks = tasks.max().unwrap();
        Self {
            pid,
            threads,
            tasks,
        }
    }

    /// No more tasks are there than before, as soon as what just ended is over.
    pub(crate) fn tasks_are_over(&self, ground: &OpenGround, mut plain: impl FnMut()) {
        until_within(LONG, "no task is left", || {
            plain();
            ground.tasks() <= self.tasks
        });
    }

    /// No more threads are there than before, as soon as those are gone that have nothing to do.
    pub(crate) fn threads_are_over(&self) {
        until_within(LONG, "no thread is left", || {
            threads(self.pid) <= self.threads
        });
    }
}
