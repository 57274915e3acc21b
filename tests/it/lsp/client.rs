//! A client of the server: it sends what it is told to, and gives each message that comes when it is asked for.

use std::{
    collections::VecDeque,
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread::JoinHandle,
    time::{Duration, Instant},
};

use aside::{front::lsp, tool::Tool};
use serde_json::{Value, json};

use crate::world::TestWorld;

/// How long a message may take before a test gives up on it.
const LONG: Duration = Duration::from_secs(20);

/// Where the server runs.
enum Server {
    Process(Child),
    /// In this process; what it ended with.
    Thread(JoinHandle<io::Result<u8>>),
}

/// A client. The server is ended when this is dropped.
pub(crate) struct Client {
    server: Server,
    input: Option<Box<dyn Write>>,
    messages: Receiver<Value>,
    /// What came and was not asked for yet.
    waiting: VecDeque<Value>,
    /// The id of the last request.
    last: u64,
    /// Nothing more is read.
    stalled: Arc<AtomicBool>,
}

impl Client {
    /// Starts the server in the workspace and initializes it. The script is what the model plays; the workspace is
    /// trusted.
    pub(crate) fn start(world: &TestWorld, script: &str, capabilities: Value) -> Self {
        let model = world.script(script);
        let options = json!({ "trusted": true, "config": { "assistant": { "model": model } } });
        Self::with(world, capabilities, options)
    }

    /// Starts the server in the workspace and initializes it with these options.
    pub(crate) fn with(world: &TestWorld, capabilities: Value, options: Value) -> Self {
        let mut client = Self::spawn(world);
        client.request("initialize", initialize(world, capabilities, options));
        client.notify("initialized", json!({}));
        client
    }

    /// Starts the server, to which nothing was said yet.
    pub(crate) fn spawn(world: &TestWorld) -> Self {
        Self::run(world.command(&["lsp", "--stdio"]))
    }

