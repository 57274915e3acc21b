//! Connections that have something in their way: a server that still loads its model or does not stream, a proxy, and a
//! certificate that nobody trusts. What cannot get better is not tried again.

use std::{
    io::{Read, Write},
    net::{TcpListener, TcpStream},
    path::PathBuf,
    sync::Arc,
};

use aside_model_server::{
    ServedApi,
    play::ModelReply,
    server::{ModelServer, ServedReply},
};
use rustix::process::Signal;
use rustls::{
    ServerConfig, ServerConnection, StreamOwned,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use serde_json::{Value, json};

use super::{
    column,
    live::Live,
    shown::shown,
    stage::{AUTO, ModelStage, http, row, says},
};
use crate::world::{ProgramResult, TestWorld};

#[test]
fn a_server_that_loads_its_model_is_waited_for() {
    row(|api| {
        let loads = || {
            let error =
                json!({"message": "Loading model", "type": "unavailable_error", "code": 503});
            http(ServedReply::json(503, json!({ "error": error })))
        };
        let loaded = ModelReply::new("loaded").text("I am here.");
        let stage = ModelStage::new(api, vec![loads(), says(loaded)]);
        let done = stage.run("Speak.", &AUTO).exits(0);
        // It is not shown as something that failed.
        assert_eq!(
            shown(&done),
            "text I am here.\ncompleted I am here.\n",
            "{api:?}"
        );
        assert_eq!(stage.requests().len(), 2, "{api:?}");
    });
}

#[test]
fn a_query_of_the_address_goes_with_each_request() {
    row(|api| {
        let stage = ModelStage::new(api, vec![says(ModelReply::new("a").text("Here."))]);
        let (provider, _) = column::model(api).split_once('/').unwrap();
        let path = match api {
            ServedApi::OpenaiResponses | ServedApi::OpenaiChat => "/v1",
            _ => "",
        };
        let kind = match api {
            ServedApi::OpenaiChat => "api = 'openai-chat'\n",
            _ => "",
        };
        let address = stage.server.address();
        stage.world.user_config(&format!(
            "[providers.{provider}]\n{kind}base_url = 'http://{address}{path}?api-version=7&a=b'\n"
        ));
        stage.run("Speak.", &AUTO).exits(0);
        let asked = &stage.requests()[0].path;
        assert!(asked.ends_with("api-version=7&a=b"), "{api:?}: {asked}");
        assert_eq!(asked.matches('?').count(), 1, "{api:?}: {asked}");
        stage.is_clean();
    });
}

/// The document that a server sends which does not stream.
fn document(api: ServedApi) -> Value {
    match api {
        ServedApi::Anthropic => {
            json!({"type": "message", "id": "msg_1", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": "All at once."}], "stop_reason": "end_turn",
            "usage": {"input_tokens": 5, "output_tokens": 6}})
        }
        ServedApi::OpenaiResponses => {
            json!({"object": "response", "id": "resp_1", "status": "completed",
            "output": [{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "All at once.", "annotations": []}]}],
            "usage": {"input_tokens": 5, "output_tokens": 6}})
        }
        ServedApi::OpenaiChat => json!({"id": "c1", "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "stop",
                "message": {"role": "assistant", "content": "All at once."}}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 6}}),
        ServedApi::Gemini => json!([{"candidates": [{"content": {"role": "model",
                "parts": [{"text": "All at once."}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 6}}]),
        ServedApi::Ollama => json!({"model": "m", "created_at": "2026-01-01T00:00:00Z",
            "message": {"role": "assistant", "content": "All at once."}, "done": true, "done_reason": "stop",
            "prompt_eval_count": 5, "eval_count": 6}),
    }
}

#[test]
fn a_document_in_place_of_a_stream_is_the_response() {
    row(|api| {
        let stage = ModelStage::new(api, vec![http(ServedReply::json(200, document(api)))]);
        let done = stage.run("Speak.", &AUTO).exits(0);
        let expected = "text All at once.\ncompleted All at once.\n";
        assert_eq!(shown(&done), expected, "{api:?}");
        stage.is_clean();
    });
}

/// A turn with a model at this address, by way of what the environment says.
fn start(world: &TestWorld, base_url: &str, environment: &[(&str, &str)]) -> Live {
    let provider = format!("[providers.far]\napi = 'openai-chat'\nbase_url = '{base_url}'\n");
    world.user_config(&provider);
    world.listed("far/m", base_url);
    let args = [
        "run", "--output", "jsonl", "--trust", "-m", "far/m", "Speak.",
    ];
    let mut command = world.command(&args);
    command.envs(environment.iter().copied());
    Live::start(command)
}

/// The turn failed, said this, and nothing was tried again.
#[track_caller]
fn fails_at_once(done: ProgramResult, says: &str) {
    let done = done.exits(1).says(says);
    assert!(!done.stdout.contains(r#""kind":"retry""#), "{done:#?}");
}

#[test]
fn a_proxy_that_cannot_be_reached_is_named() {
    // Nobody listens at a port that was just given back.
    let gone = TcpListener::bind(("127.0.0.1", 0))
        .unwrap()
        .local_addr()
        .unwrap();
    let world = TestWorld::new();
    let proxy = format!("http://name:password@{gone}");
    let mut run = start(
        &world,
        "http://models.example/v1",
        &[("HTTP_PROXY", &proxy), ("http_proxy", &proxy)],
    );
    // It may be there in a moment.
    let reason = run.update("retry")["reason"].as_str().unwrap().to_owned();
    let expected = format!("the proxy {gone} cannot be reached, or cannot reach models.example");
    assert!(reason.contains(&expected), "{reason}");
    run.signal(Signal::INT);
    run.end().exits(130);
}

#[test]
fn a_proxy_that_wants_a_login_is_asked_once() {
    let proxy = ModelServer::start(|_| ServedReply::json(407, json!({"error": "who are you?"})));
    let at = proxy.address().to_string();
    let place = format!("http://{at}");
    for (asked, scheme) in [(1, "http"), (2, "https")] {
        let world = TestWorld::new();
        let names = ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"];
        let run = start(
            &world,
            &format!("{scheme}://models.example/v1"),
            &names.map(|name| (name, place.as_str())),
        );
        let says = format!("the proxy {at} requires a login");
        fails_at_once(run.end(), &says);
        assert_eq!(proxy.received().len(), asked, "{scheme}");
    }
}

#[test]
fn a_proxy_of_a_kind_that_cannot_be_used_is_told_at_once() {
    let world = TestWorld::new();
    let proxy = "socks5://127.0.0.1:1080";
    let run = start(
        &world,
        "https://models.example/v1",
        &[("HTTPS_PROXY", proxy), ("https_proxy", proxy)],
    );
    fails_at_once(
        run.end(),
        "the scheme of the proxy 127.0.0.1:1080 is not supported (socks5)",
    );
}

#[test]
fn what_goes_to_a_server_goes_through_the_proxy_unless_it_is_on_this_computer() {
    let spoken = |text: &'static str| {
        ModelServer::start(move |_| {
            let play = ModelReply::new("m").text(text);
            play.reply(ServedApi::OpenaiChat)
        })
    };
    let (proxy, local) = (spoken("Through the proxy."), spoken("Straight."));
    let place = format!("http://{}", proxy.address());
    let local_url = format!("http://{}/v1", local.address());
    for (url, answer) in [
        ("http://models.example/v1", "Through the proxy."),
        (&local_url, "Straight."),
    ] {
        let world = TestWorld::new();
        let environment = [
            ("HTTP_PROXY", place.as_str()),
            ("http_proxy", place.as_str()),
        ];
        let done = start(&world, url, &environment).end().exits(0);
        assert!(
            done.stdout.contains(&format!(r#""answer":"{answer}""#)),
            "{done:#?}"
        );
    }
    assert_eq!(proxy.received().len(), 1);
    assert_eq!(proxy.received()[0].header("host"), Some("models.example"));
}

/// A file of the server with a certificate that only its own issuer vouches for.
fn tls(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/media/tls")
        .join(name)
}

/// Answers each connection with this stream, in TLS. Returns its address.
fn serve_tls(body: Vec<u8>) -> String {
    let chain = CertificateDer::pem_file_iter(tls("localhost.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(tls("localhost.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain.map(Result::unwrap).collect(), key)
        .unwrap();
    let config = Arc::new(config);
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = format!("localhost:{}", listener.local_addr().unwrap().port());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // A client that does not trust it leaves.
            let _ = answer_tls(&config, stream.unwrap(), &body);
        }
    });
    address
}

fn answer_tls(config: &Arc<ServerConfig>, stream: TcpStream, body: &[u8]) -> std::io::Result<()> {
    let connection = ServerConnection::new(Arc::clone(config)).map_err(std::io::Error::other)?;
    let mut stream = StreamOwned::new(connection, stream);
    let mut asked = Vec::new();
    let mut part = [0; 4096];
    while !asked.ends_with(b"}") {
        let count = stream.read(&mut part)?;
        if count == 0 {
            return Ok(());
        }
        asked.extend_from_slice(&part[..count]);
    }
    let length = body.len();
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    stream.write_all(&[head.as_bytes(), body].concat())?;
    stream.conn.send_close_notify();
    stream.flush()
}

#[test]
fn a_certificate_counts_where_the_roots_that_are_chosen_trust_it() {
    let play = ModelReply::new("m").text("In private.");
    let url = format!(
        "https://{}/v1",
        serve_tls(play.stream(ServedApi::OpenaiChat).to_vec())
    );
    let trusted = tls("issuer.pem");
    let environment = [("SSL_CERT_FILE", trusted.to_str().unwrap())];

    // Mozilla's roots are what counts, whatever the system trusts.
    let world = TestWorld::new();
    let done = start(&world, &url, &environment).end();
    fails_at_once(done, "the TLS certificate of localhost is not trusted (");

    let world = TestWorld::new();
    let provider = format!("[providers.far]\napi = 'openai-chat'\nbase_url = '{url}'\n");
    world.user_config(&format!("tls_roots = 'system'\n{provider}"));
    let mut command = world.command(&[
        "run", "--output", "jsonl", "--trust", "-m", "far/m", "Speak.",
    ]);
    command.envs(environment);
    let done = Live::start(command).end().exits(0);
    assert!(
        done.stdout.contains(r#""answer":"In private.""#),
        "{done:#?}"
    );
}
