//! What the Language Server costs on this machine, and beside it the Agent Client Protocol: `cargo bench --bench lsp`, or only parts of it, as
//! `cargo bench --bench lsp -- flood ping`. Prints medians, each with what is wanted; nothing here passes or fails.
//!
//! Run it on an otherwise idle machine. The server is a process of its own, spoken to over pipes; its provider is a
//! model server on loopback inside this process. `ASIDE_BENCH_BINARY` names another program to measure.

#![expect(clippy::print_stdout, reason = "a program that prints figures")]

#[path = "lsp/client.rs"]
mod client;
#[path = "lsp/model.rs"]
mod model;
#[expect(dead_code, reason = "not all of its stamps are wanted here")]
mod raw;

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use self::{
    client::{Client, Piece, Protocol, Turn, World},
    model::{BenchModel, calls, config_of, events, streamed, words},
};

/// Pieces that come at once.
const FLOOD: usize = 20_000;
/// Pieces that come a millisecond apart.
const PACED: usize = 2_000;
/// Pieces that come so far apart that each stands alone.
const ALONE: usize = 200;
/// Turns after which the server is as quick and as small as before.
const TURNS: usize = 2_000;

/// The parts that are measured over both protocols.
const BESIDE: [&str; 5] = ["start", "requests", "alone", "flood", "calls"];

