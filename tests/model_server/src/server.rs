//! Listens on loopback, keeps what it received, and sends bytes as it is told to.
//!
//! Every request goes to one handler, the test's own: completions, model lists and token counts alike. The handler
//! looks at [`Received`] and returns a [`ServedReply`]. Nothing here knows what the bytes mean.
//!
//! Invariant: nothing here sleeps to wait for something. A test opens a [`ReplyGate`], or waits on a condition variable.
//!
//! In this crate a panic is the failure of the test that asked for the impossible; such places say so.

mod body;
mod reply;

use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::ServedApi;
use body::PlayedBody;
pub use reply::{BodyEnd, BodyPart, ReplyGate, ServedReply};

/// The longest request body that is read, in bytes: twice what the strictest of the five APIs takes.
pub const LONGEST_BODY: usize = 64 << 20;

/// One request, as it came.
#[derive(Clone, Debug)]
pub struct Received {
    /// How many requests came before this one.
    pub number: usize,
    /// Which connection it came on, counted from 0.
    pub connection: usize,
    /// The HTTP method.
    pub method: Method,
    /// The path with its query, as sent.
    pub path: String,
    /// The headers of the request.
    pub headers: HeaderMap,
    /// The API that the path belongs to. OpenAI's and Anthropic's model lists share a path: there the header
    /// `anthropic-version` decides, and without it this is `None`.
    pub api: Option<ServedApi>,
    /// The whole body.
    pub body: Bytes,
    /// The body as JSON; `Null` when it is none.
    pub json: Value,
    /// When the last byte of the body had been read.
    pub at: Instant,
}

impl Received {
    /// The text of a header, when it is there and is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// A response that the client dropped before its end.
#[derive(Clone, Copy, Debug)]
pub struct Dropped {
    /// The [`Received::number`] it answered.
    pub number: usize,
    /// When the server saw it.
    pub at: Instant,
}

type Handler = dyn Fn(&Received) -> ServedReply + Send + Sync;

/// A running server. It ends, and closes its connections, when it is dropped.
///
/// A handler that panics answers with status 500, and dropping the server panics too: what a handler asserts is
/// asserted by the test.
#[derive(Debug)]
pub struct ModelServer {
    address: SocketAddr,
    log: Arc<ServerLog>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl ModelServer {
    /// Listens on a free port of 127.0.0.1 and answers with `handler`, in HTTP/1.1 or in HTTP/2 with prior knowledge.
    ///
    /// The handler runs on the server's only thread: it must not block. What has to wait belongs into a [`BodyPart`].
    ///
    /// # Panics
    /// When the machine gives no port or no thread.
    pub fn start<F>(handler: F) -> Self
    where
        F: Fn(&Received) -> ServedReply + Send + Sync + 'static,
    {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
        listener
            .set_nonblocking(true)
            .expect("a listener that does not block");
        let address = listener.local_addr().expect("the address that was bound");
        let log = Arc::new(ServerLog::default());
        let stop = CancellationToken::new();
        let serving = Serving {
            log: Arc::clone(&log),
            handler: Arc::new(handler),
        };
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("model-server".into())
            .spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build()
                    .expect("a runtime for the model server");
                // Whatever still runs when the server is stopped ends with the runtime.
                runtime.block_on(stopped.run_until_cancelled(serving.accept(listener)));
            })
            .expect("a thread for the model server");
        Self {
            address,
            log,
            stop,
            thread: Some(thread),
        }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The base URL for an API, as people write it in a configuration: OpenAI's with `/v1`, the others without a
    /// version and without a slash at the end.
    pub fn url(&self, api: ServedApi) -> String {
        let version = match api {
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => "/v1",
            ServedApi::Anthropic | ServedApi::Gemini | ServedApi::Ollama => "",
        };
        format!("http://{}{version}", self.address)
    }

    /// All requests so far, in the order in which their bodies were complete.
    pub fn received(&self) -> Vec<Arc<Received>> {
        self.log.books().received.clone()
    }

    /// How many connections were accepted so far.
    pub fn connections(&self) -> usize {
        self.log.books().connections
    }

    /// The responses that the client dropped before their end, in the order in which that was seen.
    pub fn dropped(&self) -> Vec<Dropped> {
        self.log.books().dropped.clone()
    }

    /// Blocks the thread until `requests` of them have come in all, at most `timeout`. Says whether they came.
    ///
    /// The client must run on another thread meanwhile: a runtime of one thread waits in `spawn_blocking`.
    pub fn wait_for(&self, requests: usize, timeout: Duration) -> bool {
        self.log
            .wait(timeout, |books| books.received.len() >= requests)
    }

