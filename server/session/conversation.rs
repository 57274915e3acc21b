//! A conversation in a store: its place and its activity.

use std::{
    io::{self, BufRead, BufReader},
    path::{Path, PathBuf},
    time::Duration,
};

use aside_base::{regular, under_way::FilesUnderWay};
use aside_turn::{record::Outcome, response::Usage};

use super::{
    approvals::Approvals,
    blobs::Blobs,
    codec,
    lines::{self, EVENTS, LogLines, UnreadableLine},
    lock,
    log::{Log, OpenError},
    meta,
    page::{ConversationPage, read_page},
    record::{Entry, Record},
    replay::{
        conversation::ConversationFold,
        outline::{ConversationOutline, outline},
    },
    store_error::StoreError,
};

/// A conversation. Creating this takes no lock and reads nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversation {
    pub(super) id: String,
    pub(super) folder: PathBuf,
}

/// A conversation as the list shows it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConversationSummary {
    /// The conversation's id.
    pub id: String,
    /// Title: the first line of the first message, until renamed; empty before.
    pub title: String,
    /// Time of creation, since the Unix epoch.
    pub created: Duration,
    /// Time of the last record, since the Unix epoch.
    pub updated: Duration,
    /// Number of turns.
    pub turns: u32,
    /// Tokens of all turns, their inquiries included.
    pub usage: Usage,
    /// Whether a turn runs, waits for a person or can be resumed.
    pub status: ConversationActivity,
    /// Number of open prompts of the last turn.
    pub prompts: usize,
}

/// Current activity of a conversation, from its log and its lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConversationActivity {
    /// No turn runs, and none can be resumed.
    Idle,
    /// A turn runs, in this process or another.
    Running,
    /// A turn runs and waits for a person.
    Waiting,
    /// Interrupted: the last turn can be resumed.
    Interrupted,
}

/// Extent of a fork.
#[derive(Clone, Copy, Debug)]
pub enum ForkExtent<'a> {
    /// The whole conversation as it is now.
    Now,
    /// All turns up to and including the one with this id.
    Turn(&'a str),
    /// The first turns, by their number; at least one.
    Turns(u32),
}

impl Conversation {
    /// The conversation's id, unique in its store.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The folder that holds its log, its blobs and its lock.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The store of its large outputs and attachments.
    #[must_use]
    pub fn blobs(&self) -> Blobs {
        Blobs::of(&self.folder)
    }

    /// Notes about files that are being written into the workspace.
    #[must_use]
    pub fn under_way(&self) -> FilesUnderWay {
        FilesUnderWay::of(self.folder.parent().unwrap_or(&self.folder))
    }

    /// Opens the log for writing.
    ///
    /// # Errors
    /// [`OpenError::Held`] if another process has it open.
    pub fn log(&self, now: Duration) -> Result<Log, OpenError> {
        Log::open(&self.folder, now)
    }

    /// Reads the whole log; see [`lines::read_all`].
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read_all(&self) -> io::Result<LogLines> {
        lines::read_all(&self.folder)
    }

    /// Takes each record of the log's first `length` bytes into something else; see [`lines::read_into`].
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read_into<T: Default>(
        &self,
        length: u64,
        take: impl Fn(&mut T, Record),
    ) -> io::Result<(T, Vec<UnreadableLine>)> {
        lines::read_into(&self.folder, length, take)
    }

    /// Reads the outline of the log's first `length` bytes; see [`outline`].
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn outline(&self, length: u64) -> io::Result<Option<ConversationOutline>> {
        outline(&self.folder, length)
    }

    /// Reads some of the turns; see [`read_page`].
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read_page(
        &self,
        after: Option<&str>,
        limit: usize,
    ) -> io::Result<Option<ConversationPage>> {
        read_page(&self.folder, after, limit)
    }

    /// Reads the last turn; see [`lines::read_last_turn`].
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn read_last_turn(&self) -> io::Result<LogLines> {
        lines::read_last_turn(&self.folder)
    }

