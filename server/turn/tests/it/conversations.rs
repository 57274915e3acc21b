//! Conversations as text, each with what the turn makes of it.
//!
//! `UPDATE_EXPECT=1` writes what it makes of them into the files. Read the difference before you keep it.

use std::{collections::BTreeSet, fs, path::PathBuf};

use aside_turn::{
    effect::{Effect, InquiryStatus, QuestionUpdate, SummaryStatus, Update, updates::updates},
    history::TurnHistory,
    record::Event,
};
use expect_test::expect_file;
use serde_json::Value;

use crate::play::Play;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/it/conversations")
}

pub(crate) fn names() -> Vec<String> {
    let entries = fs::read_dir(folder()).expect("the folder is there");
    let mut names: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter_map(|name| name.strip_suffix(".txt").map(str::to_owned))
        .collect();
    names.sort();
    names
}

/// Name and input of each conversation in a file.
pub(crate) fn sections(file: &str) -> Vec<(String, String)> {
    let text = fs::read_to_string(folder().join(format!("{file}.txt"))).expect("the file is there");
    let sections = text.split("== ").skip(1).map(|section| {
        let (name, rest) = section.split_once('\n').expect("a name");
        let input = rest.split_once("\n---").map_or(rest, |(input, _)| input);
        (name.to_owned(), input.trim_end().to_owned())
    });
    sections.collect()
}

/// Name and input of every conversation.
pub(crate) fn all() -> impl Iterator<Item = (String, String)> {
    let files = names().into_iter();
    files.flat_map(|file| {
        let sections = sections(&file).into_iter();
        sections.map(move |(name, input)| (format!("{file}, {name}"), input))
    })
}

#[test]
fn each_event_is_written_and_read_back() {
    let mut types = BTreeSet::new();
    for (name, input) in all() {
        for mut event in Play::of(&input).events {
            // A broken question is on record as far as it can be.
            if let Event::InquiryRequest { question, .. } = &mut event {
                question.broken = None;
                question.default = question.default.take().filter(|it| !it.is_null());
            }
            let text = serde_json::to_string(&event).expect("it can be written");
            let read: Event = serde_json::from_str(&text)
                .unwrap_or_else(|error| panic!("{name}: {error}: {text}"));
            assert_eq!(read, event, "{name}: {text}");
            let written: Value = serde_json::from_str(&text).expect("it is JSON");
            types.insert(written["type"].as_str().map(str::to_owned));
        }
    }
    let all = Event::TYPES.map(|word| Some(word.to_owned()));
    assert_eq!(types, all.into());
}

/// The updates that a client is told while a turn runs are those that its record gives, but for what only the running
/// turn can tell.
#[test]
fn a_turn_that_runs_and_its_record_give_equal_updates() {
    for (name, input) in all() {
        // A resume tells its own client of all that is open, and what a log did not take cannot be read.
        let apart = ["resume", "crash", "new", "append-failed"];
        let is_apart = |line: &str| apart.iter().any(|word| line.starts_with(word));
        if input.lines().any(is_apart) {
            continue;
        }
        let mut opened = BTreeSet::new();
        let played = Play::of(&input);
        let told = played.effects.iter().filter_map(|effect| match effect {
            // After an answer that does not fit, a prompt is shown again.
            Effect::Tell(Update::Question(QuestionUpdate::Opened { prompt_id, .. }))
                if !opened.insert(prompt_id) =>
            {
                None
            }
            Effect::Tell(update) => lasting(update),
            _ => None,
        });
        let told: Vec<Update> = told.collect();
        let mut history = TurnHistory::default();
        let mut recorded = Vec::new();
        for event in &played.events {
            history.apply(event);
            let updates = updates(event, &history, &played.world);
            recorded.extend(updates.iter().filter_map(lasting));
        }
        assert_eq!(told, recorded, "{name}");
    }
}

/// An update without what is told of a running turn alone.
fn lasting(update: &Update) -> Option<Update> {
    match update {
        Update::Text { .. }
        | Update::Reasoning { .. }
        | Update::Retry { .. }
        | Update::Inquiry {
            status: InquiryStatus::Asked,
            ..
        }
        | Update::Summary {
            status: SummaryStatus::Asked | SummaryStatus::Failed | SummaryStatus::Cancelled,
            ..
        } => None,
        update => Some(update.clone()),
    }
}

fn check(file: &str) {
    let mut text = String::new();
    for (name, input) in sections(file) {
        let played = Play::of(&input);
        text += &format!("== {name}\n{input}\n---\n{}\n", played.out);
    }
    expect_file![folder().join(format!("{file}.txt"))].assert_eq(&text);
}

macro_rules! conversations {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            check(stringify!($name));
        })*

        #[test]
        fn no_file_is_left_out() {
            let listed: &[&str] = &[$(stringify!($name)),*];
            assert_eq!(names(), listed);
        }
    };
}

conversations! {
    answers
    cancel
    clearing
    clients
    compaction
    cuts
    force
    inquiries
    limits
    live
    park
    permission
    questions
    refusals
    repeats
    responses
    resume
    retries
    schema
    steer
    tools
    types
}

#[test]
fn any_moment_may_be_the_last_and_the_turn_still_ends() {
    for file in names() {
        for (name, input) in sections(&file) {
            let played = Play::of(&input);
            let turn = played
                .events
                .iter()
                .take_while(|event| !matches!(event, Event::TurnEnd { .. }));
            for count in 2..=turn.count() {
                let ends = std::panic::catch_unwind(|| {
                    Play::cut(&played, count).cancelled();
                    Play::cut(&played, count).closed()
                });
                assert!(ends.is_ok(), "{file}, {name}, cut after {count} events");
            }
        }
    }
}

#[test]
fn two_hundred_and_fifty_six_calls_are_looked_at() {
    let calls: Vec<_> = (0..257)
        .map(|n| format!("c{n} read {{\"n\":{n}}}"))
        .collect();
    let play = Play::of(&format!("tool read\ndo {}", calls.join(" & ")));
    assert_eq!(play.result("c255"), None);
    let told = ("error", "Too many calls in one message; not run.");
    assert_eq!(play.result("c256"), Some(told));
}
