//! Each log, cut off at any byte: it opens, what was written whole is there, and a next request is one that providers take.
//!
//! Around each end of a line, and at a sample of the other bytes, unless somebody wants them all: `ASIDE_CUTS=all cargo
//! test --test it -- logs::cut --nocapture`.

use std::{fs, time::Duration};

use aside::{
    session::{
        lines::{EVENTS, read_all},
        log::Log,
        replay::{closing, conversation::ConversationFold},
    },
    turn::{
        Event,
        transcript::{Fork, Item},
    },
};

/// Between bytes at which logs are cut.
const STEP: usize = 211;

/// What is wrong with a conversation, for providers that take nothing else than each call answered in the next message.
fn wrong(fork: &Fork) -> Option<String> {
    let mut links: Vec<_> = fork.newest_first().collect();
    links.reverse();
    if links.first()?.is_of_model() {
        return Some("the model speaks first".to_owned());
    }
    let (mut known, mut open) = (std::collections::HashSet::new(), Vec::new());
    for link in links {
        let answers = link.items.iter().filter_map(|item| match item {
            Item::ToolResult { id, .. } => Some(id),
            _ => None,
        });
        let mut answered: Vec<&String> = answers.collect();
        if link.is_of_model() && !open.is_empty()
            || !link.is_of_model() && {
                answered.sort();
                open.sort();
                answered != open
            }
        {
            return Some(format!("{open:?} is answered by {answered:?}"));
        }
        open.clear();
        for item in &link.items {
            if let Item::ToolCall { id, .. } = item {
                if !known.insert(id) {
                    return Some(format!("{id} is the id of two calls"));
                }
                open.push(id);
            }
        }
    }
    (!open.is_empty()).then(|| format!("{open:?} is not answered"))
}

fn check(bytes: &[u8], cut: usize, name: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join(EVENTS), &bytes[..cut]).unwrap();
    let lines = bytes[..cut].iter().filter(|byte| **byte == b'\n').count();
    let log = Log::open(folder.path(), Duration::ZERO);
    let log = log.unwrap_or_else(|error| panic!("{name} cut at {cut}: {error}"));
    let torn = bytes[..cut].last().is_some_and(|byte| *byte != b'\n');
    assert_eq!(log.repaired().is_some(), torn, "{name} cut at {cut}");
    let read = read_all(folder.path()).unwrap();
    let unreadable = read.faults.len();
    assert!(
        read.records.len() + unreadable >= lines,
        "{name} cut at {cut}: a line is lost"
    );
    let mut folded = read.records.into_iter().collect::<ConversationFold>().end();
    for event in folded.last.iter().flat_map(closing) {
        folded.transcript.push(&event);
    }
    let text = "Next.".to_owned();
    let attachments = Vec::new();
    for event in [
        Event::TurnStart,
        Event::UserMessage { text, attachments },
        Event::RequestSent { step: 1 },
    ] {
        folded.transcript.push(&event);
    }
    let wrong = wrong(&folded.transcript.fork());
    assert_eq!(wrong, None, "{name} cut at {cut}");
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn a_log_that_is_cut_off_anywhere_opens_and_goes_on() {
    let all = std::env::var_os("ASIDE_CUTS").is_some();
    let mut count = 0;
    for log in super::all() {
        let bytes = log.lines.concat();
        let near_end =
            |at: usize| (at.saturating_sub(2)..at + 1).any(|at| bytes.get(at) == Some(&b'\n'));
        let cuts = (0..=bytes.len()).filter(|at| all || at % STEP == 0 || near_end(*at));
        for cut in cuts {
            check(&bytes, cut, &log.name().to_string());
            count += 1;
        }
    }
    eprintln!("{count} cuts, 0 conversations lost");
}
