//! The pump around tower-lsp, with a server that says what it does.

use std::{
    io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write as _},
    sync::mpsc::{self, Receiver, Sender},
    thread,
    time::Duration,
};

use serde_json::{Value, json};
use tower_lsp::{
    Client, LanguageServer, LspService, Server,
    jsonrpc::Result,
    lsp_types::{InitializeParams, InitializeResult, notification::Notification},
};

use super::{
    content_length::{ContentLength, HeaderError, header},
    reader::Reader,
};
use crate::front::transport::{
    end::ConnectionEnd, inbox::MAX_MESSAGES, outbox::Outbox, pump::Pump,
};

/// A test that waits longer for anything has failed.
const PATIENCE: Duration = Duration::from_secs(20);

/// A server that says what it does, so that a test sees it without reading replies.
struct Backend {
    client: Client,
    did: Sender<String>,
}

enum Flood {}

impl Notification for Flood {
    type Params = Value;
    const METHOD: &'static str = "test/flood";
}

#[tower_lsp::async_trait]
impl LanguageServer for Backend {
    async fn initialize(&self, _: InitializeParams) -> Result<InitializeResult> {
        _ = self.did.send("initialize".into());
        Ok(InitializeResult::default())
    }

    async fn shutdown(&self) -> Result<()> {
        _ = self.did.send("shutdown".into());
        Ok(())
    }
}

impl Backend {
    async fn mark(&self, params: Value) -> Result<Value> {
        _ = self
            .did
            .send(params["name"].as_str().unwrap_or_default().into());
        Ok(params)
    }

    /// As the front end does it: the handler returns, the notifications come from a task of their own.
    async fn flood(&self, params: Value) -> Result<Value> {
        let count = params["count"].as_u64().unwrap_or_default();
        let filler = "x".repeat(params["size"].as_u64().unwrap_or_default() as usize);
        let (client, did) = (self.client.clone(), self.did.clone());
        tokio::spawn(async move {
            for n in 0..count {
                client
                    .send_notification::<Flood>(json!({"n": n, "filler": filler}))
                    .await;
            }
            _ = did.send("flooded".into());
        });
        Ok(json!({}))
    }
}

/// The client's ends of the pipes, and what is seen of the server.
struct Session {
    input: PipeWriter,
    output: BufReader<PipeReader>,
    did: Receiver<String>,
    ended: Receiver<ConnectionEnd>,
    /// Tells that tower-lsp's loop is over.
    served: Receiver<()>,
    outbox: Outbox,
}

/// A server on a thread of its own, with one task to read, handle and write.
fn session() -> Session {
    let (stdin, input) = io::pipe().unwrap();
    let (output, stdout) = io::pipe().unwrap();
    let Pump {
        input: incoming,
        output: outbox,
        signals,
        ..
    } = Pump::start(ContentLength::default(), stdin, stdout).unwrap();
    let reader = Reader::new(incoming);
    let (did_sender, did) = mpsc::channel();
    let (end_sender, ended) = mpsc::channel();
    let (served_sender, served) = mpsc::channel();
    let writer = outbox.clone();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let mut signals = signals;
            let end = tokio::spawn(async move { _ = end_sender.send(signals.ended().await) });
            let build = LspService::build(|client| Backend {
                client,
                did: did_sender,
            });
            let (service, socket) = build
                .custom_method("test/mark", Backend::mark)
                .custom_method("test/flood", Backend::flood)
                .finish();
            let output = writer.clone();
            Server::new(reader, writer, socket).serve(service).await;
            output.close();
            served_sender.send(()).unwrap();
            // The loop ends at the end of the connection alone, so it is known by now.
            end.await.unwrap();
        });
    });
    Session {
        input,
        output: BufReader::new(output),
        did,
        ended,
        served,
        outbox,
    }
}

impl Session {
    fn raw(&mut self, bytes: impl AsRef<[u8]>) {
        self.input.write_all(bytes.as_ref()).unwrap();
    }

    fn send(&mut self, mut message: Value) {
        message["jsonrpc"] = json!("2.0");
        self.raw(framed(message.to_string()));
    }

    fn initialize(&mut self) {
        self.send(json!({"id": 0, "method": "initialize", "params": {"capabilities": {}}}));
        assert_eq!(self.next_effect(), "initialize");
        assert_eq!(self.receive()["id"], 0);
    }

    fn mark(&mut self, name: &str) {
        self.send(json!({"id": name, "method": "test/mark", "params": {"name": name}}));
        assert_eq!(self.next_effect(), name);
    }

    fn flood(&mut self, count: usize, size: usize) {
        let params = json!({"count": count, "size": size});
        self.send(json!({"id": "flood", "method": "test/flood", "params": params}));
        assert_eq!(self.next_effect(), "flooded");
    }