    /// Starts this server, to which nothing was said yet.
    pub(crate) fn run(mut server: Command) -> Self {
        let mut server = server
            .stdin(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let (input, output) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
        Self::on(Server::Process(server), input, output)
    }

    /// A server in this process, on pipes of its own and with this tool besides the built-in ones, to which nothing was
    /// said yet.
    pub(crate) fn in_memory(tool: impl Tool + 'static) -> Self {
        let (input, to_server) = io::pipe().unwrap();
        let (from_server, output) = io::pipe().unwrap();
        let server = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()?;
            runtime.block_on(lsp::connect(input, output, vec![Arc::new(tool)]))
        });
        Self::on(Server::Thread(server), to_server, from_server)
    }

    fn on(server: Server, input: impl Write + 'static, output: impl Read + Send + 'static) -> Self {
        let (say, messages) = channel();
        let stalled = Arc::new(AtomicBool::new(false));
        let stalls = stalled.clone();
        std::thread::spawn(move || {
            let mut output = BufReader::new(output);
            while let Some(message) = read(&mut output) {
                if say.send(message).is_err() {
                    return;
                }
                if stalls.load(Ordering::Relaxed) {
                    // The pipe stays open.
                    return std::mem::forget(output);
                }
            }
        });
        Self {
            stalled,
            server,
            input: Some(Box::new(input)),
            messages,
            waiting: VecDeque::new(),
            last: 0,
        }
    }

    /// Nothing is read any more but what is being read.
    pub(crate) fn stalls(&self) {
        self.stalled.store(true, Ordering::Relaxed);
    }

    /// Sends a notification.
    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns the result. Other messages that come meanwhile stay.
    #[track_caller]
    pub(crate) fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.result(id)
    }

    /// Sends a request and returns its id, for [`Self::result`] or [`Self::is_answered`].
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.last += 1;
        let id = self.last;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        id
    }

    /// The result of a request. Other messages that come meanwhile stay.
    #[track_caller]
    pub(crate) fn result(&mut self, id: u64) -> Value {
        let reply = self.answer(id);
        assert_eq!(reply["error"], Value::Null, "request {id} failed");
        reply["result"].clone()
    }

    /// A request was answered before the messages that came so far.
    pub(crate) fn is_answered(&mut self, id: u64) -> bool {
        self.waiting.extend(self.messages.try_iter());
        self.waiting.iter().any(|it| is_answer(it, id))
    }

    /// Sends a request and returns the error that it is answered with: its code and message.
    #[track_caller]
    pub(crate) fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let error = self.error(method, params);
        let text = error["message"].as_str().unwrap().to_owned();
        (error["code"].as_i64().unwrap(), text)
    }

    /// The same, the whole error.
    #[track_caller]
    pub(crate) fn error(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let reply = self.answer(id);
        assert!(reply["result"].is_null(), "{method} was answered: {reply}");
        reply["error"].clone()
    }

    /// What a request is answered with, whole.
    #[track_caller]
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.next("answer", |it| is_answer(it, id))
    }

    /// Answers a request of the server with an error.
    pub(crate) fn fail(&mut self, request: &Value, text: &str) {
        let error = json!({ "code": -32603, "message": text });
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }));
    }

    /// How many messages of this method came that were not asked for.
    pub(crate) fn came(&mut self, method: &str) -> usize {
        self.waiting.extend(self.messages.try_iter());
        let all = self.waiting.iter();
        all.filter(|it| it["method"] == method).count()
    }

    /// Starts a turn and returns its params: `conversationId` and `turnId`.
    #[track_caller]
    pub(crate) fn turn(&mut self, params: Value) -> Value {
        self.request("aside/turn/start", params)
    }

    /// Waits for the end of this turn while a person answers its prompts. Returns its updates and its end.
    #[track_caller]
    pub(crate) fn play(
        &mut self,
        turn: &Value,
        mut person: impl FnMut(&Value) -> Value,
    ) -> (Vec<Value>, Value) {
        let mut updates = Vec::new();
        loop {
            let of_turn = |it: &Value| it["params"]["turnId"] == turn["turnId"];
            let message = self.next("a message of the turn", of_turn);
            match message["method"].as_str().unwrap() {
                "aside/turn/update" => {
                    updates.push(message["params"]["update"].clone());
                    assert_eq!(message["params"]["seq"], updates.len(), "{message}");
                }
                "aside/prompt" => {
                    let answer = person(&message["params"]);
                    self.reply(&message, answer);
                }
                "aside/turn/completed" => return (updates, message["params"].clone()),
                other => panic!("{other} came"),
            }
        }
    }

    /// The server's process.
    pub(crate) fn id(&self) -> u32 {
        match &self.server {
            Server::Process(process) => process.id(),
            Server::Thread(_) => std::process::id(),
        }
    }

    /// Closes the server's standard input, and waits until it has ended.
    pub(crate) fn leave(mut self) {
        drop(self.input.take());
        self.ended();
    }

    /// Ends the server as a crash does.
    pub(crate) fn crash(self) {
        drop(self);
    }

    /// Waits until the server has ended, and returns its exit code.
    #[track_caller]
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let begin = Instant::now();
        loop {
            match &mut self.server {
                Server::Process(process) => {
                    if let Some(status) = process.try_wait().unwrap() {
                        return status.code();
                    }
                }
                Server::Thread(thread) if thread.is_finished() => return None,
                Server::Thread(_) => {}
            }
            assert!(begin.elapsed() < LONG, "the server does not end");
            std::thread::park_timeout(Duration::from_millis(2));
        }
    }

    /// Answers a request of the server.
    pub(crate) fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// The next request or notification of this method. Other messages stay.
    #[track_caller]
    pub(crate) fn expect(&mut self, method: &str) -> Value {
        self.next(method, |it| it["method"] == method)
    }

    /// The next `aside/turn/update` of this kind. Other messages stay.
    #[track_caller]
    pub(crate) fn update(&mut self, kind: &str) -> Value {
        let message = self.next(kind, |it| it["params"]["update"]["kind"] == kind);
        message["params"]["update"].clone()
    }

    /// Waits for the end of the turn, and returns its params. No request may have come that nobody asked for.
    #[track_caller]
    pub(crate) fn completed(&mut self) -> Value {
        let end = self.expect("aside/turn/completed");
        let open: Vec<&Value> = self
            .waiting
            .iter()
            .filter(|it| !it["id"].is_null())
            .collect();
        assert!(open.is_empty(), "not asked for: {open:#?}");
        end["params"].clone()
    }

    #[track_caller]
    fn next(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let begin = Instant::now();
        loop {
            if let Some(at) = self.waiting.iter().position(&fits) {
                return self.waiting.remove(at).unwrap();
            }
            let left = LONG.saturating_sub(begin.elapsed());
            match self.messages.recv_timeout(left) {
                Ok(message) => self.waiting.push_back(message),
                Err(error) => panic!("no {what} came ({error}), but {:#?}", self.waiting),
            }
        }
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        let input = self.input.as_mut().unwrap();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        input.flush().unwrap();
    }
}

fn is_answer(message: &Value, id: u64) -> bool {
    message["id"] == id && message["method"].is_null()
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Server::Process(process) = &mut self.server {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
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

fn read(output: &mut BufReader<impl Read>) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        output.read_line(&mut line).ok()?;
        match line.trim_end().split_once(": ") {
            Some(("Content-Length", bytes)) => length = bytes.parse().ok(),
            Some(_) => {}
            None => break,
        }
    }
    let mut body = vec![0; length?];
    output.read_exact(&mut body).ok()?;
    serde_json::from_slice(&body).ok()
}
