//! Blocking work, such as reading files, away from the threads that carry everything.

use tokio::task::{JoinError, spawn_blocking};

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
