//! What a client sees of the server, and what the server sees of a client.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use aside_test_table::rows;
use http_body_util::{BodyExt, Empty};
use serde_json::json;

use super::*;

const LONG: Duration = Duration::from_secs(20);

/// A client of one connection that speaks HTTP/1.1 by hand.
struct RawClient(BufReader<TcpStream>);

/// What came of a response before its end or its break.
#[derive(Debug, Default)]
struct ReceivedResponse {
    head: String,
    body: Vec<u8>,
    /// The body came to the end that its framing promised.
    whole: bool,
}

impl RawClient {
    fn new(server: &ModelServer) -> Self {
        let socket = TcpStream::connect(server.address()).expect("a connection");
        socket.set_read_timeout(Some(LONG)).expect("a timeout");
        Self(BufReader::new(socket))
    }

    fn send(&mut self, method: &str, path: &str, headers: &str, body: &str) {
        let length = body.len();
        let text = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\n{headers}content-length: {length}\r\n\r\n{body}"
        );
        self.0
            .get_mut()
            .write_all(text.as_bytes())
            .expect("a request is sent");
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        // A connection that is closed reads as an empty line, as does one that is reset.
        let _ = self.0.read_line(&mut line);
        line.trim_end().to_owned()
    }

    fn head(&mut self) -> String {
        let mut head = String::new();
        loop {
            let line = self.line();
            if line.is_empty() {
                return head;
            }
            head.push_str(&line);
            head.push('\n');
        }
    }

    /// The next chunk of a chunked body. `None` when there is no more; an empty one is the proper end.
    fn chunk(&mut self) -> Option<Vec<u8>> {
        let length = usize::from_str_radix(&self.line(), 16).ok()?;
        let mut bytes = vec![0; length + 2];
        self.0.read_exact(&mut bytes).ok()?;
        bytes.truncate(length);
        Some(bytes)
    }

    fn response(&mut self) -> ReceivedResponse {
        let mut seen = ReceivedResponse {
            head: self.head(),
            ..ReceivedResponse::default()
        };
        let length = seen
            .head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if let Some(length) = length {
            seen.body = vec![0; length.parse().expect("a length")];
            seen.whole = self.0.read_exact(&mut seen.body).is_ok();
            return seen;
        }
        while let Some(chunk) = self.chunk() {
            seen.whole = chunk.is_empty();
            seen.body.extend(chunk);
            if seen.whole {
                break;
            }
        }
        seen
    }

    fn post(&mut self, path: &str) -> ReceivedResponse {
        self.send("POST", path, "", "{}");
        self.response()
    }
}

