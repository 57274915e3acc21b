//! What the list shows of a conversation: a cache of its log, in `meta.json`.

use std::{
    fs::{File, Metadata},
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
    path::Path,
    time::{Duration, SystemTime},
};

use aside_base::{regular, visible::without_hidden};
use aside_turn::{Event, history::Standing};
use serde::{Deserialize, Serialize};

use super::{
    codec,
    lines::EVENTS,
    record::{Entry, Record},
};

/// Bytes of a `meta.json`, at the most; a longer one is none of ours.
const META_BYTES: u64 = 1024 * 1024;

/// What is known of a conversation without reading its log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Meta {
    /// Of this cache; another one is built anew.
    v: u32,
    /// How far into the log this goes, in bytes.
    length: u64,
    /// The first line of the first prompt, until renamed; empty before.
    pub title: String,
    renamed: bool,
    /// When the first event was recorded, since the Unix epoch.
    pub created: Duration,
    /// When the last one was.
    pub updated: Duration,
    /// How many turns there are.
    pub turns: u32,
    /// The id of the last one.
    pub turn: Option<String>,
    /// How far that one came.
    pub standing: Standing,
}

const VERSION: u32 = 1;

/// Characters of a prompt's first line that make a title.
const TITLE: usize = 200;

/// What the list shows of the conversation in a folder, up to date. Costs what the log grew since last time.
///
/// # Errors
/// Where there is no log, or it cannot be read. A cache that cannot be written is no error.
pub fn read(folder: &Path) -> io::Result<Meta> {
    let read = read_since(folder, None)?;
    if read.is_news {
        read.meta.keep(folder);
    }
    Ok(read.meta.dated(&read.log))
}

/// What was read of a conversation.
pub(super) struct ReadMeta {
    pub(super) meta: Meta,
    /// Of the log that was read.
    pub(super) log: Metadata,
    /// More than what was known of it, or than its own cache says.
    pub(super) is_news: bool,
}

/// Reads what came since this was known of the conversation in a folder; where nothing was, since its own cache. Writes
/// nothing.
pub(super) fn read_since(folder: &Path, known: Option<Meta>) -> io::Result<ReadMeta> {
    let log = regular::open(&folder.join(EVENTS))?;
    let about = log.metadata()?;
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
    /// The same with the time of the file where nothing was recorded yet that has one.
    pub(super) fn dated(self, log: &Metadata) -> Self {
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

    /// Writes the conversation's own cache. Who may not write may still list.
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
                || log
                    .read_exact_at(&mut last, self.length - 1)
                    .is_ok_and(|()| last == *b"\n"))
    }

    fn catch_up(&mut self, mut log: File) -> io::Result<()> {
        log.seek(SeekFrom::Start(self.length))?;
        let (mut reader, mut line) = (BufReader::new(log), Vec::new());
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            self.length += line.len() as u64;
            line.pop();
            // What cannot be read is reported to those who read the conversation, not to those who list it.
            if let Ok(record) = codec::decode(&line) {
                self.take(&record);
            }
            line.clear();
        }
        Ok(())
    }

    fn take(&mut self, record: &Record) {
        if self.created.is_zero() {
            self.created = record.time;
        }
        self.updated = self.updated.max(record.time);
        if let (Some(turn), false) = (&record.turn, self.turn == record.turn) {
            // A late event of an earlier turn starts nothing.
            if matches!(record.entry, Entry::TurnStart { .. }) || self.turn.is_none() {
                self.turns += 1;
                self.turn = Some(turn.clone());
                self.standing = Standing::default();
            }
        }
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
        match record.entry.event() {
            Some(event) if record.turn == self.turn => self.standing.apply(event),
            _ => {}
        }
    }

    fn save(&self, folder: &Path) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.persist(folder.join("meta.json"))?;
        Ok(())
    }
}

fn load(folder: &Path) -> Option<Meta> {
    serde_json::from_slice(&regular::read(&folder.join("meta.json"), META_BYTES).ok()?).ok()
}

fn first_line(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    without_hidden(line).chars().take(TITLE).collect()
}
