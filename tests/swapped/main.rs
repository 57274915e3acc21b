//! No sentence decides anything: the whole program does the same with every sentence in another's place. Conversations
//! of each front end are played by the program as it is and by the program with its sentences swapped, which is this
//! test with [`SWAPPED`] in its environment. Outcomes, exit codes, stop reasons, refusals and updates have to be equal.

#![expect(
    clippy::print_stdout,
    reason = "a test without a harness says what it does"
)]

#[path = "../it/open.rs"]
mod open;
#[path = "../../server/main.rs"]
mod program;
#[path = "../it/world.rs"]
#[allow(dead_code, reason = "not all of it is needed here")]
mod world;

mod acp;
mod headless;
mod lsp;

use std::{
    collections::BTreeMap,
    process::{Command, ExitCode},
};

use aside_tool::supervisor;
use serde_json::Value;

use crate::world::TestWorld;

/// The variable that makes this test the program, with its sentences moved by so many places.
const SWAPPED: &str = "ASIDE_TEST_SWAPPED";

/// How far the sentences are moved.
const PLACES: [usize; 3] = [1, 7, 30];

/// Members whose values are sentences, or count the letters of sentences, or are new in each run.
const NOT_COMPARED: [&str; 10] = [
    "contextTokens",
    "durationMs",
    "inputTokens",
    "message",
    "runUsage",
    "size",
    "startedAt",
    "updatedAt",
    "usage",
    "used",
];

/// A program that plays a conversation.
#[derive(Clone, Copy)]
pub(crate) struct Player {
    places: Option<usize>,
}

/// A conversation: its name, and what the program did, without sentences.
pub(crate) type Conversation = (String, Box<dyn Fn(Player) -> String>);

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1);
    let is_child = first.is_some_and(|it| supervisor::is_part(&it));
    if let Some(places) = std::env::var_os(SWAPPED) {
        let places = places.to_str().and_then(|it| it.parse().ok());
        aside_turn::swapped::swap_all_sentences(places.expect("a number of places"));
        return program::main();
    }
    if is_child {
        return program::main();
    }
    let said = [None, Some(PLACES[0])].map(|places| headless::sentences(Player { places }));
    let is_swapped = said[0]
        .iter()
        .zip(&said[1])
        .all(|(one, other)| one != other);
    assert!(is_swapped, "the sentences are not swapped: {said:?}");
    let all = [headless::all(), lsp::all(), acp::all()]
        .into_iter()
        .flatten();
    let all: Vec<Conversation> = all.collect();
    let mut different = Vec::new();
    for (name, play) in &all {
        let english = play(Player { places: None });
        for places in PLACES {
            let swapped = play(Player {
                places: Some(places),
            });
            if english != swapped {
                different.push(format!("{name}, by {places}:\n{english}\n---\n{swapped}"));
            }
        }
        println!("{name}: {} letters compared", english.len());
    }
    assert!(all.len() > 20, "only {} conversations", all.len());
    println!("{} conversations, {} different", all.len(), different.len());
    if different.is_empty() {
        return ExitCode::SUCCESS;
    }
    println!("{}", different.join("\n\n"));
    ExitCode::FAILURE
}

impl Player {
    /// The program with these arguments in the world.
    pub(crate) fn command(self, world: &TestWorld, args: &[&str]) -> Command {
        let Some(places) = self.places else {
            return world.command(args);
        };
        let program = std::env::current_exe().expect("this program has a path");
        let program = program.to_str().expect("the path is text");
        let mut command = world.within("setsid", &[&[program], args].concat());
        command.env(SWAPPED, places.to_string());
        command
    }
}

/// What was said, without what differs from run to run: the world's folder, ids, and the values of [`NOT_COMPARED`].
pub(crate) fn plain(world: &TestWorld, value: &Value) -> String {
    let mut value = value.clone();
    clear(&mut value);
    let mut text = serde_json::to_string_pretty(&value).expect("it is JSON");
    for (id, name) in ids(&value) {
        text = text.replace(&id, &name);
    }
    text.replace(&world.folder().display().to_string(), "WORLD")
}

fn clear(value: &mut Value) {
    match value {
        Value::Object(members) => {
            let is_refusal = members.contains_key("reason") && members.contains_key("tool");
            for (key, value) in members.iter_mut() {
                if NOT_COMPARED.contains(&key.as_str()) || is_refusal && key == "text" {
                    *value = Value::Null;
                }
                if let ("warnings", Some(sentences)) = (key.as_str(), value.as_array()) {
                    *value = sentences.len().into();
                }
                clear(value);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(clear),
        _ => {}
    }
}

/// The ids of a value, and the names that they get.
fn ids(value: &Value) -> BTreeMap<String, String> {
    let mut found = Vec::new();
    collect(value, &mut found);
    let mut ids = BTreeMap::new();
    for (key, id) in found {
        let next = format!("{key}-{}", ids.len());
        ids.entry(id).or_insert(next);
    }
    ids
}

fn collect(value: &Value, found: &mut Vec<(String, String)>) {
    match value {
        Value::Object(members) => {
            for (key, value) in members {
                match (key.as_str(), value.as_str()) {
                    (
                        "conversationId" | "turnId" | "sessionId" | "messageId" | "toolCallId",
                        Some(id),
                    ) => found.push((key.clone(), id.to_owned())),
                    _ => collect(value, found),
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|it| collect(it, found)),
        _ => {}
    }
}
