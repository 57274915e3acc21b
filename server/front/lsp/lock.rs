//! Locks that nobody can leave broken.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a mutex whose value is whole at every moment, so that it does not matter if a holder panicked.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
