//! `meta.json`: a cache of a conversation's log for the list.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek, SeekFrom},
    path::Path,
    time::{Duration, SystemTime},
};

use aside_base::{
    private, regular,
    system::files::{FileFacts, read_exact_at},
    visible::without_hidden,
};
use aside_turn::{Event, history::Standing, response::Usage};
use serde::{Deserialize, Serialize};

use super::{
    codec::{self, LineHead},
    lines::EVENTS,
    record::{Entry, Record, time_of},
};

/// Entries that are no events of a turn and change nothing in the list.
const NO_EVENTS: [&str; 3] = ["conversation", "changed", "edit"];

/// Events that change nothing in the list but that their turn goes on.
const PLAIN: [&str; 7] = [
    "text",
    "reasoning",
    "tool_call",
    "request_sent",
    "call_started",
    "directive",
    "steer",
];

/// Maximum size of a `meta.json` in bytes; a longer file is ignored.
const META_BYTES: u64 = 1024 * 1024;

/// Summary of a conversation, cached outside of its log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Version of the cache; another one is rebuilt.
    v: u32,
    /// Number of bytes of the log that this covers.
    length: u64,
    /// Title: the first line of the first message, until renamed; empty before.
    pub title: String,
    renamed: bool,
    /// Time of the first event, since the Unix epoch.
    pub created: Duration,
    /// Time of the last event.
    pub updated: Duration,
    /// Number of turns.
    pub turns: u32,
    /// Tokens of all turns, their inquiries included.
    pub usage: Usage,
    /// Id of the last turn.
    pub turn: Option<String>,
    /// State of the last turn.
    pub standing: Standing,
}

const VERSION: u32 = 2;

/// Maximum length in characters of a title from the first message.
const TITLE: usize = 200;

/// The current summary of the conversation in a folder. The cost depends on the growth of the log since last time.
///
/// # Errors
/// Fails if there is no log or it cannot be read. A cache that cannot be written is not an error.
pub fn read(folder: &Path) -> io::Result<Meta> {
    let read = read_since(folder, None)?;
    if read.is_news {
        read.meta.keep(folder);
    }
    Ok(read.meta.dated(&read.log))
}

/// A summary that was just read.
pub(super) struct ReadMeta {
    pub(super) meta: Meta,
    /// Metadata of the log.
    pub(super) log: FileFacts,
    /// Whether it is newer than both caches.
    pub(super) is_news: bool,
}

/// Updates a known summary, or the conversation's own cache, from the log. Writes nothing.
pub(super) fn read_since(folder: &Path, known: Option<Meta>) -> io::Result<ReadMeta> {
    let log = regular::open(&folder.join(EVENTS))?;
    let about = FileFacts::of(&log)?;
    let known = known.or_else(|| load(folder));
    let known = known.filter(|meta| meta.ends_at_a_line(&log, about.len()));
    let mut meta = known.clone().unwrap_or_else(|| Meta {
        v: VERSION,
        ..Meta::default()
    });
    if meta.length < about.len() {
        meta.catch_up(log)?;
    }
    Ok(ReadMeta {
        is_news: known.as_ref() != Some(&meta),
        meta,
        log: about,
    })
}

impl Meta {
    /// Uses the time of the file if nothing was recorded yet.
    pub(super) fn dated(self, log: &FileFacts) -> Self {
        if !self.created.is_zero() {
            return self;
        }
        let changed = log.modified().ok();
        let changed = changed.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok());
        let changed = changed.unwrap_or_default();
        Self {
            created: changed,
            updated: changed,
            ..self
        }
    }

    /// Writes the conversation's own cache. A failure is ignored, because the list works without it.
    pub(super) fn keep(&self, folder: &Path) {
        if !self.created.is_zero() {
            let _ = self.save(folder);
        }
    }

    fn ends_at_a_line(&self, log: &File, length: u64) -> bool {
        let mut last = [0];
        self.v == VERSION
            && self.length <= length
            && (self.length == 0
                || read_exact_at(log, &mut last, self.length - 1).is_ok_and(|()| last == *b"\n"))
    }

    fn catch_up(&mut self, mut log: File) -> io::Result<()> {
        log.seek(SeekFrom::Start(self.length))?;
        let (mut reader, mut line) = (BufReader::new(log), Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.length += line.len() as u64;
            line.pop();
            let is_taken = codec::head(&line).is_some_and(|head| self.take_head(&head));
            // Faults are reported when the conversation is read, not when it is listed.
            if !is_taken && let Ok(record) = codec::decode(&line) {
                self.take(&record);
            }
            line.clear();
        }
        Ok(())
    }

    /// Takes a line of which only the head counts here. Returns false for one that has to be decoded.
    fn take_head(&mut self, head: &LineHead<'_>) -> bool {
        let is_event = !NO_EVENTS.contains(&head.kind);
        let is_plain = match head.kind {
            "tool_result" => self.standing.open.is_empty(),
            "user_message" => !self.title.is_empty(),
            kind => !is_event || PLAIN.contains(&kind),
        };
        let Some(time) = time_of(head.time).filter(|_| is_plain) else {
            return false;
        };
        self.note(time, head.turn, false);
        if is_event && head.turn == self.turn.as_deref() {
            // Each of them changes as much as this one does.
            self.standing.apply(&Event::RequestSent { step: 0 });
        }
        true
    }

    fn note(&mut self, time: Duration, turn: Option<&str>, starts: bool) {
        if self.created.is_zero() {
            self.created = time;
        }
        self.updated = self.updated.max(time);
        if let (Some(new), false) = (turn, self.turn.as_deref() == turn) {
            // A late event of an earlier turn starts nothing.
            if starts || self.turn.is_none() {
                self.turns += 1;
                self.turn = Some(new.to_owned());
                self.standing = Standing::default();
            }
        }
    }

    fn take(&mut self, record: &Record) {
        let starts = matches!(record.entry, Entry::TurnStart { .. });
        self.note(record.time, record.turn.as_deref(), starts);
        match (&record.entry, record.entry.event()) {
            (Entry::Renamed { title }, _) => {
                self.title.clone_from(title);
                self.renamed = true;
            }
            (_, Some(Event::UserMessage { text, .. })) if self.title.is_empty() => {
                self.title = first_line(text);
            }
            _ => {}
        }
        if let Some(usage) = record.entry.event().and_then(Event::usage) {
            self.usage.count(usage);
        }
        match record.entry.event() {
            Some(event) if record.turn == self.turn => self.standing.apply(event),
            _ => {}
        }
    }

    fn save(&self, folder: &Path) -> io::Result<()> {
        private::replace_cache(&folder.join("meta.json"), &serde_json::to_vec(self)?)
    }
}

fn load(folder: &Path) -> Option<Meta> {
    serde_json::from_slice(&regular::read(&folder.join("meta.json"), META_BYTES).ok()?).ok()
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    without_hidden(line).chars().take(TITLE).collect()
}
