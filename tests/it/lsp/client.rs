//! The test client, in a [`TestWorld`].

use std::{
    io,
    ops::{Deref, DerefMut},
    panic,
    process::Command,
    sync::{
        Arc, Mutex, Once, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use aside::front::lsp;
use aside_test_client::{self as shared, framing::Frames};
use aside_tool::Tool;
use serde_json::{Value, json};

use crate::world::TestWorld;

/// A client. The server is ended when this is dropped.
pub(crate) struct Client(shared::Client);

impl Client {
    /// Starts the server in the workspace and initializes it. The script is what the model plays; the workspace is
    /// trusted. The word of a client without the protocol is not taken for either, so that the user gives it.
    pub(crate) fn start(world: &TestWorld, script: &str, capabilities: Value) -> Self {
        if capabilities["experimental"]["aside"].is_null() {
            return Self::named(None, world, script, capabilities);
        }
        let model = world.script(script);
        let options = json!({ "trusted": true, "config": { "assistant": { "model": model } } });
        Self::with(world, capabilities, options)
    }

    /// The same, with all that can be logged in `trace.log`.
    pub(crate) fn traced(world: &TestWorld, script: &str, capabilities: Value) -> Self {
        let options = json!({ "trusted": true, "config": { "assistant": { "model": world.script(script) } } });
        let log = world.folder().join("trace.log");
        let mut command = world.command(&["lsp", "--stdio", "--log-file", log.to_str().unwrap()]);
        command.env("ASIDE_LOG", "trace");
        Self::run(command).initialized(initialize(world, capabilities, options))
    }

    /// The same with a client without the protocol, of this name.
    pub(crate) fn named(
        name: Option<&str>,
        world: &TestWorld,
        script: &str,
        capabilities: Value,
    ) -> Self {
        let model = world.script(script);
        world.user_config(&format!("assistant.model = '{model}'\n"));
        world.aside(&["trust", "--yes"]).exits(0);
        let mut params = initialize(world, capabilities, json!({}));
        if let Some(name) = name {
            params["clientInfo"] = json!({ "name": name });
        }
        Self::spawn(world).initialized(params)
    }

    /// Starts the server in the workspace and initializes it with these options.
    pub(crate) fn with(world: &TestWorld, capabilities: Value, options: Value) -> Self {
        Self::spawn(world).initialized(initialize(world, capabilities, options))
    }

    fn initialized(mut self, params: Value) -> Self {
        self.request("initialize", params);
        self.notify("initialized", json!({}));
        self
    }

    /// Starts the server, to which nothing was said yet.
    pub(crate) fn spawn(world: &TestWorld) -> Self {
        Self::run(world.command(&["lsp", "--stdio"]))
    }

    /// Starts this server, to which nothing was said yet.
    pub(crate) fn run(server: Command) -> Self {
        Self(shared::Client::run(server))
    }

    /// A server in this process, on pipes of its own and with this tool besides the built-in ones, to which nothing was
    /// said yet. Unless the client names a folder for state, it is kept in that of the world.
    pub(crate) fn in_memory(world: &TestWorld, tool: impl Tool + 'static) -> Self {
        let state = world.folder().join("state/aside");
        static NEXT: AtomicUsize = AtomicUsize::new(1);
        let name = format!("server-{}", NEXT.fetch_add(1, Ordering::Relaxed));
        note_panics();
        let (input, to_server) = io::pipe().unwrap();
        let (from_server, output) = io::pipe().unwrap();
        let threads = name.clone();
        let server = thread::Builder::new().name(name.clone());
        let server = server.spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .thread_name(threads)
                .enable_all()
                .build()?;
            runtime.block_on(lsp::connect(
                input,
                output,
                vec![Arc::new(tool)],
                Some(state),
            ))
        });
        let panics = move || panics_in(&name);
        Self(shared::Client::of_thread(
            Frames::Headers,
            server.unwrap(),
            to_server,
            from_server,
            panics,
        ))
    }

    /// Closes the server's standard input, and waits until it has ended.
    #[track_caller]
    pub(crate) fn leave(self) {
        self.0.leave();
    }

    /// Ends the server as a crash does.
    pub(crate) fn crash(self) {
        self.0.crash();
    }
}

impl Deref for Client {
    type Target = shared::Client;

    fn deref(&self) -> &shared::Client {
        &self.0
    }
}

impl DerefMut for Client {
    fn deref_mut(&mut self) -> &mut shared::Client {
        &mut self.0
    }
}

/// Each panic in a thread that has a name, and that name.
static PANICS: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());

/// From now on panics are noted: a task that panics is caught by whoever waits for it, and would go unseen.
fn note_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if let Some(name) = thread::current().name() {
                let mut panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
                panics.push((name.to_owned(), info.to_string()));
            }
            before(info);
        }));
    });
}

fn panics_in(thread: &str) -> String {
    let panics = PANICS.lock().unwrap_or_else(PoisonError::into_inner);
    let of_it = panics.iter().filter(|(name, _)| name == thread);
    let texts: Vec<&str> = of_it.map(|(_, text)| text.as_str()).collect();
    texts.join("\n")
}

/// The params of `initialize`.
pub(crate) fn initialize(world: &TestWorld, capabilities: Value, options: Value) -> Value {
    json!({
        "processId": null,
        "rootUri": uri(world, ""),
        "capabilities": capabilities,
        "initializationOptions": options,
    })
}

/// A client that answers prompts.
pub(crate) fn prompts() -> Value {
    json!({ "experimental": { "aside": { "version": 1, "prompt": true } } })
}

/// The person's answer.
pub(crate) fn answer(value: impl Into<Value>) -> Value {
    json!({ "action": "answer", "answer": value.into() })
}

/// Nobody is to be asked.
pub(crate) fn nobody(prompt: &Value) -> Value {
    panic!("somebody was asked: {prompt}")
}

/// The URI of a path in the workspace.
pub(crate) fn uri(world: &TestWorld, path: &str) -> String {
    let path = world.at(path);
    format!("file://{}", path.display())
        .trim_end_matches('/')
        .to_owned()
}
