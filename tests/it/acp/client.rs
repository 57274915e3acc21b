//! The test client, speaking the Agent Client Protocol in a [`TestWorld`].

use std::{
    io,
    ops::{Deref, DerefMut},
    path::Path,
    sync::Arc,
    thread,
};

use aside::front::acp;
use aside_test_client as shared;
use aside_tool::Tool;
use serde_json::{Value, json};

use crate::world::TestWorld;

/// A client with one session. The agent is ended when this is dropped.
pub(crate) struct Client {
    inner: shared::Client,
    /// The id of the session.
    pub(crate) session: String,
}

/// What a client with forms says that it can do.
pub(crate) fn forms() -> Value {
    json!({ "elicitation": { "form": {} } })
}

impl Client {
    /// Starts the agent in a trusted workspace with a model that plays the script, and opens a session.
    pub(crate) fn start(world: &TestWorld, script: &str, can: Value) -> Self {
        configure(world, script);
        world.aside(&["trust", "--yes"]).exits(0);
        Self::untrusted(world, can)
    }

    /// The same in a workspace as it is.
    pub(crate) fn untrusted(world: &TestWorld, can: Value) -> Self {
        let mut client = Self::spawn(world);
        client.open(world, can);
        client
    }

    /// The agent in this process, with one more tool.
    pub(crate) fn in_memory(
        world: &TestWorld,
        tool: impl Tool + 'static,
        script: &str,
        can: Value,
    ) -> Self {
        configure(world, script);
        world.aside(&["trust", "--yes"]).exits(0);
        let state = world.folder().join("state/aside");
        let config = world.folder().join("config/aside/aside.toml");
        let model = std::fs::read_to_string(config).unwrap();
        world.write("aside.toml", &model);
        world.aside(&["trust", "--yes"]).exits(0);
        let (input, to_agent) = io::pipe().unwrap();
        let (from_agent, output) = io::pipe().unwrap();
        let agent = thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(acp::connect(
                input,
                output,
                vec![Arc::new(tool)],
                Some(state),
            ))
        });
        let lines = shared::framing::Frames::Lines;
        let inner = shared::Client::of_thread(lines, agent, to_agent, from_agent, String::new);
        let mut client = Self::checked(inner);
        client.open(world, can);
        client
    }

    /// Starts the agent, to which nothing was said yet.
    pub(crate) fn spawn(world: &TestWorld) -> Self {
        Self::of(world.command(&["acp"]))
    }

    /// The same by this command.
    pub(crate) fn of(command: std::process::Command) -> Self {
        Self::checked(shared::Client::run_lines(command))
    }

    fn checked(mut inner: shared::Client) -> Self {
        let mut messages = shared::acp::Messages::default();
        inner.on_messages(move |to_agent, message| {
            let checked = messages.check(to_agent, message);
            checked.unwrap_or_else(|wrong| panic!("{wrong}"));
        });
        let session = String::new();
        Self { inner, session }
    }

    fn open(&mut self, world: &TestWorld, can: Value) {
        self.initialize(can);
        self.session = self.new_session(&world.at(""));
    }

    pub(crate) fn initialize(&mut self, can: Value) -> Value {
        let info = json!({ "name": "tester", "version": "1" });
        let params = json!({ "protocolVersion": 1, "clientInfo": info, "clientCapabilities": can });
        self.request("initialize", params)
    }

    pub(crate) fn new_session(&mut self, root: &Path) -> String {
        let opened = self.request("session/new", json!({ "cwd": root, "mcpServers": [] }));
        opened["sessionId"].as_str().unwrap().to_owned()
    }

    /// Params of the session, and these.
    pub(crate) fn of_session(&self, mut params: Value) -> Value {
        params["sessionId"] = json!(self.session);
        params
    }

    /// An agent in another process that resumes this session.
    pub(crate) fn resumed(world: &TestWorld, session: String, can: Value) -> Self {
        let mut client = Self::spawn(world);
        client.initialize(can);
        client.session = session;
        let params = client.of_session(json!({ "cwd": world.at(""), "mcpServers": [] }));
        client.request("session/resume", params);
        client
    }

    /// Sends a prompt, and returns the id of the request.
    pub(crate) fn prompt(&mut self, text: &str) -> u64 {
        let params = self.of_session(json!({ "prompt": [{ "type": "text", "text": text }] }));
        self.ask("session/prompt", params)
    }

    /// Plays a prompt to its end while a person answers; returns all updates and the stop reason.
    #[track_caller]
    pub(crate) fn play(
        &mut self,
        text: &str,
        mut person: impl FnMut(&Value) -> Value,
    ) -> (Vec<Value>, String) {
        let id = self.prompt(text);
        let mut updates = Vec::new();
        loop {
            let message = self.next("a message of the turn", |_| true);
            match message["method"].as_str() {
                // A session is told of its commands when it is opened.
                Some("session/update")
                    if message["params"]["update"]["sessionUpdate"]
                        == "available_commands_update" => {}
                Some("session/update") => updates.push(message["params"]["update"].clone()),
                Some("$/cancel_request") => {}
                Some(_) => {
                    let answer = person(&message);
                    self.reply(&message, answer);
                }
                None => {
                    assert_eq!(message["id"], id, "{message}");
                    let reason = message["result"]["stopReason"].as_str();
                    let reason = reason.unwrap_or_else(|| panic!("{message}")).to_owned();
                    return (updates, reason);
                }
            }
        }
    }

    /// Cancels what runs in the session.
    pub(crate) fn cancel(&mut self) {
        let params = self.of_session(json!({}));
        self.notify("session/cancel", params);
    }

    /// The stop reason of a prompt.
    #[track_caller]
    pub(crate) fn stopped(&mut self, id: u64) -> String {
        let result = self.result(id);
        result["stopReason"].as_str().unwrap().to_owned()
    }

    /// Ends the agent as a crash does.
    pub(crate) fn crash(self) {
        self.inner.crash();
    }

    /// Closes the agent's standard input, and waits until it has ended.
    #[track_caller]
    pub(crate) fn leave(self) {
        self.inner.leave();
    }
}

/// Nobody is to be asked.
pub(crate) fn nobody(request: &Value) -> Value {
    panic!("{request} came");
}

/// The answer to a permission.
pub(crate) fn choose(option: &str) -> Value {
    json!({ "outcome": { "outcome": "selected", "optionId": option } })
}

/// The texts of a kind of chunk, joined.
pub(crate) fn said(updates: &[Value], kind: &str) -> String {
    let chunks = updates.iter().filter(|it| it["sessionUpdate"] == kind);
    chunks
        .map(|it| it["content"]["text"].as_str().unwrap())
        .collect()
}

/// The updates of a kind.
pub(crate) fn of_kind<'a>(updates: &'a [Value], kind: &str) -> Vec<&'a Value> {
    updates
        .iter()
        .filter(|it| it["sessionUpdate"] == kind)
        .collect()
}

fn configure(world: &TestWorld, script: &str) {
    let model = world.script(script);
    world.user_config(&format!("assistant.model = '{model}'\n"));
}

impl Deref for Client {
    type Target = shared::Client;

    fn deref(&self) -> &shared::Client {
        &self.inner
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut shared::Client {
        &mut self.inner
    }
}
