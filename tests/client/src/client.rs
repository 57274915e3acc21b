//! A client of the server: it sends what it is told to, and gives each message that comes when it is asked for.

use std::{
    collections::VecDeque,
    io::{self, Read, Write},
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

use crate::{
    framing::{Frames, Message},
    pipes::read_into,
    server::{self, Server},
};

/// How long a message may take before a test gives up on it.
const LONG: Duration = Duration::from_secs(20);

/// What serves the client.
enum Peer {
    Process(Server),
    /// In this process: its thread, and what its panics were.
    Thread(JoinHandle<io::Result<u8>>, Box<dyn Fn() -> String>),
}

/// Looks at messages.
type MessageTap = Box<dyn FnMut(bool, &Value)>;

/// A client. Its server is ended when this is dropped.
///
/// # Panics
/// In all its methods, where what they wait for does not come, and when it is dropped, where the server has written
/// anything to its standard error or has panicked.
pub struct Client {
    peer: Peer,
    input: Option<Box<dyn Write>>,
    messages: Receiver<Message>,
    /// What came and was not asked for yet.
    waiting: VecDeque<Value>,
    /// The id of the last request.
    last: u64,
    /// Nothing more is read.
    stalled: Arc<AtomicBool>,
    frames: Frames,
    /// Is given each message: whether it goes to the server, and the message.
    tap: MessageTap,
}

impl Client {
    /// Starts this server, to which nothing was said yet.
    pub fn run(command: Command) -> Self {
        let stderr = server::new_stderr().expect("a temporary file");
        let (server, input, output) = Server::start(command, stderr).expect("the server starts");
        Self::new(Frames::Headers, Peer::Process(server), input, output)
    }

    /// The same for a server whose messages are lines.
    pub fn run_lines(command: Command) -> Self {
        let stderr = server::new_stderr().expect("a temporary file");
        let (server, input, output) = Server::start(command, stderr).expect("the server starts");
        Self::new(Frames::Lines, Peer::Process(server), input, output)
    }

    /// Of a server that this thread runs in this process, on these pipes. `panics` says what panicked in it so far.
    pub fn of_thread(
        frames: Frames,
        server: JoinHandle<io::Result<u8>>,
        input: impl Write + 'static,
        output: impl Read + Send + 'static,
        panics: impl Fn() -> String + 'static,
    ) -> Self {
        Self::new(
            frames,
            Peer::Thread(server, Box::new(panics)),
            input,
            output,
        )
    }

    fn new(
        frames: Frames,
        peer: Peer,
        input: impl Write + 'static,
        output: impl Read + Send + 'static,
    ) -> Self {
        let (say, messages) = channel();
        let stalled = Arc::new(AtomicBool::new(false));
        let stalls = stalled.clone();
        read_into(frames, output, move |message| {
            // What is broken ends the messages; whoever waits for one says what came before.
            let more = message.is_ok_and(|message| say.send(message).is_ok());
            while more && stalls.load(Ordering::Relaxed) {
                // The pipe stays open.
                thread::park_timeout(Duration::from_millis(5));
            }
            more
        });
        Self {
            peer,
            input: Some(Box::new(input)),
            messages,
            waiting: VecDeque::new(),
            last: 0,
            stalled,
            frames,
            tap: Box::new(|_, _| {}),
        }
    }

    /// From now on each message is given to `tap` as it is sent, or asked for: whether it goes to the server, and the
    /// message.
    pub fn on_messages(&mut self, tap: impl FnMut(bool, &Value) + 'static) {
        self.tap = Box::new(tap);
    }

    /// Nothing is read any more but what is being read.
    pub fn stalls(&self) {
        self.stalled.store(true, Ordering::Relaxed);
    }

    /// All that waits is read, and what comes then.
    pub fn reads_on(&self) {
        self.stalled.store(false, Ordering::Relaxed);
    }

    /// Sends a notification.
    pub fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "method": method, "params": params }));
    }

    /// Sends a request and returns the result. Other messages that come meanwhile stay.
    #[track_caller]
    pub fn request(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        self.result(id)
    }

    /// Sends a request and returns its id, for [`Self::result`] or [`Self::is_answered`].
    pub fn ask(&mut self, method: &str, params: Value) -> u64 {
        self.ask_at(method, params).0
    }

    /// The same, with the time just before it was written.
    pub fn ask_at(&mut self, method: &str, params: Value) -> (u64, Instant) {
        self.last += 1;
        let id = self.last;
        let at =
            self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }));
        (id, at)
    }

    /// The result of a request. Other messages that come meanwhile stay.
    #[track_caller]
    pub fn result(&mut self, id: u64) -> Value {
        let reply = self.answer(id);
        assert_eq!(reply["error"], Value::Null, "request {id} failed");
        reply["result"].clone()
    }

    /// A request was answered before the messages that came so far.
    pub fn is_answered(&mut self, id: u64) -> bool {
        self.take_what_came();
        self.waiting.iter().any(|it| is_answer(it, id))
    }

    /// Sends a request and returns the error that it is answered with: its code and message.
    #[track_caller]
    pub fn refused(&mut self, method: &str, params: Value) -> (i64, String) {
        let error = self.error(method, params);
        let text = error["message"].as_str().unwrap().to_owned();
        (error["code"].as_i64().unwrap(), text)
    }

    /// The same, the whole error.
    #[track_caller]
    pub fn error(&mut self, method: &str, params: Value) -> Value {
        let id = self.ask(method, params);
        let reply = self.answer(id);
        assert!(reply["result"].is_null(), "{method} was answered: {reply}");
        reply["error"].clone()
    }

    /// What a request is answered with, whole.
    #[track_caller]
    pub fn answer(&mut self, id: u64) -> Value {
        self.next("answer", |it| is_answer(it, id))
    }

    /// Answers a request of the server.
    pub fn reply(&mut self, request: &Value, result: Value) {
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "result": result }));
    }

    /// Answers a request of the server with an error.
    pub fn fail(&mut self, request: &Value, text: &str) {
        let error = json!({ "code": -32603, "message": text });
        self.send(&json!({ "jsonrpc": "2.0", "id": request["id"], "error": error }));
    }

    /// How many messages of this method came that were not asked for.
    pub fn came(&mut self, method: &str) -> usize {
        self.take_what_came();
        let all = self.waiting.iter();
        all.filter(|it| it["method"] == method).count()
    }

    /// What came of this method so far and was not asked for is not asked for any more.
    pub fn forget(&mut self, method: &str) {
        self.take_what_came();
        self.waiting.retain(|it| it["method"] != method);
    }

    /// The next request or notification of this method. Other messages stay.
    #[track_caller]
    pub fn expect(&mut self, method: &str) -> Value {
        self.next(method, |it| it["method"] == method)
    }

    /// The next message that fits. Other messages stay.
    #[track_caller]
    pub fn next(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + LONG;
        loop {
            if let Some(at) = self.waiting.iter().position(&fits) {
                return self.waiting.remove(at).unwrap();
            }
            match self.messages.recv_timeout(server::left(deadline)) {
                Ok(message) => {
                    let message = message.parse().expect("JSON");
                    (self.tap)(false, &message);
                    self.waiting.push_back(message);
                }
                Err(error) => panic!(
                    "no {what} came ({error}), but {:#?}; {}",
                    self.waiting,
                    self.complaint()
                ),
            }
        }
    }

    /// The next message whatever it is, as it came. Nothing that was asked for otherwise may be left.
    #[track_caller]
    pub fn next_raw(&mut self, within: Duration) -> Message {
        assert!(self.waiting.is_empty(), "left: {:#?}", self.waiting);
        match self.messages.recv_timeout(within) {
            Ok(message) => message,
            Err(error) => panic!("no message came ({error}); {}", self.complaint()),
        }
    }

    /// Starts a turn and returns its params: `conversationId` and `turnId`.
    #[track_caller]
    pub fn turn(&mut self, params: Value) -> Value {
        self.request("aside/turn/start", params)
    }

    /// Waits for the end of this turn while a person answers its prompts. Returns its updates and its end.
    #[track_caller]
    pub fn play(
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

    /// The next `aside/turn/update` of this kind. Other messages stay.
    #[track_caller]
    pub fn update(&mut self, kind: &str) -> Value {
        let message = self.next(kind, |it| it["params"]["update"]["kind"] == kind);
        message["params"]["update"].clone()
    }

    /// Waits for the end of the turn, and returns its params. No request may have come that nobody asked for.
    #[track_caller]
    pub fn completed(&mut self) -> Value {
        let end = self.expect("aside/turn/completed");
        let open: Vec<&Value> = self
            .waiting
            .iter()
            .filter(|it| !it["id"].is_null())
            .collect();
        assert!(open.is_empty(), "not asked for: {open:#?}");
        end["params"].clone()
    }

    /// The server's process.
    pub fn id(&self) -> u32 {
        match &self.peer {
            Peer::Process(server) => server.id(),
            Peer::Thread(..) => std::process::id(),
        }
    }

    /// Closes the server's standard input, and waits until it has ended.
    #[track_caller]
    pub fn leave(mut self) {
        drop(self.input.take());
        self.ended();
    }

    /// Ends the server as a crash does.
    pub fn crash(self) {
        drop(self);
    }

    /// Waits until the server has ended, and returns its exit code.
    #[track_caller]
    pub fn ended(&mut self) -> Option<i32> {
        let deadline = Instant::now() + LONG;
        match &mut self.peer {
            Peer::Process(server) => server.exited(deadline).unwrap().code(),
            Peer::Thread(thread, _) => {
                while !thread.is_finished() {
                    assert!(Instant::now() < deadline, "the server does not end");
                    thread::park_timeout(Duration::from_millis(2));
                }
                None
            }
        }
    }

    /// What the server has to complain of: what is on its standard error, or what panicked in this process.
    pub fn complaint(&self) -> String {
        match &self.peer {
            Peer::Process(server) => server.complaint(),
            Peer::Thread(_, panics) => panics(),
        }
    }

    /// Sends a message, whatever it is, and returns the time just before it was written.
    pub fn send(&mut self, message: &Value) -> Instant {
        (self.tap)(true, message);
        self.send_bytes(&self.frames.frame(message))
    }

    /// Sends bytes, whatever they are, and returns the time just before they were written.
    pub fn send_bytes(&mut self, bytes: &[u8]) -> Instant {
        let input = self.input.as_mut().expect("an open pipe");
        let at = Instant::now();
        input.write_all(bytes).expect("the server reads");
        at
    }

    fn take_what_came(&mut self) {
        while let Ok(message) = self.messages.try_recv() {
            let message = message.parse().expect("JSON");
            (self.tap)(false, &message);
            self.waiting.push_back(message);
        }
    }
}

