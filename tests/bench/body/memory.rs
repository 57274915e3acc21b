//! What a conversation of 400,000 tokens holds in memory.

use std::{
    env, fs,
    net::{Ipv4Addr, TcpListener},
    process::Command,
    thread,
    time::Duration,
};

use aside_base::api::ApiKind;
use aside_provider::ModelRequest;
use aside_turn::inquiry::Strategy;
use nix::sys::resource::{UsageWho, getrusage};

use super::{
    REQUESTS,
    conversation::{BenchConversation, provider, question, reply},
    raw,
    scene::{CostCase, Prelude, play},
    send,
};

/// The argument that makes this program play one turn and print the peak of its children.
const PEAK: &str = "--peak";
/// Inquiries that are out at once.
const INQUIRIES: usize = 10;

/// 400,000 tokens, in 50 steps.
const LONG: Prelude = Prelude {
    steps: 49,
    lines: 318,
    instructions: 0,
};

/// Plays a turn, where that is what the arguments say.
pub(crate) fn asked() -> bool {
    let args: Vec<String> = env::args().collect();
    let Some(at) = args.iter().position(|arg| arg == PEAK) else {
        return false;
    };
    let questions = args[at + 2].parse().expect("a number of questions");
    let bill = play(CostCase {
        before: LONG,
        model: "anthropic/claude-opus-5-5",
        strategy: &args[at + 1],
        assistant: None,
        questions,
        breaks: 0,
        answers: true,
    });
    let peak = getrusage(UsageWho::RUSAGE_CHILDREN).expect("what children used");
    let largest = bill.requests.iter().map(|paid| paid.input()).max();
    println!("{} {}", peak.max_rss(), largest.unwrap_or_default());
    true
}

/// Prints what the program takes, and what a conversation does.
pub(crate) async fn print() {
    for (strategy, questions) in [("in_band", 0), ("in_band", 10), ("structured", 10)] {
        let (peak, tokens) = peak(strategy, questions);
        println!(
            "{:<66} {peak:>7.1} MiB",
            format!("peak of `aside run`: {tokens} tokens, {questions} questions {strategy}")
        );
    }
    in_this_process().await;
}

/// The peak of `aside run`, in a process of its own for the children of this one count together. And its largest
/// request, in tokens.
fn peak(strategy: &str, questions: usize) -> (f64, u64) {
    let output = Command::new(env::current_exe().expect("this program"))
        .args([PEAK, strategy, &questions.to_string()])
        .output()
        .expect("this program runs");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{output:?}");
    let (peak, tokens) = text.trim().split_once(' ').expect("two figures");
    let peak: f64 = peak.parse().expect("kibibytes");
    (peak / 1024.0, tokens.parse().expect("tokens"))
}

/// What grows from the first request of a conversation to its last, and with inquiries that are out.
async fn in_this_process() {
    let kind = ApiKind::Anthropic;
    let (address, stamps) = raw::serve(vec![reply(kind)], Duration::ZERO);
    let provider_of = |address| provider(kind, "claude-opus-5-5", address);
    let model = provider_of(address);
    let mut conversation = BenchConversation::new(500);
    conversation.ask();
    send(model.as_ref(), conversation.request(), &stamps).await;
    let begun = resident();
    let mut bytes = 0;
    for _ in 1..REQUESTS {
        conversation.reply();
        conversation.ask();
        let sent = send(model.as_ref(), conversation.request(), &stamps).await;
        bytes = sent.bytes;
    }
    let grown = resident();
    println!(
        "{:<66} {:>7.1} MiB   {:.1} times its last body of {bytes} bytes",
        "a conversation of 1,000 requests in 500 turns holds",
        mib(grown - begun),
        (grown - begun) as f64 / bytes as f64
    );

    // A server that reads nothing: what goes out stays with the client.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port on loopback");
    let address = listener.local_addr().expect("the address that was bound");
    thread::spawn(move || {
        let sockets: Vec<_> = listener.incoming().take(INQUIRIES).collect();
        thread::sleep(Duration::from_secs(60));
        drop(sockets);
    });
    conversation.reply();
    let model = provider_of(address);
    // The HTTP client of this model is built by its first request.
    let out: Vec<_> = (0..=INQUIRIES)
        .map(|_| {
            let model = model.clone();
            let inquiry = ModelRequest {
                messages: vec![question()],
                inquiry: Some(Strategy::InBand),
                ..conversation.request()
            };
            tokio::spawn(async move { model.send(inquiry).await.map(drop) })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(500)).await;
    let asking = resident();
    println!(
        "{:<66} {:>7.1} MiB   their bodies would be {:.1}",
        format!("{INQUIRIES} inquiries of it that are out hold"),
        mib(asking.saturating_sub(grown)),
        mib((INQUIRIES * bytes) as u64)
    );
    out.iter().for_each(tokio::task::JoinHandle::abort);
}

/// Bytes of memory that this process holds now.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("a system that tells");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kibibytes = kibibytes.and_then(|text| text.trim().parse::<u64>().ok());
    kibibytes.expect("a number of kilobytes") * 1024
}

#[expect(clippy::cast_precision_loss, reason = "bytes of memory")]
fn mib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0 / 1024.0
}
