//! A conversation that is open for writing.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use aside_base::{
    private,
    system::files::{
        FileFacts, append_once, appending, cautious, changed, for_user_alone, is_pipe, names,
        number,
    },
};

use super::{
    codec,
    lines::{Backwards, EVENTS, end_of_last_line},
    lock::{Lock, LockError},
    record::Entry,
};

/// A log that only this process appends to. The cost of opening and appending does not depend on its length.
#[derive(Debug)]
pub struct Log {
    file: Arc<File>,
    /// End of the last complete line.
    length: u64,
    /// The number of the next event.
    next: u64,
    repaired: Option<String>,
    /// The error after which nothing can be appended.
    broken: Option<(io::ErrorKind, String)>,
    _lock: Lock,
}

/// The content of a log, as far as the file tells without being read: another one has another mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogMark {
    file: u64,
    length: u64,
    changed: (i64, i64),
    next: u64,
}

/// Reason why a log cannot be opened for writing.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Another process has it open for writing. Reading is still possible.
    #[error(
        "the conversation is open in {holder}, such as another window; go on there, or wait until its turn is over"
    )]
    Held {
        /// `process 123 since 2025-01-02T03:04:05.678Z`.
        holder: String,
    },
    /// An I/O error.
    #[error("cannot write the conversation in {}: {source}; check that folder and its disk", folder.display())]
    Io {
        /// The conversation's folder.
        folder: PathBuf,
        /// The underlying I/O error.
        source: io::Error,
    },
}

impl Log {
    /// Opens the log in an existing folder, takes its lock, and repairs its tail: a torn last line is moved to a file of
    /// its own, as [`Log::repaired`] reports.
    ///
    /// # Errors
    /// [`OpenError::Held`] if another process, or another `Log` of this one, has it open.
    pub fn open(folder: &Path, now: Duration) -> Result<Self, OpenError> {
        let lock = take_lock(folder, now)?;
        Self::open_locked(folder, lock).map_err(|source| OpenError::Io {
            folder: folder.to_owned(),
            source,
        })
    }

    fn open_locked(folder: &Path, lock: Lock) -> io::Result<Self> {
        let mut options = File::options();
        appending(options.read(true).create(true));
        let events = folder.join(EVENTS);
        if events.is_symlink() && events.is_file() {
            return Err(io::Error::other(
                "its events.jsonl is a link to another file",
            ));
        }
        let file = cautious(for_user_alone(&mut options)).open(events)?;
        let about = FileFacts::of(&file)?;
        if is_pipe(&about) {
            return Err(io::Error::other("its events.jsonl is a pipe"));
        }
        let length = about.len();
        let end = end_of_last_line(&file, length)?;
        let repaired = if end < length {
            Some(set_aside(folder, &file, end)?)
        } else {
            None
        };
        let next = next_number(&file, end)?;
        let file = Arc::new(file);
        Ok(Self {
            file,
            length: end,
            next,
            repaired,
            broken: None,
            _lock: lock,
        })
    }

    /// Appends an event with one `write` and returns its number. The event then survives the end of this process, however
    /// it ends.
    ///
    /// # Errors
    /// Fails if the event could not be written completely. The log then ends where it ended before, and every later call
    /// returns the same error until the log is opened again.
    pub fn append(&mut self, now: Duration, turn: Option<&str>, entry: &Entry) -> io::Result<u64> {
        if let Some((kind, text)) = &self.broken {
            return Err(io::Error::new(*kind, text.clone()));
        }
        let line = codec::encode(self.next, now, turn, entry)?;
        if let Err(error) = self.write(&line) {
            // Cuts the incomplete line off; if that fails too, the next opening moves it aside.
            let _ = self.file.set_len(self.length);
            let text = format!("cannot write the conversation's log: {error}");
            self.broken = Some((error.kind(), text.clone()));
            return Err(io::Error::new(error.kind(), text));
        }
        self.length += line.len() as u64;
        self.next += 1;
        Ok(self.next - 1)
    }

    fn write(&self, line: &[u8]) -> io::Result<()> {
        is_there(&self.file)?;
        let written = append_once(&self.file, line)?;
        if written < line.len() {
            let text = format!(
                "only {written} of {} bytes were taken; the disk may be full",
                line.len()
            );
            return Err(io::Error::new(io::ErrorKind::WriteZero, text));
        }
        Ok(())
    }

    /// Syncs appended events to the disk, so that they survive the end of the machine. Slow: call it at the end of a turn,
    /// on a blocking thread.
    pub fn sync(&self) -> impl FnOnce() -> io::Result<()> + Send + use<> {
        let file = Arc::clone(&self.file);
        move || {
            is_there(&file)?;
            file.sync_data()
        }
    }

    /// The mark of the log as it is now. None where an event could not be written, or the log is gone: what was to be
    /// on record is not.
    #[must_use]
    pub fn mark(&self) -> Option<LogMark> {
        let about = FileFacts::of(&self.file).ok()?;
        let is_whole = self.broken.is_none() && names(&about) > 0 && about.len() == self.length;
        is_whole.then(|| LogMark {
            file: number(&about),
            length: self.length,
            changed: changed(&about),
            next: self.next,
        })
    }

    /// A sentence for the user and the model about the repair at opening.
    #[must_use]
    pub fn repaired(&self) -> Option<&str> {
        self.repaired.as_deref()
    }

    /// The size of the log, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.length
    }

    /// The number of the next event.
    #[must_use]
    pub fn next(&self) -> u64 {
        self.next
    }
}

/// Fails for a file that was deleted: it would take lines that nobody will read.
fn is_there(file: &File) -> io::Result<()> {
    match names(&FileFacts::of(file)?) {
        0 => Err(io::Error::new(
            io::ErrorKind::NotFound,
            "it was deleted while it was open",
        )),
        _ => Ok(()),
    }
}

/// Takes the lock of a conversation without opening its log.
pub(super) fn take_lock(folder: &Path, now: Duration) -> Result<Lock, OpenError> {
    Lock::take(folder, now).map_err(|refused| match refused {
        LockError::Held(holder) => OpenError::Held { holder },
        LockError::Io(source) => OpenError::Io {
            folder: folder.to_owned(),
            source,
        },
    })
}

/// Moves the torn tail to a file beside the log: copied first, then cut, so that no crash loses it.
fn set_aside(folder: &Path, mut file: &File, end: u64) -> io::Result<String> {
    let name = format!("events.torn-{end}");
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    let mut torn = private::open(&folder.join(&name), &mut options)?;
    file.seek(SeekFrom::Start(end))?;
    let bytes = io::copy(&mut file.take(u64::MAX), &mut torn)?;
    file.set_len(end)?;
    Ok(format!(
        "The last line of the conversation's log was cut off; its {bytes} bytes were set aside in {name}."
    ))
}

/// The number after all existing ones. Each unreadable line counts as one. Lines may have been swapped, so the highest
/// number counts, back to the first two lines in their written order.
fn next_number(file: &File, end: u64) -> io::Result<u64> {
    let mut backwards = Backwards::new(file, end);
    let (mut highest, mut unreadable) = (0, 0);
    let mut later = None;
    while let Some(line) = backwards.next_line()? {
        let Ok(record) = codec::decode(&line) else {
            unreadable += u64::from(later.is_none());
            continue;
        };
        highest = highest.max(record.seq);
        if later == Some(record.seq.saturating_add(1)) {
            break;
        }
        later = Some(record.seq);
    }
    Ok(highest + unreadable + 1)
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