#[test]
fn a_request_is_kept_as_it_came() {
    let server = ModelServer::start(|_| ServedReply::json(200, json!({"ok": true})));
    let mut client = RawClient::new(&server);
    client.send(
        "POST",
        "/v1/messages?beta=true",
        "X-Api-Key: k\r\n",
        r#"{"model": "m"}"#,
    );
    let seen = client.response();
    assert!(
        seen.whole && seen.head.starts_with("HTTP/1.1 200"),
        "{seen:?}"
    );
    assert_eq!(seen.body, br#"{"ok":true}"#);
    client.send("GET", "/api/tags", "", "");
    client.response();
    RawClient::new(&server).post("/v1/responses");

    assert!(server.wait_for(3, LONG));
    let received = server.received();
    let first = &received[0];
    assert_eq!(
        (first.method.as_str(), first.path.as_str()),
        ("POST", "/v1/messages?beta=true")
    );
    assert_eq!(first.header("x-api-key"), Some("k"));
    assert_eq!(&first.body[..], br#"{"model": "m"}"#);
    assert_eq!(first.json, json!({"model": "m"}));
    assert_eq!(received[1].json, Value::Null);
    let places: Vec<_> = received
        .iter()
        .map(|one| (one.number, one.connection, one.api))
        .collect();
    assert_eq!(
        places,
        [
            (0, 0, Some(ServedApi::Anthropic)),
            (1, 0, Some(ServedApi::Ollama)),
            (2, 1, Some(ServedApi::OpenaiResponses))
        ]
    );
    assert_eq!(server.connections(), 2);
    assert!(server.dropped().is_empty());
}

#[test]
fn the_path_names_the_api() {
    let table = "
        /v1/messages                           | -       | Anthropic
        /v1/messages/count_tokens              | -       | Anthropic
        /v1/responses                          | -       | OpenaiResponses
        /v1/responses/input_tokens             | -       | OpenaiResponses
        /v1/chat/completions                   | -       | OpenaiChat
        /v1beta/models/g:streamGenerateContent | -       | Gemini
        /v1beta/models                         | -       | Gemini
        /api/chat                              | -       | Ollama
        /api/show                              | -       | Ollama
        /v1/models                             | -       | -
        /v1/models                             | version | Anthropic
        /                                      | -       | -
    ";
    for [path, header, api] in rows(table) {
        let mut headers = HeaderMap::new();
        if header == "version" {
            headers.insert(
                "anthropic-version",
                http::HeaderValue::from_static("2026-10-21"),
            );
        }
        let found = api_of(path, &headers).map_or("-".to_owned(), |api| format!("{api:?}"));
        assert_eq!(found, api, "{path}");
    }
}

#[test]
fn urls_are_what_people_configure() {
    let server = ModelServer::start(|_| ServedReply::json(200, Value::Null));
    let base = format!("http://{}", server.address());
    let versioned = format!("{base}/v1");
    for (api, url) in ServedApi::ALL
        .into_iter()
        .zip([&base, &versioned, &versioned, &base, &base])
    {
        assert_eq!(server.url(api), *url, "{}", api.name());
    }
}

#[test]
fn a_written_response_is_sent_as_it_is() {
    let server = ModelServer::start(|_| {
        ServedReply::http(include_str!(
            "../../wire/anthropic/12_error_429_rate_limit.http"
        ))
    });
    let seen = RawClient::new(&server).post("/v1/messages");
    assert!(
        seen.head.starts_with("HTTP/1.1 429 Too Many Requests\n"),
        "{}",
        seen.head
    );
    assert!(seen.head.contains("\nretry-after: 17\n"), "{}", seen.head);
    let body: Value = serde_json::from_slice(&seen.body).expect("JSON");
    assert_eq!(body["error"]["type"], "rate_limit_error");
}

#[test]
fn a_stream_names_its_type_and_its_request() {
    let server = ModelServer::start(|received| {
        ServedReply::stream(received.api.unwrap_or(ServedApi::Gemini), "x")
    });
    let table = "
        /v1/messages                           | content-type: text/event-stream    | request-id: req_01
        /v1/responses                          | content-type: text/event-stream    | x-request-id: req_01
        /v1/chat/completions                   | content-type: text/event-stream    | x-request-id: req_01
        /v1beta/models/g:streamGenerateContent | content-type: text/event-stream    |
        /api/chat                              | content-type: application/x-ndjson |
    ";
    for [path, content_type, request_id] in rows(table) {
        let head = RawClient::new(&server).post(path).head;
        assert!(head.contains(content_type), "{path}: {head}");
        let has_id = head.lines().any(|line| line == request_id);
        assert!(has_id || request_id.is_empty(), "{path}: {head}");
    }
}

#[test]
fn a_redirect_points_elsewhere() {
    let server = ModelServer::start(|_| ServedReply::redirect("http://127.0.0.1:1/v1/messages"));
    let seen = RawClient::new(&server).post("/v1/messages");
    assert!(seen.head.starts_with("HTTP/1.1 307"), "{}", seen.head);
    assert!(
        seen.head
            .contains("location: http://127.0.0.1:1/v1/messages\n"),
        "{}",
        seen.head
    );
}

#[test]
fn each_part_of_a_body_is_a_write() {
    let server =
        ModelServer::start(|_| ServedReply::stream(ServedApi::Ollama, "abcdefgh").split_every(3));
    let mut client = RawClient::new(&server);
    client.send("POST", "/api/chat", "", "{}");
    client.head();
    let chunks: Vec<_> = std::iter::from_fn(|| client.chunk().filter(|c| !c.is_empty())).collect();
    assert_eq!(chunks, [&b"abc"[..], b"def", b"gh"]);
}

#[test]
fn a_gate_holds_the_rest_back_until_it_is_opened() {
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = ModelServer::start(move |_| {
        ServedReply::stream(ServedApi::Ollama, "before,after").wait_at(7, &held)
    });
    let mut client = RawClient::new(&server);
    client.send("POST", "/api/chat", "", "{}");
    client.head();
    assert_eq!(client.chunk().as_deref(), Some(&b"before,"[..]));
    gate.open();
    assert_eq!(client.chunk().as_deref(), Some(&b"after"[..]));
    assert_eq!(client.chunk().as_deref(), Some(&b""[..]), "the end");
}

#[test]
fn a_stamp_tells_when_its_place_in_the_body_was_reached() {
    let (tell, times) = std::sync::mpsc::channel();
    let gate = ReplyGate::new();
    let held = gate.clone();
    let server = ModelServer::start(move |_| {
        let mut reply = ServedReply::stream(ServedApi::Ollama, "before,");
        reply.body.push(BodyPart::Wait(held.clone()));
        reply.body.push(BodyPart::Stamp(tell.clone()));
        reply.body.push(BodyPart::Bytes("after".into()));
        reply
    });
    let mut client = RawClient::new(&server);
    client.send("POST", "/api/chat", "", "{}");
    client.head();
    assert_eq!(client.chunk().as_deref(), Some(&b"before,"[..]));
    let opened = Instant::now();
    gate.open();
    assert_eq!(client.chunk().as_deref(), Some(&b"after"[..]));
    let reached = times.recv_timeout(LONG).expect("the time");
    assert!(opened <= reached && reached <= Instant::now());
}

#[test]
fn a_cut_body_has_no_end() {
    for cut in [0, 5, 8] {
        let server = ModelServer::start(move |_| {
            ServedReply::stream(ServedApi::Ollama, "abcdefgh").cut_at(cut)
        });
        let seen = RawClient::new(&server).post("/api/chat");
        assert!(seen.head.starts_with("HTTP/1.1 200"), "{cut}: {seen:?}");
        assert_eq!((&seen.body[..], seen.whole), (&b"abcdefgh"[..cut], false));
        assert!(server.dropped().is_empty(), "it was the server who left");
    }
}

#[test]
fn what_a_client_drops_is_noted() {
    let server = ModelServer::start(|received| match received.path.as_str() {
        "/hang" => ServedReply::stream(ServedApi::Ollama, "a").hang(),
        "/gate" => ServedReply::stream(ServedApi::Ollama, "ab").wait_at(1, &ReplyGate::new()),
        _ => ServedReply::stream(ServedApi::Ollama, "ab")
            .split_every(1)
            .pause_between(2 * LONG),
    });
    for (number, path) in ["/pause", "/gate", "/hang"].into_iter().enumerate() {
        let mut client = RawClient::new(&server);
        client.send("POST", path, "", "{}");
        client.head();
        assert!(client.chunk().is_some());
        let left = Instant::now();
        drop(client);
        assert!(server.wait_for_dropped(number + 1, LONG), "{path}");
        let dropped = server.dropped()[number];
        assert_eq!(dropped.number, number);
        assert!(dropped.at >= left, "{path}");
    }
}

#[test]
fn waiting_ends_at_its_timeout() {
    let server = ModelServer::start(|_| ServedReply::json(200, Value::Null));
    assert!(!server.wait_for(1, Duration::from_millis(1)));
    assert!(!server.wait_for_dropped(1, Duration::from_millis(1)));
    assert!(server.wait_for(0, Duration::ZERO));
}

#[test]
fn a_dropped_server_listens_no_more_and_hangs_up() {
    let server = ModelServer::start(|_| ServedReply::stream(ServedApi::Ollama, "a").hang());
    let address = server.address();
    let mut client = RawClient::new(&server);
    client.send("POST", "/api/chat", "", "{}");
    client.head();
    assert!(client.chunk().is_some());
    drop(server);
    assert_eq!(client.chunk(), None);
    assert!(TcpStream::connect(address).is_err());
}

#[test]
#[should_panic(expected = "the model server or its handler panicked")]
fn what_a_handler_asserts_fails_the_test() {
    let server = ModelServer::start(|received| {
        assert_eq!(received.path, "/api/tags", "what the test expects");
        ServedReply::json(200, Value::Null)
    });
    let seen = RawClient::new(&server).post("/api/chat");
    assert!(seen.head.starts_with("HTTP/1.1 500"), "{seen:?}");
}

#[test]
fn many_requests_share_a_connection_of_http_2() {
    let server = Arc::new(ModelServer::start(|received| {
        match received.path.as_str() {
            "/v1beta/models" => ServedReply::json(200, json!({"models": []})),
            "/cut" => ServedReply::stream(ServedApi::Gemini, "abcdefgh").cut_at(5),
            _ => ServedReply::stream(ServedApi::Gemini, "a").hang(),
        }
    }));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(async {
        let socket = tokio::net::TcpStream::connect(server.address())
            .await
            .expect("a connection");
        let (client, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(socket))
                .await
                .expect("HTTP/2");
        tokio::spawn(connection);
        let ask = |path: &str| {
            let uri = format!("{}{path}", server.url(ServedApi::Gemini));
            let request = Request::post(uri)
                .body(Empty::<Bytes>::new())
                .expect("a request");
            let mut client = client.clone();
            async move {
                client
                    .send_request(request)
                    .await
                    .expect("a response")
                    .into_body()
            }
        };
        let (list, cut, hang) = tokio::join!(ask("/v1beta/models"), ask("/cut"), ask("/hang"));
        let list = list.collect().await.expect("a whole body").to_bytes();
        assert_eq!(list, r#"{"models":[]}"#);
        assert!(cut.collect().await.is_err());
        drop(hang);
        let waiting = Arc::clone(&server);
        let noted = tokio::task::spawn_blocking(move || waiting.wait_for_dropped(1, LONG)).await;
        assert!(
            noted.expect("a thread that waits"),
            "the client dropped a response"
        );
    });
    assert_eq!((server.connections(), server.received().len()), (1, 3));
}
