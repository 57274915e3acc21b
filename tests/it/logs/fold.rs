//! What must hold of a turn's history holds of each prefix of the logs, those with damaged lines included. What is read of
//! a part of a log is what the whole of it says.

use std::time::Duration;

use aside_session::{
    codec, lines,
    page::read_page,
    replay::{self, conversation::ConversationFold, outline::outline},
};
use aside_turn::{
    record::{DirectiveKind, Event},
    response::{Finish, Usage},
};
use fastrand::Rng;

use super::invariants;

/// Logs with summaries that are made up.
const MADE_UP: u64 = 200;

#[test]
fn what_must_hold_of_a_history_holds_of_each_prefix_of_the_logs() {
    let (mut prefixes, mut prompts) = (0, 0);
    for log in super::all() {
        let folder = tempfile::tempdir().unwrap();
        for count in 1..=log.lines.len() {
            let path = folder.path().join(lines::EVENTS);
            std::fs::write(path, log.lines[..count].concat()).unwrap();
            let read = lines::read_all(folder.path()).unwrap();
            // What came before the last turn was checked with the prefix that it was the last of.
            for turn in replay::turns(&read.records).iter().rev().take(1) {
                let name = format!("{}, {count} lines", log.name());
                prompts += invariants::check(&name, &turn.events);
                prefixes += 1;
            }
        }
    }
    assert!(prefixes > 600, "only {prefixes} prefixes");
    assert!(prompts > 100, "only {prompts} open prompts were looked at");
}

#[test]
fn what_is_read_of_the_heads_of_lines_is_what_the_whole_log_says() {
    let (mut prefixes, mut outlined) = (0, 0);
    for log in super::all() {
        let folder = tempfile::tempdir().unwrap();
        for count in 1..=log.lines.len() {
            let text = log.lines[..count].concat();
            std::fs::write(folder.path().join(lines::EVENTS), &text).unwrap();
            let read = lines::read_all(folder.path()).unwrap();
            let turns = replay::turns(&read.records);
            let page = read_page(folder.path(), None, usize::MAX).unwrap().unwrap();
            assert_eq!((page.turns, page.more), (turns, false), "{}", log.name());
            prefixes += 1;
            let Some(outline) = outline(folder.path(), text.len() as u64).unwrap() else {
                continue;
            };
            assert_eq!(read.faults, [], "{}", log.name());
            let fold: ConversationFold = read.records.into_iter().collect();
            let folded = fold.end();
            let name = format!("{}, {count} lines", log.name());
            assert_eq!(outline.frozen, folded.frozen, "{name}");
            assert_eq!(outline.learned, folded.learned, "{name}");
            assert_eq!(outline.turns, folded.turns, "{name}");
            assert_eq!(&outline.fullness, folded.transcript.fullness(), "{name}");
            assert_eq!(outline.asked_at, folded.asked_at, "{name}");
            assert_eq!(outline.last, folded.last, "{name}");
            outlined += 1;
        }
    }
    assert!(prefixes > 600, "only {prefixes} prefixes");
    assert!(
        outlined > 500,
        "only {outlined} of {prefixes} prefixes are undamaged"
    );
}

#[test]
fn what_waits_for_a_response_is_counted_as_in_the_whole_log() {
    for seed in 0..MADE_UP {
        let (mut random, mut text, mut turn) = (Rng::with_seed(seed), Vec::new(), 0);
        let (mut last, mut is_asked) = (None, false);
        let folder = tempfile::tempdir().unwrap();
        for seq in 1..=random.u64(2..40) {
            let event = match last {
                None => Event::TurnStart,
                Some(Event::TurnStart) => message(&mut random),
                _ => any_event(&mut random, is_asked),
            };
            turn += u32::from(event == Event::TurnStart);
            match event {
                Event::RequestSent { .. } => is_asked = true,
                Event::ResponseEnd { .. } | Event::TurnStart => is_asked = false,
                _ => {}
            }
            last = Some(event.clone());
            let (time, id) = (Duration::from_secs(seq), format!("t{turn}"));
            let line = codec::encode(seq, time, Some(&id), &event.clone().into()).unwrap();
            text.extend(line);
            std::fs::write(folder.path().join(lines::EVENTS), &text).unwrap();
            let outline = outline(folder.path(), text.len() as u64).unwrap().unwrap();
            let read = lines::read_all(folder.path()).unwrap();
            let folded = read.records.into_iter().collect::<ConversationFold>().end();
            let name = format!("seed {seed}, line {seq}: {event:?}");
            assert_eq!(&outline.fullness, folded.transcript.fullness(), "{name}");
        }
    }
}

fn message(random: &mut Rng) -> Event {
    Event::UserMessage {
        text: "x".repeat(random.usize(1..90)),
        attachments: vec![],
    }
}

/// An event that changes how full a conversation is. Turns are cut off, and messages come in between.
fn any_event(random: &mut Rng, is_asked: bool) -> Event {
    let text = "x".repeat(random.usize(1..90));
    match random.u8(..9) {
        0 => Event::TurnStart,
        1 | 2 => Event::Steer { text },
        3 => Event::Directive {
            kind: DirectiveKind::Other {
                kind: String::new(),
            },
            text,
        },
        4 => Event::Compacted {
            number: random.u32(1..4),
            asked: false,
            summary: text,
            native: None,
            ledger: String::new(),
            before: random.u64(..200),
            usage: Usage::default(),
        },
        5.. if is_asked => Event::ResponseEnd {
            finish: Some(Finish::Stop),
            usage: Usage {
                input: random.u64(..2) * random.u64(1..200),
                output: random.u64(..2) * random.u64(..50),
                ..Usage::default()
            },
        },
        _ => Event::RequestSent { step: 1 },
    }
}
