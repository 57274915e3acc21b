//! Each log, cut off at any byte: it opens, what was written whole is there, and a next request is one that providers take.
//!
//! Around each end of a line, and at a sample of the other bytes, unless somebody wants them all: `ASIDE_CUTS=all cargo
//! test --test it -- logs::cut --nocapture`. Then a log of 64 KiB with every kind of event is cut off at each byte too, and
//! one of 1 MiB at each line and a byte to either side.

use std::{
    collections::BTreeSet,
    fs,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::Duration,
};

use aside_session::{
    codec,
    lines::{EVENTS, read_all},
    log::Log,
    record::{Entry, Record},
    replay::{closing, conversation::ConversationFold},
};
use aside_turn::{
    Event,
    transcript::{Fork, Item},
};
use tempfile::TempDir;

/// Between bytes at which logs are cut.
const STEP: usize = 211;

/// Cuts that a thread makes in a row.
const ROW: usize = 256;

/// Types of events that a log can have. There is one more, which no program writes yet.
const TYPES: usize = 24;

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

/// A log, and where it is cut off.
struct CutLog {
    name: String,
    bytes: Vec<u8>,
    cuts: Vec<usize>,
}

/// Where one log after another is cut.
struct CutFolder {
    folder: TempDir,
    /// How much of the log was there, whole, when it was last gone on with.
    whole: Option<usize>,
}

impl CutFolder {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            whole: None,
        }
    }

    /// Cuts a log off: it opens with all that was whole, and what was not is set aside.
    fn check(&mut self, log: &CutLog, cut: usize) {
        let (name, bytes) = (&log.name, &log.bytes[..cut]);
        let newline = bytes.iter().rposition(|byte| *byte == b'\n');
        let (whole, torn) = bytes.split_at(newline.map_or(0, |at| at + 1));
        let path = self.folder.path().join(EVENTS);
        fs::write(&path, bytes).unwrap();
        let log = Log::open(self.folder.path(), Duration::ZERO);
        let log = log.unwrap_or_else(|error| panic!("{name} cut at {cut}: {error}"));
        assert_eq!(log.repaired().is_some(), !torn.is_empty(), "{name}, {cut}");
        drop(log);
        assert!(fs::read(&path).unwrap() == whole, "{name} cut at {cut}");
        if !torn.is_empty() {
            let aside = path.with_file_name(format!("events.torn-{}", whole.len()));
            assert!(fs::read(&aside).unwrap() == torn, "{name} cut at {cut}");
            fs::remove_file(aside).unwrap();
        }
        // The same bytes are read in the same way.
        if self.whole != Some(whole.len()) {
            self.goes_on(whole, &format!("{name} cut at {cut}"));
            self.whole = Some(whole.len());
        }
    }

    /// What is left is read, and a next request can be made of it.
    fn goes_on(&self, whole: &[u8], what: &str) {
        let lines = whole.iter().filter(|byte| **byte == b'\n').count();
        let read = read_all(self.folder.path()).unwrap();
        let unreadable = read.faults.len();
        assert!(
            read.records.len() + unreadable >= lines,
            "{what}: a line is lost"
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
        assert_eq!(wrong(&folded.transcript.fork()), None, "{what}");
    }
}

/// Cuts all of them, and returns how often.
fn cut(logs: &[CutLog]) -> usize {
    let rows: Vec<(&CutLog, &[usize])> = logs
        .iter()
        .flat_map(|log| log.cuts.chunks(ROW).map(move |row| (log, row)))
        .collect();
    let next = AtomicUsize::new(0);
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(|| {
                while let Some((log, row)) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut folder = CutFolder::new();
                    row.iter().for_each(|at| folder.check(log, *at));
                }
            });
        }
    });
    logs.iter().map(|log| log.cuts.len()).sum()
}

