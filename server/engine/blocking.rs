//! Blocking work, such as reading files, away from the threads that carry everything.

use std::{io, thread};

use tokio::task::{JoinError, spawn_blocking};

/// The system gives the program no further thread.
#[derive(Debug, thiserror::Error)]
#[error(
    "the system gives this program no thread: {0}; end other programs, or raise the limit of processes (ulimit -u)"
)]
pub struct NoThread(io::Error);

/// Whether a thread can be had now. Work that was begun without would wait for one, and might hold the one that it waits
/// for.
///
/// # Errors
/// None can be had.
pub fn look_for_thread() -> Result<(), NoThread> {
    let thread = thread::Builder::new().spawn(|| {}).map_err(NoThread)?;
    // It does nothing that could panic.
    let _ = thread.join();
    Ok(())
}

/// Runs blocking work on tokio's pool for it. Once begun it runs to its end, also where nobody waits any more.
///
/// # Errors
/// The work's own, or the [`JoinError`] of work that panicked.
pub async fn blocking<T, E>(work: impl FnOnce() -> Result<T, E> + Send + 'static) -> Result<T, E>
where
    T: Send + 'static,
    E: From<JoinError> + Send + 'static,
{
    spawn_blocking(work).await?
}
