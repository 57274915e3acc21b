//! What it costs to put a request together: `cargo bench --bench body`. Prints medians; nothing here passes or fails.
//!
//! A conversation of 1,000 requests grows to 400,000 tokens, four bytes each, in one turn and in 500. What is measured
//! is the first poll of `Provider::send`: all of the request is built there, and none of it is sent yet. The time until
//! the server has read it stands beside it.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

#[path = "body/conversation.rs"]
mod conversation;
mod figures;
#[path = "body/memory.rs"]
mod memory;
#[path = "../it/open.rs"]
mod open;
mod raw;
#[path = "../it/cost/scene.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod scene;
#[path = "../it/world.rs"]
#[expect(dead_code, reason = "tests use more of it")]
mod world;

use std::{
    sync::{Arc, mpsc::Receiver},
    time::{Duration, Instant},
};

use aside_base::api::ApiKind;
use aside_provider::{ModelRequest, Provider, SharedBody, flatten};
use aside_turn::inquiry::Strategy;
use conversation::{BenchConversation, provider, question};
use figures::{median, share};
use futures_util::StreamExt;
use raw::Stamps;

/// Requests of a conversation, and a few more so that a median is around the last.
const REQUESTS: usize = 1_005;
/// Conversations of each kind.
const TIMES: usize = 4;

const APIS: [(ApiKind, &str); 5] = [
    (ApiKind::Anthropic, "claude-opus-5-5"),
    (ApiKind::OpenaiResponses, "gpt-6.1-sol"),
    (ApiKind::Google, "gemini-4-argon"),
    (ApiKind::OpenaiChat, "deepseek-v4-pro"),
    (ApiKind::Ollama, "qwen3"),
];

fn main() {
    if memory::asked() {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    runtime.block_on(memory::print());
    for (kind, model) in APIS {
        runtime.block_on(building(kind, model));
    }
}

/// A request, and how long it took.
struct TimedRequest {
    built: Duration,
    /// Until its first bytes were at the server.
    first: Duration,
    /// Until all of it was.
    whole: Duration,
    bytes: usize,
}

async fn send(
    provider: &dyn Provider,
    request: ModelRequest,
    stamps: &Receiver<Stamps>,
) -> TimedRequest {
    let began = Instant::now();
    let mut sending = provider.send(request);
    let mut built = None;
    let response = std::future::poll_fn(|context| {
        let polled = sending.as_mut().poll(context);
        built.get_or_insert_with(|| began.elapsed());
        polled
    });
    let mut pieces = response.await.expect("a response");
    while let Some(piece) = pieces.next().await {
        piece.expect("a piece");
    }
    let Stamps {
        first, whole, body, ..
    } = stamps.recv().expect("a request");
    TimedRequest {
        built: built.unwrap_or_default(),
        first: first.duration_since(began),
        whole: whole.duration_since(began),
        bytes: body,
    }
}

async fn building(kind: ApiKind, model: &str) {
    let (address, stamps) = raw::serve(vec![conversation::reply(kind)], Duration::ZERO);
    let provider = provider(kind, model, address);
    // Builds the HTTP client, and connects.
    let warm = BenchConversation::grown(1, 1);
    send(provider.as_ref(), warm.request(), &stamps).await;

    println!("\n{kind:?}");
    let one = grow(provider.as_ref(), &stamps, 1).await;
    let many = grow(provider.as_ref(), &stamps, 500).await;
    for number in [10, 100, 1_000] {
        let around = |all: &[Vec<TimedRequest>]| -> Vec<Duration> {
            let near = all.iter().flat_map(|sent| &sent[number - 6..number + 4]);
            near.map(|sent| sent.built).collect()
        };
        let (one, many) = (median(&around(&one)), median(&around(&many)));
        println!(
            "request {number:>5}: built in {one:>8.1} µs in one turn, {many:>8.1} µs in 500: ratio {:.2}   (wanted: under 5000, about 1)",
            many / one
        );
    }
    let last = |all: &[Vec<TimedRequest>], of: fn(&TimedRequest) -> Duration| -> Vec<Duration> {
        let near = all.iter().flat_map(|sent| &sent[REQUESTS - 10..]);
        near.map(of).collect()
    };
    println!(
        "request  1000: {} bytes; first bytes at the server after {:.0} µs, all after {:.0} µs",
        many[0][999].bytes,
        median(&last(&many, |sent| sent.first)),
        median(&last(&many, |sent| sent.whole)),
    );
    let all: Vec<Duration> = one
        .iter()
        .chain(&many)
        .flatten()
        .map(|sent| sent.built)
        .collect();
    println!("the slowest of {}: {:.0} µs", all.len(), share(&all, 1.0));
    besides(provider.as_ref(), &stamps).await;
}

/// Conversations from their first request to their last.
async fn grow(
    provider: &dyn Provider,
    stamps: &Receiver<Stamps>,
    turns: usize,
) -> Vec<Vec<TimedRequest>> {
    let mut all = Vec::new();
    for _ in 0..TIMES {
        let mut conversation = BenchConversation::new(turns);
        let mut sent = Vec::new();
        for _ in 0..REQUESTS {
            conversation.ask();
            sent.push(send(provider, conversation.request(), stamps).await);
            conversation.reply();
        }
        all.push(sent);
    }
    all
}

/// Requests that are not the turn's next one.
async fn besides(provider: &dyn Provider, stamps: &Receiver<Stamps>) {
    let mut conversation = BenchConversation::grown(500, REQUESTS);
    send(provider, conversation.request(), stamps).await;
    conversation.reply();
    let (mut asked, mut flat, mut other, mut cold) = (vec![], vec![], vec![], vec![]);
    for _ in 0..20 {
        let inquiry = ModelRequest {
            messages: vec![question()],
            inquiry: Some(Strategy::InBand),
            ..conversation.request()
        };
        asked.push(send(provider, inquiry, stamps).await.built);

        let began = Instant::now();
        let (transcript, messages) = flatten(&conversation.fork(), &[question()], Some(1_000_000));
        let inquiry = ModelRequest {
            transcript,
            messages,
            shared: Arc::new(SharedBody::new("conversation")),
            ..conversation.request()
        };
        flat.push(began.elapsed());
        other.push(send(provider, inquiry, stamps).await.built);

        let first = ModelRequest {
            shared: Arc::new(SharedBody::new("conversation")),
            ..conversation.request()
        };
        cold.push(send(provider, first, stamps).await.built);
    }
    println!("an inquiry in band: {:.1} µs", median(&asked));
    println!(
        "an inquiry of another model: {:.0} µs for the conversation as text, {:.0} µs for the request",
        median(&flat),
        median(&other)
    );
    println!(
        "the first request after the log was read: {:.0} µs",
        median(&cold)
    );
}