/// The records of all logs, those of each log as turns of its own.
fn records(round: usize) -> Vec<Vec<Record>> {
    let logs = super::all().into_iter().enumerate();
    let records = logs.map(|(number, log)| {
        let lines = log.lines.iter();
        let records = lines.filter_map(|line| codec::decode(line.strip_suffix(b"\n")?).ok());
        let own = |turn: &str| format!("{turn}r{round}n{number}");
        let renamed = records.map(|mut record| {
            record.turn = record.turn.as_deref().map(own);
            match &mut record.entry {
                Entry::Undone(undone) => undone.undone = own(&undone.undone),
                Entry::Turn(Event::ToolCall { id, .. }) => *id = own(id),
                _ => {}
            }
            record
        });
        renamed.collect()
    });
    records.collect()
}

fn kind(record: &Record) -> String {
    let line = codec::encode(1, Duration::ZERO, None, &record.entry).unwrap();
    super::lines::event(&line).unwrap()["type"].to_string()
}

/// One conversation of so many bytes at the least, with every kind of event that is in any log.
fn long(size: usize) -> Vec<u8> {
    let (mut bytes, mut seq, mut seen) = (Vec::new(), 0, BTreeSet::new());
    for round in 0.. {
        let parts = records(round).into_iter();
        let kinds = |part: &Vec<Record>| part.iter().map(kind).collect::<BTreeSet<_>>();
        let mut parts: Vec<_> = parts.map(|part| (kinds(&part), part)).collect();
        let all: BTreeSet<String> = parts.iter().flat_map(|(kinds, _)| kinds.clone()).collect();
        while !parts.is_empty() && (bytes.len() < size || !all.is_subset(&seen)) {
            // Those with what is in few others come first.
            let news = |at: &usize| parts[*at].0.difference(&seen).count();
            let most = (0..parts.len()).max_by_key(news).unwrap();
            let (kinds, part) = parts.swap_remove(most);
            seen.extend(kinds);
            for record in part {
                // What a first request freezes is large, and stands there once.
                if seq > 0 && matches!(record.entry, Entry::Conversation(_)) {
                    continue;
                }
                seq += 1;
                let turn = record.turn.as_deref();
                bytes.extend(codec::encode(seq, record.time, turn, &record.entry).unwrap());
            }
        }
        if bytes.len() >= size {
            assert_eq!(seen.len(), TYPES, "{seen:?}");
            return bytes;
        }
    }
    bytes
}

/// Bytes around each end of a line.
fn near_ends(bytes: &[u8], far: usize) -> Vec<usize> {
    let ends = bytes.iter().enumerate();
    let ends = ends.filter_map(|(at, byte)| (*byte == b'\n').then_some(at + 1));
    let near = ends.flat_map(|end| end.saturating_sub(far)..=(end + far).min(bytes.len()));
    near.collect::<BTreeSet<_>>().into_iter().collect()
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn a_log_that_is_cut_off_anywhere_opens_and_goes_on() {
    let all = std::env::var_os("ASIDE_CUTS").is_some();
    let kept = super::all().into_iter().map(|log| {
        let (name, bytes) = (log.name().to_string(), log.lines.concat());
        let mut cuts = near_ends(&bytes, 1);
        let step = if all { 1 } else { STEP };
        cuts.extend((0..=bytes.len()).step_by(step));
        cuts.sort_unstable();
        cuts.dedup();
        CutLog { name, bytes, cuts }
    });
    let mut logs: Vec<CutLog> = kept.collect();
    let bytes = long(64 * 1024);
    let step = if all { 1 } else { 10 * STEP };
    logs.push(CutLog {
        name: "64 KiB".to_owned(),
        cuts: (0..=bytes.len()).step_by(step).collect(),
        bytes,
    });
    if all {
        let bytes = long(1024 * 1024);
        logs.push(CutLog {
            name: "1 MiB".to_owned(),
            cuts: near_ends(&bytes, 1),
            bytes,
        });
    }
    for log in logs.iter().rev().take(2) {
        eprintln!(
            "{}: {} bytes, {} cuts",
            log.name,
            log.bytes.len(),
            log.cuts.len()
        );
    }
    let count = cut(&logs);
    eprintln!("{count} cuts: 0 cannot be opened, 0 words lost, 0 requests refused");
}