fn is_answer(message: &Value, id: u64) -> bool {
    message["id"] == id && message["method"].is_null()
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Peer::Process(server) = &mut self.peer {
            server.kill();
        }
        if !thread::panicking() {
            let complaint = self.complaint();
            assert!(complaint.is_empty(), "the server complains: {complaint}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use super::*;

    /// A server that runs this, replies to a first request, and then waits.
    fn client(before: &str) -> Client {
        let reply = r#"printf 'Content-Length: 36\r\n\r\n{"jsonrpc":"2.0","id":1,"result":{}}'"#;
        let mut command = Command::new("sh");
        command.args(["-c", &format!("{before}{reply}; exec cat >/dev/null")]);
        Client::run(command)
    }

    fn text(panic: &(dyn std::any::Any + Send)) -> &str {
        panic.downcast_ref::<String>().unwrap()
    }

    #[test]
    fn a_server_that_complains_fails_the_test_that_started_it() {
        let mut silent = client("");
        assert_eq!(silent.request("initialize", json!({})), json!({}));
        silent.leave();
        let mut loud = client("echo out of cheese >&2; ");
        assert_eq!(loud.request("initialize", json!({})), json!({}));
        let panic = catch_unwind(AssertUnwindSafe(|| drop(loud))).unwrap_err();
        assert_eq!(text(&*panic), "the server complains: out of cheese");
    }

    #[test]
    fn what_a_server_said_is_told_when_it_ends_too_early() {
        let mut client = client("echo out of cheese >&2; exit 1; ");
        let wait = catch_unwind(AssertUnwindSafe(|| client.expect("aside/prompt")));
        let panic = wait.unwrap_err();
        let said = text(&*panic);
        assert!(said.ends_with("; out of cheese"), "{said}");
        assert_eq!(client.ended(), Some(1));
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(client)));
        assert!(dropped.is_err());
    }
}
