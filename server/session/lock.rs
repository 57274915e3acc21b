//! Who may write: one process at a time, by a `flock` on a file that is never renamed.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Read, Seek, Write},
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};

use super::record::time_text;

/// Longer than [`is_held`] takes for its look, which may be mistaken for a holder.
const LOOK: Duration = Duration::from_millis(10);

/// The right to write, until it is dropped or the process ends, however that ends.
#[derive(Debug)]
pub(super) struct Lock(File);

/// Why there is no lock.
pub(super) enum Refused {
    /// Another holds it: `process 123 since 2025-…`.
    Held(String),
    /// It cannot be had at all.
    Io(io::Error),
}

impl Lock {
    /// Takes the lock of a folder and writes down who has it. Waits for nobody.
    pub(super) fn take(folder: &Path, now: Duration) -> Result<Self, Refused> {
        let path = folder.join("lock");
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&path)
            .map_err(Refused::Io)?;
        if !try_lock(&file).map_err(Refused::Io)? {
            thread::sleep(LOOK);
            if !try_lock(&file).map_err(Refused::Io)? {
                return Err(Refused::Held(holder(&mut file)));
            }
        }
        let lock = Self(file);
        lock.sign(&path, now).map_err(Refused::Io)?;
        Ok(lock)
    }

    fn sign(&self, path: &Path, now: Duration) -> io::Result<()> {
        // The folder may have been deleted between opening and locking; its lock is nobody's then.
        if fs::metadata(path)?.ino() != self.0.metadata()?.ino() {
            return Err(io::ErrorKind::NotFound.into());
        }
        let text = format!("process {} since {}\n", std::process::id(), time_text(now));
        // The lock holds unsigned, too: on a full disk a conversation can still be deleted.
        let _ = self
            .0
            .set_len(0)
            .and_then(|()| (&self.0).write_all(text.as_bytes()));
        Ok(())
    }
}

impl Drop for Lock {
    /// An empty lock file tells those who list that nobody needs to be looked for.
    fn drop(&mut self) {
        let _ = self.0.set_len(0);
    }
}

/// Whether some process holds the lock of a folder.
pub(super) fn is_held(folder: &Path) -> bool {
    let Ok(file) = File::open(folder.join("lock")) else {
        return false;
    };
    let signed = file.metadata().is_ok_and(|about| about.len() > 0);
    // Only after a crash is the file signed and the lock free, so that this look can take it for a moment.
    signed && flock(&file, FlockOperation::NonBlockingLockShared).is_err()
}

fn try_lock(file: &File) -> io::Result<bool> {
    match rustix::io::retry_on_intr(|| flock(file, FlockOperation::NonBlockingLockExclusive)) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

fn holder(file: &mut File) -> String {
    let mut text = String::new();
    let read = file
        .rewind()
        .and_then(|()| file.take(200).read_to_string(&mut text));
    match (read, text.trim()) {
        (Err(_), _) | (_, "") => "another process".into(),
        (_, text) => text.into(),
    }
}