    fn next_effect(&self) -> String {
        self.did.recv_timeout(PATIENCE).unwrap()
    }

    /// How the connection ended, within the time that a process has for its end.
    fn end(&self) -> ConnectionEnd {
        self.ended.recv_timeout(Duration::from_secs(2)).unwrap()
    }

    fn served(&self) {
        self.served.recv_timeout(Duration::from_secs(2)).unwrap();
    }

    fn receive(&mut self) -> Value {
        receive(&mut self.output).unwrap()
    }
}

fn receive(output: &mut impl BufRead) -> Option<Value> {
    let mut length = None;
    loop {
        let mut line = String::new();
        if output.read_line(&mut line).unwrap() == 0 {
            return None;
        }
        match line.trim_end().strip_prefix("Content-Length: ") {
            Some(number) => length = Some(number.parse().unwrap()),
            None if line == "\r\n" => break,
            None => panic!("{line:?} on standard output"),
        }
    }
    let mut body = vec![0; length.unwrap()];
    output.read_exact(&mut body).unwrap();
    Some(serde_json::from_slice(&body).unwrap())
}

fn framed(body: impl AsRef<[u8]>) -> Vec<u8> {
    let body = body.as_ref();
    [header(body.len()).as_bytes(), body].concat()
}

const EXIT: &str = r#"{"jsonrpc":"2.0","method":"exit"}"#;
const SHUTDOWN: &str = r#"{"jsonrpc":"2.0","id":9,"method":"shutdown"}"#;

#[test]
fn a_session_is_served_and_ends_with_exit() {
    let mut session = session();
    session.initialize();
    session.mark("one");
    assert_eq!(session.receive()["result"]["name"], "one");
    session.raw(framed(SHUTDOWN));
    assert_eq!(session.receive()["id"], 9);
    session.raw(framed(EXIT));
    assert_eq!(
        session.end(),
        ConnectionEnd::Exit {
            after_shutdown: true
        }
    );
    session.served();
    assert!(
        receive(&mut session.output).is_none(),
        "nothing else was written"
    );
}