/// A part of the benchmark, and its name.
type Measure = (&'static str, fn(&World));

fn main() {
    let parts: [Measure; 9] = [
        ("start", start),
        ("requests", requests),
        ("alone", alone),
        ("paced", paced),
        ("flood", flood),
        ("writes", writes),
        ("calls", tool_calls),
        ("turns", turns),
        ("ping", ping),
    ];
    let named: Vec<String> = std::env::args().skip(1).collect();
    let named: Vec<&String> = named.iter().filter(|name| !name.starts_with('-')).collect();
    for (name, measure) in parts {
        if named.is_empty() || named.iter().any(|wanted| *wanted == name) {
            // A place of its own: what others left there would be listed too.
            measure(&World::new(Protocol::Lsp));
            if BESIDE.contains(&name) {
                println!("-- {name}, over the Agent Client Protocol");
                measure(&World::new(Protocol::Acp));
            }
        }
    }
}

/// From nothing to a server that waits.
fn start(world: &World) {
    let start = sample(40, || {
        let start = Instant::now();
        let client = world.client(json!({}));
        ms(client.initialized - start)
    });
    tell(
        "process start to the response of initialize",
        &start,
        "ms",
        5.0,
    );
    let config = json!({ "assistant": { "model": script(world) } });
    let memory = |settled: fn(&mut Client)| -> Vec<f64> {
        let one = |_| {
            let mut client = world.client(config.clone());
            settled(&mut client);
            client.memory()
        };
        (0..5).filter_map(one).collect()
    };
    // What was sent before the request is done when that is answered, by an error: nothing is asked of the server.
    let idle = memory(|client| {
        client.request("aside/none", json!({}));
        client.until(|message| message["error"]["code"] == -32601);
    });
    tell("memory of an idle server", &idle, "MiB", 8.0);
    if world.protocol() == Protocol::Acp {
        return;
    }
    let open = memory(opens_a_document);
    if !open.is_empty() {
        println!(
            "  with a document open and its settings read: {:.3} MiB",
            median(&open)
        );
    }
}

/// The client opens a document, and the server has read its settings then: it tells how it goes.
fn opens_a_document(client: &mut Client) {
    let document =
        json!({ "uri": "file:///a.txt", "languageId": "text", "version": 1, "text": "a" });
    client.notify("textDocument/didOpen", json!({ "textDocument": document }));
    client.until(|message| message["method"] == "aside/status");
}

/// From a turn's start to its request.
fn requests(world: &World) {
    let model = BenchModel::start();
    let request = |client: &mut Client| {
        let turn = client.turn(json!({ "message": "go" }));
        ms(model.last_request() - turn.asked)
    };
    let first = sample(15, || request(&mut world.client(model.config())));
    let editors = |()| {
        sample(15, || {
            let mut client = world.client(model.config());
            opens_a_document(&mut client);
            request(&mut client)
        })
    };
    // The other protocol has no documents.
    let editors = (world.protocol() == Protocol::Lsp)
        .then_some(())
        .map(editors);
    let mut client = world.client(model.config());
    let warm = sample(100, || request(&mut client));
    tell(
        "turn/start to the provider's request, first",
        &first,
        "ms",
        2.0,
    );
    if let Some(editors) = editors {
        tell(
            "  where a document was opened before, as editors do",
            &editors,
            "ms",
            2.0,
        );
    }
    tell(
        "turn/start to the provider's request, warm",
        &warm,
        "ms",
        2.0,
    );
}

/// Pieces that come so far apart that each goes at once.
fn alone(world: &World) {
    println!("{ALONE} pieces of 5 bytes, 20 ms apart");
    apart::<ALONE>(world, Duration::from_millis(20), 0.2);
}

/// Pieces that come so close that all but the first wait for others, for 8 ms at most.
fn paced(world: &World) {
    println!("{PACED} pieces of 5 bytes, 1 ms apart");
    apart::<PACED>(world, Duration::from_millis(1), 8.0);
}

/// Pieces that come so far apart, each in a write of its own.
fn apart<const N: usize>(world: &World, pace: Duration, wanted: f64) {
    let model = BenchModel::start();
    let mut client = world.client(model.config());
    client.turn(json!({ "message": "go" }));
    let words = words::<N>();
    let (reply, times) = streamed::<N>(&words, Some(pace));
    model.will_reply(reply);
    let before = client.processor();
    let turn = client.turn(json!({ "message": "go" }));
    let spent = between(before, client.processor());
    assert_eq!(
        together(&turn.pieces),
        words.concat(),
        "the text is as it was sent"
    );
    let sent: Vec<Instant> = times.try_iter().collect();
    let late = delays(&sent, &turn.pieces);
    tell(
        "  a piece's arrival to its turn/update",
        &late,
        "ms",
        wanted,
    );
    println!("  nine of ten within {:.3} ms", percentile(&late, 90));
    println!("  updates: {}", turn.pieces.len());
    if let Some(spent) = spent {
        println!(
            "  the server's processor time a piece: {:.1} µs",
            spent * 1e6 / count(N)
        );
    }
}

/// Pieces that come all at once, many of them in a write.
fn flood(world: &World) {
    let model = BenchModel::start();
    let mut client = world.client(model.config());
    client.turn(json!({ "message": "go" }));
    let words = words::<FLOOD>();
    println!("{FLOOD} pieces of 5 bytes at once");
    floods(&mut client, &words.concat(), || {
        let (reply, times) = streamed::<FLOOD>(&words, None);
        model.will_reply(reply);
        Box::new(move || times.try_recv().expect("the time of the first byte"))
    });
}

/// Pieces that come one after another as quickly as they can be written, in a write each.
fn writes(world: &World) {
    let words = words::<FLOOD>();
    let parts = events::<FLOOD>(&words);
    let first = parts.iter().position(|part| part.starts_with(model::PIECE));
    let first = first.expect("a piece");
    let (address, stamps) = raw::serve(parts, Duration::ZERO);
    let mut client = world.client(config_of(&format!("http://{address}")));
    println!("{FLOOD} pieces of 5 bytes, a write each");
    floods(&mut client, &words.concat(), || {
        let stamps = &stamps;
        Box::new(move || stamps.recv().expect("the stamps of a response").parts[first])
    });
}

/// Plays floods that say this. Before each, `prepare` is called; what it returns then says when the first piece was sent.
fn floods<'a>(
    client: &mut Client,
    said: &str,
    prepare: impl Fn() -> Box<dyn FnOnce() -> Instant + 'a>,
) {
    let mut figures: [Vec<f64>; 5] = Default::default();
    let mut processor = Vec::new();
    for _ in 0..7 {
        let sent = prepare();
        let before = client.processor();
        let turn = client.turn(json!({ "message": "go" }));
        processor.extend(between(before, client.processor()).map(|spent| spent * 1e3));
        assert_eq!(together(&turn.pieces), said, "the text is as it was sent");
        let each = flood_of(sent(), &turn);
        figures
            .iter_mut()
            .zip(each)
            .for_each(|(all, one)| all.push(one));
    }
    let [total, first, gap, bytes, updates] = figures;
    println!("  updates: {:.0}", median(&updates));
    tell("  first byte to the last update", &total, "ms", 150.0);
    tell("  processor time of the server", &processor, "ms", 100.0);
    tell("  first byte to the first update", &first, "ms", 5.0);
    tell("  largest gap between updates", &gap, "ms", 50.0);
    tell("  the pipe's bytes a piece", &bytes, "bytes", 20.0);
}

/// Whole time, first update, largest gap, bytes a piece, updates.
fn flood_of(sent: Instant, turn: &Turn) -> [f64; 5] {
    let times: Vec<Instant> = turn.pieces.iter().map(|piece| piece.at).collect();
    let (first, last) = (times[0], times[times.len() - 1]);
    let gaps = times.windows(2).map(|two| ms(two[1] - two[0]));
    let bytes: usize = turn.pieces.iter().map(|piece| piece.bytes).sum();
    [
        ms(last - sent),
        ms(first - sent),
        gaps.fold(0.0, f64::max),
        count(bytes) / count(FLOOD),
        count(times.len()),
    ]
}

/// One step each.
fn tool_calls(world: &World) {
    const CALLS: usize = 50;
    let model = BenchModel::start();
    let mut client = world.client(model.config());
    let mut turn = |calls_first: usize| {
        for number in 1..=calls_first {
            let arguments = json!({ "path": "small.txt", "to_line": number });
            model.will_reply(calls("read_file", &[arguments]));
        }
        let turn = client.turn(json!({ "message": "go" }));
        ms(turn.completed - turn.asked)
    };
    let without = median(&sample(10, || turn(0)));
    let with = median(&sample(10, || turn(CALLS)));
    let each = (with - without) / count(CALLS);
    tell(
        "a call (read a small file), one of 50 steps",
        &[each],
        "ms",
        2.0,
    );
}

