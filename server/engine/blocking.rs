//! Runs blocking work, such as reading files, on threads meant for it.

use std::{io, thread};

use tokio::task::{JoinError, spawn_blocking};

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