    /// The whole ledger: what people said, answered, allowed and refused, and which files changed. Empty before the first
    /// message. Reads the whole log. `approvals` are the workspace's.
    ///
    /// # Errors
    /// Fails if the file or the approvals cannot be read.
    pub fn ledger(&self, approvals: &Approvals) -> io::Result<String> {
        let fold: ConversationFold = self.read_all()?.records.into_iter().collect();
        let mut transcript = fold.end().transcript;
        let kept = approvals.read()?;
        let ledger = transcript.ledger_mut();
        ledger.revoke(|hash| kept.contains(hash));
        Ok(ledger.text())
    }

    /// Whether the conversation has a turn with this id. Reads lines until one is found.
    ///
    /// # Errors
    /// Fails if the file cannot be read.
    pub fn has_turn(&self, id: &str) -> io::Result<bool> {
        let mut reader = BufReader::new(regular::open(&self.folder.join(EVENTS))?);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 {
            let text = line.strip_suffix(b"\n").unwrap_or(&line);
            // Most lines can be skipped without decoding.
            let may_be = text.windows(id.len()).any(|part| part == id.as_bytes());
            if may_be && codec::decode(text).is_ok_and(|it| it.turn.as_deref() == Some(id)) {
                return Ok(true);
            }
            line.clear();
        }
        Ok(false)
    }

    /// The summary for the list.
    ///
    /// # Errors
    /// Fails if the log cannot be read.
    pub fn listed(&self) -> io::Result<ConversationSummary> {
        Ok(self.summary(meta::read(&self.folder)?))
    }

    /// The summary for the list, from known metadata.
    pub(super) fn summary(&self, meta: meta::Meta) -> ConversationSummary {
        let prompts = meta.standing.open.len();
        let ended = meta.turn.is_none()
            || meta
                .standing
                .outcome
                .is_some_and(|outcome| outcome != Outcome::Interrupted);
        let stopped = meta.standing.outcome == Some(Outcome::Interrupted);
        let status = match prompts {
            // For an ended turn the lock need not be checked.
            _ if ended => ConversationActivity::Idle,
            _ if stopped || !lock::is_held(&self.folder) => ConversationActivity::Interrupted,
            0 => ConversationActivity::Running,
            _ => ConversationActivity::Waiting,
        };
        let id = self.id.clone();
        let meta::Meta {
            title,
            created,
            updated,
            turns,
            usage,
            ..
        } = meta;
        ConversationSummary {
            id,
            title,
            created,
            updated,
            turns,
            usage,
            status,
            prompts,
        }
    }

    pub(super) fn failed(&self) -> impl Fn(io::Error) -> StoreError + use<> {
        let id = self.id.clone();
        move |source| StoreError::Io {
            id: id.clone(),
            source,
        }
    }

    /// The lines of the log within an extent.
    pub(super) fn lines_until(&self, until: ForkExtent) -> Result<Vec<u8>, StoreError> {
        let file = regular::open(&self.folder.join(EVENTS)).map_err(self.failed())?;
        let (mut reader, mut lines) = (BufReader::new(file), Vec::new());
        let (mut turns, mut found) = (0, false);
        loop {
            let start = lines.len();
            let read = reader
                .read_until(b'\n', &mut lines)
                .map_err(self.failed())?;
            if read == 0 || !lines.ends_with(b"\n") {
                lines.truncate(start);
                break;
            }
            let Ok(record) = codec::decode(&lines[start..lines.len() - 1]) else {
                continue;
            };
            if matches!(record.entry, Entry::TurnStart { .. }) {
                if found {
                    lines.truncate(start);
                    break;
                }
                turns += 1;
                found = match until {
                    ForkExtent::Now => false,
                    ForkExtent::Turn(id) => record.turn.as_deref() == Some(id),
                    ForkExtent::Turns(wanted) => turns == wanted,
                };
            }
        }
        let missing = |turn: String| {
            Err(StoreError::NoTurn {
                id: self.id.clone(),
                turn,
            })
        };
        match until {
            ForkExtent::Turn(turn) if !found => missing(turn.to_owned()),
            ForkExtent::Turns(wanted) if !found => missing(wanted.to_string()),
            _ => Ok(lines),
        }
    }
}