/// The provider replies at once.
fn turns(world: &World) {
    let model = BenchModel::start();
    let mut client = world.client(model.config());
    let turns = sample(300, || {
        let turn = client.turn(json!({ "message": "go" }));
        ms(turn.completed - turn.asked)
    });
    tell("a short turn, over HTTP on loopback", &turns, "ms", 3.0);
    let rehearsal = json!({ "assistant": { "model": script(world) } });
    many_turns(
        "one conversation",
        &mut world.client(rehearsal.clone()),
        true,
    );
    many_turns("new conversations", &mut world.client(rehearsal), false);
}

/// A model that says one word.
fn script(world: &World) -> String {
    world.script("short", "[[reply]]\nsay = [{ text = \"Done.\" }]\n")
}

/// The last are as quick as the first, and leave nothing behind.
fn many_turns(place: &str, client: &mut Client, same: bool) {
    let (mut times, mut early, mut conversation) = (Vec::new(), None, Value::Null);
    for number in 0..TURNS {
        let turn = client.turn(json!({ "message": "go", "conversationId": conversation }));
        times.push(ms(turn.completed - turn.asked));
        if same {
            conversation = turn.conversation.into();
        }
        if number == 19 {
            early = client.memory();
        }
    }
    println!("{TURNS} short turns of a script, {place}");
    let (first, last) = (median(&times[3..20]), median(&times[TURNS - 17..]));
    tell("  a turn", &times, "ms", 3.0);
    println!("  about the 5th: {first:.3} ms, about the {TURNS}th: {last:.3} ms");
    tell("  the ratio of these", &[last / first], "", 1.5);
    let grown = between(early, client.memory());
    tell(
        "  memory after all, less that after 20",
        grown.as_slice(),
        "MiB",
        4.0,
    );
}

/// A request behind many notifications while many prompts are open.
fn ping(world: &World) {
    const PROMPTS: usize = 50;
    const NOTIFICATIONS: i32 = 2_000;
    let model = BenchModel::start();
    let mut client = world.client(model.config());
    let ask = |number: usize| json!({ "question": format!("Question {number}?"), "answer_type": "boolean" });
    let questions: Vec<Value> = (0..PROMPTS).map(ask).collect();
    model.will_reply(calls("ask_user", &questions));
    client.request("aside/turn/start", json!({ "message": "go" }));
    for _ in 0..PROMPTS {
        client.until(|message| message["method"] == "aside/prompt");
    }
    let document = format!("{}/small.txt", client.root);
    client.notify(
        "textDocument/didOpen",
        json!({ "textDocument": { "uri": document, "languageId": "text", "version": 0, "text": "a" } }),
    );
    let mut version = 0;
    let pings = sample(20, || {
        for _ in 0..NOTIFICATIONS {
            version += 1;
            client.notify(
                "textDocument/didChange",
                json!({
                    "textDocument": { "uri": document, "version": version },
                    "contentChanges": [{ "text": "b" }],
                }),
            );
        }
        let asked = client.request("aside/conversation/list", json!({ "limit": 1 }));
        ms(client.reply().0 - asked)
    });
    tell(
        "a list behind 2,000 notifications, 50 prompts open",
        &pings,
        "ms",
        10.0,
    );
}

/// How long after it was sent each piece was read. A joined update holds several.
fn delays(sent: &[Instant], updates: &[Piece]) -> Vec<f64> {
    let mut sent = sent.iter();
    let mut late = Vec::new();
    for update in updates {
        let pieces = update.text.len() / 5;
        late.extend(sent.by_ref().take(pieces).map(|sent| ms(update.at - *sent)));
    }
    late
}

fn together(pieces: &[Piece]) -> String {
    pieces.iter().map(|piece| piece.text.as_str()).collect()
}

fn between(before: Option<f64>, after: Option<f64>) -> Option<f64> {
    Some(after? - before?)
}

/// After three runs that do not count.
fn sample(count: usize, mut measure: impl FnMut() -> f64) -> Vec<f64> {
    for _ in 0..3 {
        measure();
    }
    (0..count).map(|_| measure()).collect()
}

fn median(values: &[f64]) -> f64 {
    percentile(values, 50)
}

fn percentile(values: &[f64], percent: usize) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() * percent / 100]
}

/// The median counts; the least is what it is when nothing else goes on.
fn tell(what: &str, values: &[f64], unit: &str, wanted: f64) {
    if values.is_empty() {
        return println!("{what:<56} is not told by this system");
    }
    let value = median(values);
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let word = if value < wanted { "ok" } else { "OVER" };
    println!(
        "{what:<56} {value:>8.3} {unit:<5} least {least:>8.3}   (wanted: under {wanted})  {word}"
    );
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[expect(clippy::cast_precision_loss, reason = "small numbers")]
fn count(number: usize) -> f64 {
    number as f64
}