    /// As [`ModelServer::wait_for`], until the client has dropped `responses` of them in all.
    pub fn wait_for_dropped(&self, responses: usize, timeout: Duration) -> bool {
        self.log
            .wait(timeout, |books| books.dropped.len() >= responses)
    }
}

impl Drop for ModelServer {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let served = thread.join().is_ok() && !self.log.books().handler_panicked;
            assert!(
                served || std::thread::panicking(),
                "the model server or its handler panicked; its message stands above"
            );
        }
    }
}

/// What the server has seen. The condition variable tells of every change.
#[derive(Debug, Default)]
struct ServerLog {
    books: Mutex<ServerBooks>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct ServerBooks {
    connections: usize,
    received: Vec<Arc<Received>>,
    dropped: Vec<Dropped>,
    handler_panicked: bool,
}

impl ServerLog {
    fn books(&self) -> MutexGuard<'_, ServerBooks> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change<T>(&self, change: impl FnOnce(&mut ServerBooks) -> T) -> T {
        let result = change(&mut self.books());
        self.changed.notify_all();
        result
    }

    fn wait(&self, timeout: Duration, holds: impl Fn(&ServerBooks) -> bool) -> bool {
        let (_books, waited) = self
            .changed
            .wait_timeout_while(self.books(), timeout, |books| !holds(books))
            .unwrap_or_else(PoisonError::into_inner);
        !waited.timed_out()
    }
}

/// What a connection needs.
#[derive(Clone)]
struct Serving {
    log: Arc<ServerLog>,
    handler: Arc<Handler>,
}

impl Serving {
    async fn accept(self, listener: TcpListener) {
        let listener =
            tokio::net::TcpListener::from_std(listener).expect("a listener for the runtime");
        loop {
            let (socket, _) = listener.accept().await.expect("a connection from loopback");
            // Each part of a body is to leave at once, not with the next.
            socket
                .set_nodelay(true)
                .expect("a socket that does not gather small writes");
            let connection = self.log.change(|books| {
                books.connections += 1;
                books.connections - 1
            });
            let serving = self.clone();
            tokio::spawn(async move {
                let answer = service_fn(move |request| {
                    let serving = serving.clone();
                    async move { Ok::<_, Infallible>(serving.answer(connection, request).await) }
                });
                // An error here is a client that left or a body that was cut: both are on record elsewhere.
                let _ = auto::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(socket), answer)
                    .await;
            });
        }
    }

    async fn answer(&self, connection: usize, request: Request<Incoming>) -> Response<PlayedBody> {
        let (head, body) = request.into_parts();
        let Ok(body) = Limited::new(body, LONGEST_BODY).collect().await else {
            let text = "the request body broke off or is too long for the model server";
            return ServedReply::json(413, serde_json::json!({ "error": text }))
                .into_response(|| ());
        };
        let body = body.to_bytes();
        let json = serde_json::from_slice(&body).unwrap_or(Value::Null);
        let path = head
            .uri
            .path_and_query()
            .map_or_else(String::new, ToString::to_string);
        let received = self.log.change(|books| {
            let received = Arc::new(Received {
                number: books.received.len(),
                connection,
                method: head.method,
                api: api_of(head.uri.path(), &head.headers),
                path,
                headers: head.headers,
                json,
                body,
                at: Instant::now(),
            });
            books.received.push(Arc::clone(&received));
            received
        });
        let handle = AssertUnwindSafe(|| (self.handler)(&received));
        let reply = std::panic::catch_unwind(handle).unwrap_or_else(|_| {
            self.log.change(|books| books.handler_panicked = true);
            ServedReply::json(500, serde_json::json!({ "error": "the handler panicked" }))
        });
        let log = Arc::clone(&self.log);
        let number = received.number;
        reply.into_response(move || {
            log.change(|books| {
                books.dropped.push(Dropped {
                    number,
                    at: Instant::now(),
                })
            });
        })
    }
}

/// The API that a path belongs to.
fn api_of(path: &str, headers: &HeaderMap) -> Option<ServedApi> {
    if path.starts_with("/v1beta/") {
        Some(ServedApi::Gemini)
    } else if path.starts_with("/api/") {
        Some(ServedApi::Ollama)
    } else if path.starts_with("/v1/messages") {
        Some(ServedApi::Anthropic)
    } else if path.starts_with("/v1/responses") {
        Some(ServedApi::OpenaiResponses)
    } else if path == "/v1/chat/completions" {
        Some(ServedApi::OpenaiChat)
    } else {
        headers
            .contains_key("anthropic-version")
            .then_some(ServedApi::Anthropic)
    }
}

#[cfg(test)]
mod tests;
