//! What the list shows of a conversation: a cache of its log, in `meta.json`.

use std::{
    fs::File,
    io::{self, BufRead, BufReader, Seek, SeekFrom, Write},
    os::unix::fs::FileExt,
    path::Path,
    time::{Duration, SystemTime},
};

use serde::{Deserialize, Serialize};

use super::{
    codec,
    lines::EVENTS,
    record::{Entry, Record},
};
use crate::{
    regular,
    turn::{Event, history::Standing},
    visible::without_hidden,
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
    let log = regular::open(&folder.join(EVENTS))?;
    let about = log.metadata()?;
    let cached = load(folder).filter(|meta| meta.ends_at_a_line(&log, about.len()));
    let mut meta = cached.clone().unwrap_or_else(|| Meta {
        v: VERSION,
        ..Meta::default()
    });
    if meta.length < about.len() {
        meta.catch_up(log)?;
    }
    if meta.created.is_zero() {
        // Nothing was recorded yet, so the file itself has to say.
        let changed = about
            .modified()?
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap_or_default();
        return Ok(Meta {
            created: changed,
            updated: changed,
            ..meta
        });
    }
    if cached.as_ref() != Some(&meta) {
        // Who may not write may still list.
        let _ = meta.save(folder);
    }
    Ok(meta)
}

impl Meta {
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
            if matches!(record.entry, Entry::TurnStart(_)) || self.turn.is_none() {
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
