//! The write lock: one process at a time, by a lock on a file that is never renamed.

use std::{
    fs::{File, TryLockError},
    io::{self, Read, Seek, Write},
    path::Path,
    thread,
    time::Duration,
};

use aside_base::{
    private, regular,
    system::{
        files::{FileFacts, number},
        locks,
    },
};

use super::record::time_text;

/// Number of retries while only [`is_held`], which takes the lock for an instant, holds it.
const TRIES: usize = 1000;

/// The write lock, until it is dropped or the process ends.
#[derive(Debug)]
pub(super) struct Lock(File);

/// Reason why a lock cannot be taken.
pub(super) enum LockError {
    /// Another process holds it: `process 123 since 2025-…`.
    Held(String),
    /// An I/O error.
    Io(io::Error),
}

impl Lock {
    /// Takes the lock of a folder and notes the holder. Does not wait for another writer.
    pub(super) fn take(folder: &Path, now: Duration) -> Result<Self, LockError> {
        Self::take_between(folder, now, thread::yield_now)
    }

    /// Takes the lock; `pause` is called before each retry while others only check it.
    fn take_between(
        folder: &Path,
        now: Duration,
        mut pause: impl FnMut(),
    ) -> Result<Self, LockError> {
        let path = folder.join("lock");
        let mut file = private::lock_file(&path).map_err(LockError::Io)?;
        let mut tries = 0;
        while !is_taken(locks::try_lock(&file)).map_err(LockError::Io)? {
            // A shared lock is possible beside checks, but not beside a writer. It is released at once, because it would
            // block the exclusive lock of others.
            let only_looks = is_taken(locks::try_lock_shared(&file)).map_err(LockError::Io)?;
            locks::unlock(&file);
            if !only_looks || tries == TRIES {
                return Err(LockError::Held(holder(&mut file)));
            }
            tries += 1;
            pause();
        }
        let lock = Self(file);
        lock.sign(&path, now).map_err(LockError::Io)?;
        Ok(lock)
    }

    fn sign(&self, path: &Path, now: Duration) -> io::Result<()> {
        // The folder may have been deleted between opening and locking; the lock protects nothing then.
        if number(&FileFacts::at(path)?) != number(&FileFacts::of(&self.0)?) {
            return Err(io::ErrorKind::NotFound.into());
        }
        let text = format!("process {} since {}\n", std::process::id(), time_text(now));
        // The lock is valid without the note, so that a conversation can be deleted on a full disk.
        let _ = self
            .0
            .set_len(0)
            .and_then(|()| (&self.0).write_all(text.as_bytes()));
        Ok(())
    }
}

impl Drop for Lock {
    /// Empties the file, which tells a list that no holder needs to be checked.
    fn drop(&mut self) {
        let _ = self.0.set_len(0);
        locks::unlock(&self.0);
    }
}

/// Whether a process holds the lock of a folder.
pub(super) fn is_held(folder: &Path) -> bool {
    let Ok(file) = regular::open(&folder.join("lock")) else {
        return false;
    };
    let signed = file.metadata().is_ok_and(|about| about.len() > 0);
    // Only after a crash does the file have a note while the lock is free, so this check takes it for an instant.
    let is_free = || {
        let taken = is_taken(locks::try_lock_shared(&file)).unwrap_or(false);
        locks::unlock(&file);
        taken
    };
    signed && !is_free()
}

fn is_taken(tried: Result<(), TryLockError>) -> io::Result<bool> {
    match tried {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
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

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::from_secs(1);

    #[test]
    fn a_look_at_the_lock_keeps_nobody_from_taking_it() {
        let folder = tempfile::tempdir().unwrap();
        let look = File::create(folder.path().join("lock")).unwrap();
        assert!(is_taken(locks::try_lock_shared(&look)).unwrap());
        let mut pauses = 0;
        let taken = Lock::take_between(folder.path(), NOW, || {
            pauses += 1;
            if pauses == 3 {
                locks::unlock(&look);
            }
        });
        assert!(taken.is_ok());
        assert_eq!(pauses, 3);
        assert!(is_held(folder.path()));
    }

    #[test]
    fn a_lock_that_is_let_go_is_free_whoever_has_a_copy_of_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let Ok(first) = Lock::take(folder.path(), NOW) else {
            panic!("the lock is free");
        };
        let _copy = first.0.try_clone().unwrap();
        drop(first);
        let again = Lock::take_between(folder.path(), NOW, || panic!("it waits"));
        assert!(again.is_ok());
    }

    #[test]
    fn a_writer_is_not_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let Ok(_first) = Lock::take(folder.path(), NOW) else {
            panic!("the lock is free");
        };
        let second = Lock::take_between(folder.path(), NOW, || panic!("it waits"));
        let Err(LockError::Held(holder)) = second else {
            panic!("two have the lock");
        };
        assert_eq!(
            holder,
            format!(
                "process {} since 1970-01-01T00:00:01.000Z",
                std::process::id()
            )
        );
    }

    #[test]
    fn a_look_that_does_not_end_is_given_up_on() {
        let folder = tempfile::tempdir().unwrap();
        let look = File::create(folder.path().join("lock")).unwrap();
        assert!(is_taken(locks::try_lock_shared(&look)).unwrap());
        let mut pauses = 0;
        let taken = Lock::take_between(folder.path(), NOW, || pauses += 1);
        assert!(matches!(taken, Err(LockError::Held(_))));
        assert_eq!(pauses, TRIES);
    }
}
