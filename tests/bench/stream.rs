//! How long a piece of a response takes through the program: `cargo bench --bench stream`. Prints medians; nothing
//! here passes or fails.
//!
//! A server in a thread of its own writes a piece a millisecond and notes when. The engine runs as in the program: on
//! one thread, with its front end.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

mod figures;
#[expect(dead_code, reason = "not all of its stamps are wanted here")]
mod raw;

use std::{
    fs,
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use aside::engine::{
    ConversationTarget, Engine, Layers, TrustedBy, TurnMessage, TurnRequest, TurnStart,
};
use aside_config::{Flag, Sources};
use aside_model_server::{
    ServedApi,
    play::{ModelReply, ReplyItem},
};
use aside_turn::effect::Update;
use figures::{median, share};
use tempfile::TempDir;

/// Characters of a piece: text is cut into as many by the server's samples.
const WIDTH: usize = 16;
const PIECES: usize = 4_000;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(pieces());
    runtime.block_on(first_pieces());
}

/// Many pieces of one response.
async fn pieces() {
    let parts = events(PIECES);
    let first = parts
        .iter()
        .position(|part| is_piece(part))
        .expect("a piece");
    let (address, stamps) = raw::serve(parts, Duration::from_millis(1));
    let scene = Scene::new(&format!("http://{address}"));
    // One turn warms up, the other counts.
    scene.turn().await;
    stamps.recv().expect("the first turn");
    let shown = scene.turn().await.pieces;
    let written = stamps.recv().expect("the second turn").parts;
    assert_eq!(shown.len(), PIECES, "every piece came alone");
    let through: Vec<Duration> = shown
        .iter()
        .zip(&written[first..])
        .map(|(shown, written)| shown.duration_since(*written))
        .collect();
    line(
        "a piece, from the server's write to the front end",
        "under 100",
        &through,
    );

    let alone = without_the_engine(&format!("http://{address}"), first).await;
    let written = stamps.recv().expect("a response").parts;
    let alone: Vec<Duration> = alone
        .iter()
        .zip(&written[first..])
        .map(|(came, written)| came.duration_since(*written))
        .collect();
    line(
        "the same, to where reqwest hands over its bytes",
        "",
        &alone,
    );
    println!(
        "{:<62} {:>8.1} µs",
        "so from the bytes to the front end",
        median(&through) - median(&alone)
    );
}

/// The same response, read by the HTTP client alone. Events from the first piece on.
async fn without_the_engine(url: &str, first: usize) -> Vec<Instant> {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .tcp_nodelay(true)
        .build()
        .expect("a client");
    let mut response = client.get(url).send().await.expect("a response");
    let mut came = Vec::new();
    while let Some(chunk) = response.chunk().await.expect("a chunk") {
        let now = Instant::now();
        // On a busy machine several events may come at once.
        let ends = chunk.windows(2).filter(|bytes| bytes == b"\n\n");
        came.extend(ends.map(|_| now));
    }
    came.split_off(first)
}

/// Turns that say one thing.
async fn first_pieces() {
    let parts = events(1);
    let first = parts
        .iter()
        .position(|part| is_piece(part))
        .expect("a piece");
    let (address, stamps) = raw::serve(parts, Duration::ZERO);
    let scene = Scene::new(&format!("http://{address}"));
    let (mut to_server, mut to_front, mut from_server) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..200 {
        let turn = scene.turn().await;
        let stamps = stamps.recv().expect("a turn");
        let shown = turn.pieces[0];
        to_server.push(stamps.first.duration_since(turn.began));
        to_front.push(shown.duration_since(turn.began));
        from_server.push(shown.duration_since(stamps.parts[first]));
    }
    println!(
        "{:<62} {:>8.1} µs   with the HTTP client to be built and no connection",
        "the first turn of a process, to its first piece",
        median(&to_front[..1])
    );
    line(
        "a turn, from its beginning to its request at the server",
        "",
        &to_server[1..],
    );
    line(
        "a turn, from its beginning to its first piece",
        "",
        &to_front[1..],
    );
    line("of that, from the server's write", "", &from_server[1..]);
}

/// A response of so many pieces, an event each.
fn events(pieces: usize) -> Vec<Vec<u8>> {
    let text: String = (0..pieces)
        .map(|piece| format!("{piece:>WIDTH$}"))
        .collect();
    // One piece alone would be cut in three.
    let said = if pieces == 1 {
        ReplyItem::text(["Done."])
    } else {
        ReplyItem::text(text)
    };
    let body = ModelReply::new("").say(said).stream(ServedApi::Anthropic);
    let body = String::from_utf8_lossy(&body).into_owned();
    body.split_inclusive("\n\n")
        .map(|event| event.as_bytes().to_vec())
        .collect()
}

fn is_piece(event: &[u8]) -> bool {
    String::from_utf8_lossy(event).contains("text_delta")
}

/// A workspace, and an engine with a model.
struct Scene {
    folder: TempDir,
    engine: Engine,
}

/// A turn as its front end saw it.
struct ShownTurn {
    began: Instant,
    pieces: Vec<Instant>,
}

impl Scene {
    fn new(url: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir(folder.path().join("work")).expect("a folder");
        let url = url.to_owned();
        let env = Arc::new(move |name: &str| match name {
            "ANTHROPIC_BASE_URL" => Some(url.clone()),
            "ANTHROPIC_API_KEY" => Some("key".to_owned()),
            _ => None,
        });
        let program = PathBuf::from(env!("CARGO_BIN_EXE_aside"));
        let state = folder.path().join("state");
        let engine = Engine::in_environment(state, program, Vec::new(), env);
        Self { folder, engine }
    }

    /// A turn in a conversation of its own, to its end.
    async fn turn(&self) -> ShownTurn {
        let root = self
            .folder
            .path()
            .join("work")
            .canonicalize()
            .expect("the workspace");
        let request = TurnRequest {
            layers: Layers {
                instead: Some(Sources::default()),
                flags: vec![Flag::Set(
                    "assistant.model=anthropic/claude-opus-5-5".to_owned(),
                )],
                trusted_by: TrustedBy::Run,
                ..Layers::default()
            },
            ..TurnRequest::new(root, ConversationTarget::New, TurnStart::message("Go"))
        };
        let config = self.engine.configure(request).expect("a configuration");
        let began = Instant::now();
        let mut turn = self.engine.begin(config).await.expect("it begins");
        let mut pieces = Vec::new();
        while let Some(message) = turn.messages.recv().await {
            if let TurnMessage::Update(Update::Text { .. }) = message {
                pieces.push(Instant::now());
            }
        }
        turn.finish().await;
        ShownTurn { began, pieces }
    }
}

fn line(what: &str, wanted: &str, values: &[Duration]) {
    let wanted = if wanted.is_empty() {
        String::new()
    } else {
        format!("   (wanted: {wanted})")
    };
    println!(
        "{what:<62} {:>8.1} µs   p99 {:.1}   of {}{wanted}",
        median(values),
        share(values, 0.99),
        values.len()
    );
}
