//! Locks of files, which end with the process that has them. Whoever reads or writes a file without asking is not kept
//! from it.

use std::{
    fs::{File, TryLockError},
    io,
};

/// Takes a file alone, if nobody has it.
///
/// # Errors
/// If somebody has it, or the system cannot lock it.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Takes a file together with others, if nobody has it alone.
///
/// # Errors
/// As of [`try_lock`].
pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
    file.try_lock_shared()
}

/// Waits until a file can be taken alone, and takes it.
///
/// # Errors
/// If the system cannot lock it.
pub fn lock(file: &File) -> io::Result<()> {
    file.lock()
}

/// Waits until a file can be taken together with others, and takes it.
///
/// # Errors
/// As of [`lock`].
pub fn lock_shared(file: &File) -> io::Result<()> {
    file.lock_shared()
}

/// Lets others join who also take the file together with others.
///
/// # Errors
/// If somebody else was quicker; then it is not taken any more.
pub fn share(file: &File) -> Result<(), TryLockError> {
    file.try_lock_shared()
}

/// Lets a file go. Closing it is not enough: a child process that is started at the same moment may keep a copy of the
/// descriptor, and with it the lock, until it runs its own program.
pub fn unlock(file: &File) {
    let _ = file.unlock();
}
