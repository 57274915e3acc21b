//! The lock of the programs that run inside, shared by all Asides whose workspaces may lie in one another.
//!
//! Each program has the lock together with others while it runs. Where walls cannot be built beside the others, because
//! one of them exchanges what the walls are made of, the lock is taken alone until the walls stand. So others are only
//! kept out of the way: what is mounted is looked at in any case, also where there is no lock. An MCP server that starts
//! from what a program inside can write takes it alone until it answers.

use std::{
    fs::{File, TryLockError},
    io,
    path::Path,
    time::Duration,
};

use aside_base::{
    private,
    system::{
        files::{FileFacts, file_system},
        locks,
    },
};
use tokio::time::{Instant, sleep};

/// Folder of the locks in the state directory.
const FOLDER: &str = "inside";
/// Number of locks. Workspaces that share one wait for each other, which does no harm.
const LOCKS: u64 = 64;
/// Time between two attempts.
const STEP: Duration = Duration::from_millis(10);

/// The lock as one program has it, until this is dropped.
#[derive(Debug)]
pub struct InsideLock(File);

/// Who else may have the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockShare {
    /// Programs that run.
    Others,
    /// Nobody.
    Nobody,
}

impl InsideLock {
    /// Opens the lock of a workspace in the state directory: that of its file system, as a folder above or below may be a
    /// workspace too.
    ///
    /// # Errors
    /// Fails if the state directory cannot be written.
    pub(crate) fn open(state: &Path, root: &Path) -> io::Result<File> {
        let folder = state.join(FOLDER);
        private::make_folder(&folder)?;
        let lock = file_system(&FileFacts::at(root)?) % LOCKS;
        private::lock_file(&folder.join(format!("{lock:02}.lock")))
    }

    /// Takes a lock. None where that cannot be done in this time.
    pub(crate) async fn take(file: File, share: LockShare, time: Duration) -> Option<Self> {
        let until = Instant::now() + time;
        loop {
            let tried = match share {
                LockShare::Others => locks::try_lock_shared(&file),
                LockShare::Nobody => locks::try_lock(&file),
            };
            match tried {
                Ok(()) => return Some(Self(file)),
                Err(TryLockError::WouldBlock) if Instant::now() < until => sleep(STEP).await,
                Err(_) => return None,
            }
        }
    }

    /// Takes the lock of a workspace alone, so that no program runs inside until it is dropped. None where that cannot be
    /// done in this time.
    pub async fn alone(state: &Path, root: &Path, time: Duration) -> Option<Self> {
        let (state, root) = (state.to_owned(), root.to_owned());
        let opened = tokio::task::spawn_blocking(move || Self::open(&state, &root));
        Self::take(opened.await.ok()?.ok()?, LockShare::Nobody, time).await
    }

    /// Lets others have the lock too.
    pub(crate) fn share(&self) {
        // Where somebody else was quicker, the lock is lost, and with it nothing but good manners.
        let _ = locks::share(&self.0);
    }
}

impl Drop for InsideLock {
    fn drop(&mut self) {
        locks::unlock(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    const SOON: Duration = Duration::ZERO;

    #[tokio::test]
    async fn whoever_builds_alone_waits_for_the_others_and_lets_them_in_again() {
        let (state, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let below = root.path().join("below");
        fs::create_dir(&below).unwrap();
        let take_in = async |root: &Path, share, time| {
            let file = InsideLock::open(state.path(), root).unwrap();
            InsideLock::take(file, share, time).await
        };
        let take = async |share, time| take_in(root.path(), share, time).await;
        let first = take_in(&below, LockShare::Others, SOON).await.unwrap();
        let second = take(LockShare::Others, SOON).await.unwrap();
        assert!(take(LockShare::Nobody, SOON).await.is_none());
        let mut waiting = Box::pin(take(LockShare::Nobody, Duration::from_secs(60)));
        assert!(futures_util::poll!(&mut waiting).is_pending());
        drop((first, second));
        let alone = waiting.await.unwrap();
        assert!(take(LockShare::Others, SOON).await.is_none());
        alone.share();
        let other = take(LockShare::Others, SOON).await.unwrap();
        drop(alone);
        let alone = async || InsideLock::alone(state.path(), root.path(), SOON).await;
        assert!(alone().await.is_none());
        drop(other);
        assert!(alone().await.is_some());
    }
}
