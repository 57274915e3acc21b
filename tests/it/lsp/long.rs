//! A log so long that what was said in it is still being read when its next turn begins: nothing of it is missing then.

use std::{fs, path::PathBuf};

use aside_session::{
    codec,
    record::{Entry, Frozen},
    store::Store,
};
use aside_turn::{
    Event,
    question::{AnswerType, Question, Source},
    record::{CallKey, PromptId, PromptSubject},
    response::{Finish, Usage},
};
use serde_json::json;

use super::client::{Client, answer, nobody, prompts};
use crate::world::TestWorld;

/// Turns before the one that was killed, and the bytes of each.
const TURNS: usize = 100;
const BYTES: usize = 100_000;

/// Each reply needs all turns before it.
const SCRIPT: &str = "
[[reply]]
when = { turn = 101, result = { contains = 'Ada' } }
say = [{ text = 'Fine.' }]
[[reply]]
when = { turn = 102 }
repeat = true
say = [{ text = 'Next.' }]
";

fn said(text: &str, answer: String) -> Vec<Event> {
    vec![
        Event::TurnStart,
        Event::UserMessage {
            text: text.into(),
            attachments: Vec::new(),
        },
        Event::RequestSent { step: 1 },
        Event::Text {
            text: answer,
            opaque: None,
        },
        Event::ResponseEnd {
            finish: Some(Finish::Stop),
            usage: Usage::default(),
        },
    ]
}

/// A turn that was killed while it asked.
fn asking() -> Vec<Event> {
    let (call, pair) = (CallKey(0), "tool_call.ask_user.asks.answer.1".to_owned());
    let mut events = said("Ask", String::new());
    events[3] = Event::ToolCall {
        call,
        id: "asks".into(),
        name: "ask_user".into(),
        arguments: r#"{"question":"Name?"}"#.into(),
        opaque: None,
    };
    events.push(Event::InquiryRequest {
        id: pair.clone(),
        call,
        source: Source::Assistant,
        question: Question::new("answer", "Name?", AnswerType::text()),
        live: false,
        label: None,
    });
    events.push(Event::PromptOpened {
        prompt: PromptId("p1".into()),
        call,
        subject: PromptSubject::Question { inquiry: pair },
    });
    events
}

/// Writes the log of a new conversation; returns its id and where the log is.
fn write(world: &TestWorld) -> (String, PathBuf) {
    let state = world.folder().join("state/aside");
    let store = Store::open(&state, &world.at("")).unwrap();
    let now = std::time::UNIX_EPOCH.elapsed().unwrap();
    let conversation = store.create(None, now).unwrap();
    let mut log = codec::encode(1, now, None, &Entry::Conversation(Frozen::default())).unwrap();
    let mut seq = 1;
    for turn in 0..=TURNS {
        let events = match turn {
            TURNS => asking(),
            turn => {
                let mut events = said(&format!("Turn {turn}"), "word ".repeat(BYTES / 5));
                events.extend(aside_turn::resume::close(
                    aside_turn::history::TurnHistory::of(&events),
                ));
                events
            }
        };
        for event in events {
            seq += 1;
            let id = format!("t{turn}");
            log.extend(codec::encode(seq, now, Some(&id), &event.into()).unwrap());
        }
    }
    let path = conversation.folder().join("events.jsonl");
    fs::write(&path, log).unwrap();
    (conversation.id().to_owned(), path)
}

/// A resume, and a turn behind it in another server. Returns what the first says of the log.
fn goes_on(world: &TestWorld, id: &str) -> Vec<String> {
    let mut client = Client::start(world, SCRIPT, prompts());
    let of = json!({ "conversationId": id });
    let resumed = client.request("aside/turn/resume", of);
    let (updates, end) = client.play(&resumed, |prompt| {
        assert_eq!(prompt["text"], "Name?");
        answer("Ada")
    });
    assert_eq!(end["answer"], "Fine.", "{end}");
    client.crash();
    let mut client = Client::start(world, SCRIPT, prompts());
    let next = client.turn(json!({ "conversationId": id, "message": "Next" }));
    let (_, end) = client.play(&next, nobody);
    assert_eq!(end["answer"], "Next.", "{end}");
    client.leave();
    let texts = updates.iter().filter(|it| it["kind"] == "notice");
    let texts = texts.map(|it| it["text"].as_str().unwrap().to_owned());
    texts.filter(|text| text.contains("'s log")).collect()
}

#[test]
fn a_turn_of_a_long_conversation_goes_on_and_misses_nothing() {
    let world = TestWorld::new();
    let (id, log) = write(&world);
    assert!(log.metadata().unwrap().len() > 8 << 20);
    assert_eq!(goes_on(&world, &id), [] as [String; 0]);
}

#[test]
fn a_long_log_that_is_damaged_amid_is_told_of_and_goes_on() {
    let world = TestWorld::new();
    let (id, path) = write(&world);
    let mut log = fs::read(&path).unwrap();
    let middle = log.len() / 2;
    log[middle] ^= 1;
    fs::write(&path, log).unwrap();
    let said = goes_on(&world, &id);
    let [said] = &said[..] else {
        panic!("{said:#?}")
    };
    assert!(said.contains("does not match its checksum"), "{said}");
}
