//! Logs that were damaged at random: the conversation goes on, and each of its requests keeps the rules of its API.
//!
//! `ASIDE_DAMAGES=1200 cargo test --test it -- models::damaged --nocapture` makes as many damages, other ones each time.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use aside_model_server::play::{ModelReply, ReplyItem};
use fastrand::Rng;
use rustix::process::Signal;
use serde_json::{Value, json};

use super::{
    column,
    live::LONG,
    questions::{TWICE, answers, edit},
    stage::{AUTO, ModelStage, PlayedStep, asked, row, says, stalls},
};
use crate::lsp::client::{Client, initialize, prompts};

/// Damages that each test makes of each API's log, unless it is told otherwise.
const DAMAGES: usize = 12;

/// A number that no other reply has.
fn number() -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What is signed in a reply is signed in no other.
fn reply() -> ModelReply {
    ModelReply::new(&number().to_string())
}

/// A call of a tool with nothing but its arguments.
fn read(path: &str) -> ReplyItem {
    let arguments = format!(r#"{{"path":"{path}"}}"#);
    ReplyItem::call(&format!("read_{}", number()), "read_file", arguments)
}

fn done() -> PlayedStep {
    says(reply().reasoning("Nothing is left.").text("Done."))
}

/// Reasoning, words, and calls side by side, one of which asks.
fn calls() -> PlayedStep {
    says(
        reply()
            .reasoning("Read, then edit.")
            .text("Both at once.")
            .say(read("b.txt"))
            .say(edit(&format!("edit_{}", number()), "a.txt")),
    )
}

/// Reasoning and calls side by side.
fn reading() -> PlayedStep {
    let reply = reply().reasoning("Read both.");
    says(reply.say(read("a.txt")).say(read("b.txt")))
}

/// What became of the log, and what it is now.
fn damage(lines: &[Vec<u8>], random: &mut Rng) -> (String, Vec<u8>) {
    let at = random.usize(..lines.len());
    let mut now = lines.to_vec();
    let what = match random.u8(..7) {
        0 => {
            now.remove(at);
            format!("line {at} is lost")
        }
        1 => {
            let copy = now[at].clone();
            now.insert(random.usize(at..=lines.len()), copy);
            format!("line {at} stands there twice")
        }
        2 => {
            let other = random.usize(..lines.len());
            now.swap(at, other);
            format!("lines {at} and {other} changed places")
        }
        3 => {
            let (byte, bit) = (random.usize(..now[at].len() - 1), random.u8(..8));
            now[at][byte] ^= 1 << bit;
            format!("a bit of line {at} is another")
        }
        4 => {
            let until = random.usize(at..lines.len()) + 1;
            now.drain(at..until.min(at + 6));
            format!("lines from {at} are lost")
        }
        5 => {
            let mut bytes = now.concat();
            let from = random.usize(..bytes.len());
            let until = bytes.len().min(from + 512);
            bytes[from..until].fill(0);
            return (format!("zeros from byte {from}"), bytes);
        }
        _ => {
            // The first message, and what it begins with.
            let first = random.usize(..6);
            let end = now[first].len() - 1;
            now[first][random.usize(..end)] ^= 2;
            format!("a bit of line {first} is another")
        }
    };
    (what, now.concat())
}

fn count() -> usize {
    std::env::var("ASIDE_DAMAGES").map_or(DAMAGES, |count| count.parse().expect("a number"))
}

/// Bytes as random as they have to be: others each time where somebody wants many.
fn random(seed: u64) -> Rng {
    if count() == DAMAGES {
        Rng::with_seed(seed)
    } else {
        Rng::new()
    }
}

/// A copy of the conversation with another log.
fn copy(original: &Path, number: usize, log: &[u8]) -> PathBuf {
    let name = original.file_name().unwrap().to_str().unwrap();
    let folder = original.with_file_name(format!("{name}{number}"));
    fs::create_dir(&folder).unwrap();
    fs::write(folder.join("events.jsonl"), log).unwrap();
    let blobs = folder.join("blobs");
    fs::create_dir(&blobs).unwrap();
    for blob in fs::read_dir(original.join("blobs")).into_iter().flatten() {
        let blob = blob.unwrap();
        fs::copy(blob.path(), blobs.join(blob.file_name())).unwrap();
    }
    folder
}

/// What is done to a damaged conversation.
#[derive(Clone, Copy, Debug)]
enum Next {
    Message(&'static str),
    Resume,
}

/// The server, by which one process goes on with one damaged conversation after another.
fn server(stage: &ModelStage) -> Client {
    let mut client = Client::run(stage.command(&["lsp", "--stdio"]));
    let options = json!({
        "trusted": true,
        "config": {
            "assistant": { "model": column::model(stage.api) },
            "conversation": { "mode": "auto" },
        },
        "unsandboxed": true,
    });
    client.request("initialize", initialize(&stage.world, prompts(), options));
    client.notify("initialized", json!({}));
    client
}

/// Goes on with this conversation.
fn goes_on(client: &mut Client, id: &str, next: Next, what: &str) {
    let of = json!({ "conversationId": id });
    let request = match next {
        Next::Message(text) => client.ask(
            "aside/turn/start",
            json!({ "conversationId": id, "message": text }),
        ),
        Next::Resume => client.ask("aside/turn/resume", of.clone()),
    };
    let reply = client.answer(request);
    if reply["error"] != Value::Null {
        // Where the line that begins the turn is lost there is nothing to go on with.
        assert!(matches!(next, Next::Resume), "{what}: {next:?} {reply}");
        let why = reply["error"]["message"].as_str().unwrap();
        assert!(
            why.starts_with("there is nothing to resume"),
            "{what}: {why}"
        );
        return;
    }
    let declines = |_: &Value| json!({ "action": "decline" });
    let (_, end) = client.play(&reply["result"], declines);
    assert_eq!(end["outcome"], "completed", "{what}: {next:?} {end}");
    // What is told of all conversations is of no interest here.
    client.forget("aside/conversation/changed");
    client.forget("aside/status");
}

/// Damages the log of this conversation again and again, and does each of these to what is left of it.
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn survives(stage: &ModelStage, seed: u64, all: &[Next]) {
    let original = stage.world.conversations().remove(0);
    let log = fs::read(original.join("events.jsonl")).unwrap();
    let lines: Vec<Vec<u8>> = log
        .split_inclusive(|byte| *byte == b'\n')
        .map(<[u8]>::to_vec)
        .collect();
    let mut client = server(stage);
    let mut random = random(seed);
    let mut told = String::new();
    let mut refused = 0;
    for number in 0..count() {
        let (what, damaged) = damage(&lines, &mut random);
        let folder = copy(&original, number, &damaged);
        let id = folder.file_name().unwrap().to_str().unwrap();
        for next in all {
            stage.forgets();
            // An inquiry that was not answered yet takes up to nine.
            stage.goes_on((0..16).map(|_| done()).collect());
            goes_on(&mut client, id, *next, &what);
        }
        let broken = stage.broken();
        if !broken.is_empty() {
            refused += 1;
            let _ = writeln!(told, "{:?}: {what}: {broken:#?}", stage.api);
        }
        fs::remove_dir_all(folder).unwrap();
    }
    assert_eq!(refused, 0, "of {} damages:\n{told}", count());
    eprintln!(
        "{:?}: {} damages: 0 cannot be opened, 0 requests refused",
        stage.api,
        count()
    );
}

#[test]
fn a_damaged_conversation_takes_another_message() {
    row(|api| {
        let script = vec![
            reading(),
            calls(),
            asked(answers),
            done(),
            done(),
            reading(),
            reading(),
            done(),
        ];
        let stage = ModelStage::new(api, script);
        for name in ["a.txt", "b.txt"] {
            stage.world.write(name, TWICE);
        }
        stage.run("One.", &AUTO).exits(0);
        let more = [AUTO.as_slice(), &["--continue"]].concat();
        stage.run("Two.", &more).exits(0);
        stage.run("Three.", &more).exits(0);
        stage.is_clean();
        survives(&stage, 7, &[Next::Message("Four."), Next::Message("Five.")]);
    });
}

#[test]
fn a_damaged_turn_that_was_interrupted_goes_on_or_is_left() {
    row(|api| {
        let script = vec![done(), reading(), calls(), asked(answers), stalls()];
        let stage = ModelStage::new(api, script);
        for name in ["a.txt", "b.txt"] {
            stage.world.write(name, TWICE);
        }
        stage.run("One.", &AUTO).exits(0);
        let more = [AUTO.as_slice(), &["--continue"]].concat();
        let run = stage.start("Two.", &more);
        assert!(stage.server.wait_for(5, LONG));
        run.signal(Signal::KILL);
        run.end().exits(-1);
        stage.is_clean();
        survives(&stage, 11, &[Next::Resume, Next::Message("Three.")]);
    });
}