#[test]
fn the_end_is_seen_at_every_step() {
    let initialize =
        framed(r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}"#);
    let mark =
        framed(r#"{"jsonrpc":"2.0","id":1,"method":"test/mark","params":{"name":"marked"}}"#);
    let steps = [
        Vec::new(),
        initialize,
        mark,
        framed(b"\xff"),
        framed(SHUTDOWN),
        framed("[]"),
    ];
    for taken in 0..=steps.len() {
        let before = steps[..taken].concat();
        let after_shutdown = taken >= 5;
        let exit = ConnectionEnd::Exit { after_shutdown };
        let input = ConnectionEnd::Input { after_shutdown };
        let why = "standard input ended within a message of the client's; restart the server";
        let cut = match after_shutdown {
            true => input.clone(),
            false => ConnectionEnd::Framing(why.to_owned()),
        };
        let table = [
            (framed(EXIT), exit),
            (Vec::new(), input),
            (b"Content-Le".to_vec(), cut.clone()),
            (b"Content-Length: 10\r\n\r\n{".to_vec(), cut),
        ];
        for (last, end) in table {
            let mut session = session();
            session.raw([before.as_slice(), &last].concat());
            let Session {
                input,
                ended,
                served,
                ..
            } = session;
            drop(input);
            let wait = Duration::from_secs(2);
            assert_eq!(ended.recv_timeout(wait).as_ref(), Ok(&end), "{taken} steps");
            served.recv_timeout(wait).unwrap();
        }
    }
}

#[test]
fn what_cannot_be_handled_is_answered_and_the_session_goes_on() {
    let deep = "[".repeat(100_000);
    let table: &[(&[u8], i64)] = &[
        (b"\xff\xfe", -32700),
        (b"", -32700),
        (b"{", -32700),
        (deep.as_bytes(), -32700),
        (
            br#"{"jsonrpc":"2.0","method":"m","params":[1e999]}"#,
            -32700,
        ),
        (
            br#"{"jsonrpc":"2.0","method":"m","params":["\ud800"]}"#,
            -32700,
        ),
        (b"[]", -32600),
        (br#"{"jsonrpc":"1.0","id":1,"method":"m"}"#, -32600),
    ];
    let mut session = session();
    session.initialize();
    for (n, (body, code)) in table.iter().enumerate() {
        // Whose it is is known where it is JSON.
        let sent: Value = serde_json::from_slice(body).unwrap_or_default();
        let id = sent.get("id").cloned().unwrap_or_default();
        session.raw(framed(body));
        let reply = session.receive();
        assert_eq!((&reply["id"], &reply["error"]["code"]), (&id, &json!(code)));
        session.mark(&n.to_string());
        assert_eq!(session.receive()["id"], n.to_string());
    }
}

#[test]
fn broken_framing_ends_the_connection_behind_what_came_before() {
    let table = [
        (
            format!("X: {}", "x".repeat(1024 * 1024)),
            HeaderError::HeaderTooLong,
        ),
        (
            "Content-Length: 9223372036854775808\r\n\r\n".into(),
            HeaderError::LengthTooLarge("9223372036854775808".into()),
        ),
        (
            "Content-Length: -1\r\n\r\n".into(),
            HeaderError::LengthNotANumber("-1".into()),
        ),
        ("\r\n".into(), HeaderError::LengthMissing),
        ("garbage\r\n".into(), HeaderError::NotAHeader),
    ];
    for (bytes, broken) in table {
        let mut session = session();
        session.initialize();
        session.send(json!({"id": 1, "method": "test/mark", "params": {"name": "before"}}));
        // The reader stops in the middle, so not all of it may fit into the pipe.
        let mut input = session.input.try_clone().unwrap();
        let writer = thread::spawn(move || _ = input.write_all(bytes.as_bytes()));
        assert_eq!(session.end(), ConnectionEnd::Framing(broken.to_string()));
        session.served();
        writer.join().unwrap();
        assert_eq!(session.next_effect(), "before");
        assert_eq!(session.receive()["id"], 1);
    }
}

#[test]
fn a_flood_of_messages_is_taken_whole_and_in_order() {
    let mut session = session();
    session.initialize();
    let mark = |n: usize| {
        let params = json!({"name": n.to_string()});
        let message = json!({"jsonrpc": "2.0", "id": n, "method": "test/mark", "params": params});
        framed(message.to_string())
    };
    let flood: Vec<u8> = (0..3 * MAX_MESSAGES).flat_map(mark).collect();
    session.raw(flood);
    let effects = (0..3 * MAX_MESSAGES).map(|_| session.next_effect());
    assert!(effects.eq((0..3 * MAX_MESSAGES).map(|n| n.to_string())));
    let long = "x".repeat(3 * 1024 * 1024);
    session.send(json!({"id": "l", "method": "test/mark", "params": {"name": "long", "x": long}}));
    let reply = (0..=3 * MAX_MESSAGES)
        .map(|_| session.receive())
        .find(|reply| reply["id"] == "l");
    assert_eq!(reply.unwrap()["result"]["x"], long);
}

#[test]
fn a_client_that_does_not_read_is_heard_all_the_same() {
    let mut session = session();
    session.initialize();
    session.flood(10_000, 200);
    assert!(
        session.outbox.queued() > 1_000_000,
        "{}",
        session.outbox.queued()
    );
    session.mark("heard");
    session.raw(framed(SHUTDOWN));
    assert_eq!(session.next_effect(), "shutdown");
    session.raw(framed(EXIT));
    assert_eq!(
        session.end(),
        ConnectionEnd::Exit {
            after_shutdown: true
        }
    );
    session.served();
    let numbers = (0..10_000).map(|_| receive_flood(&mut session.output));
    assert!(
        numbers.eq(0..10_000),
        "all are there, in order, once it reads"
    );
}

/// The number of the next notification; replies are passed over.
fn receive_flood(output: &mut impl BufRead) -> u64 {
    loop {
        let message = receive(output).unwrap();
        if message["method"] == "test/flood" {
            return message["params"]["n"].as_u64().unwrap();
        }
    }
}

#[test]
fn a_client_that_never_reads_counts_as_gone_at_the_bound() {
    let mut session = session();
    session.initialize();
    session.flood(80, 1024 * 1024);
    assert_eq!(session.end(), ConnectionEnd::NotReading);
    assert_eq!(session.outbox.queued(), 0, "nothing is kept for it");
    session.mark("tower-lsp lives on");
    session.mark("and on");
}

#[test]
fn a_broken_output_ends_the_connection_and_not_the_server() {
    let mut session = session();
    session.initialize();
    // The client's end of the pipe is dropped.
    session.output = BufReader::new(io::pipe().unwrap().0);
    session.send(json!({"id": 1, "method": "test/mark", "params": {"name": "unread"}}));
    assert_eq!(session.next_effect(), "unread");
    assert!(matches!(session.end(), ConnectionEnd::Output(_)));
    session.mark("tower-lsp lives on");
    session.mark("and on");
    session.flood(100, 10_000);
    assert_eq!(session.outbox.queued(), 0);
}
