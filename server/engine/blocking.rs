//! Runs blocking work, such as reading files, on threads meant for it.

use std::{io, os::unix::net::UnixStream, thread};

use tokio::task::{JoinError, spawn_blocking};

/// Descriptors that an event loop takes as it starts, and some more.
const LOOP_DESCRIPTORS: usize = 8;

/// Error: the system cannot start another thread.
#[derive(Debug, thiserror::Error)]
#[error("cannot start a thread: {0}; end other programs, or raise the process limit (ulimit -u)")]
pub struct NoThread(io::Error);

/// Tests whether a thread can be started now. Without one, work would wait for a thread, and might hold the one that it
/// waits for.
///
/// # Errors
/// Fails if no thread can be started.
pub fn look_for_thread() -> Result<(), NoThread> {
    let thread = thread::Builder::new().spawn(|| {}).map_err(NoThread)?;
    // The thread does nothing that could panic.
    let _ = thread.join();
    Ok(())
}

/// Looks whether there are descriptors for an event loop, which panics where it gets some and not all.
///
/// # Errors
/// What the system says where it gives none.
pub fn look_for_descriptors() -> io::Result<()> {
    let pairs: io::Result<Vec<_>> = (0..LOOP_DESCRIPTORS / 2)
        .map(|_| UnixStream::pair())
        .collect();
    pairs.map(drop)
}

/// Runs blocking work on tokio's blocking pool. Once started it runs to its end, even if nobody waits any more.
///
/// # Errors
/// Errors of the work, or the [`JoinError`] of work that panicked.
pub async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<JoinError> + Send + 'static,
{
    spawn_blocking(work).await?
}
