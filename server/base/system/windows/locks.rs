//! Locks of files, which end with the process that has them. Whoever reads or writes a file without asking is not kept
//! from it: what is locked is a byte far behind the end, for locked bytes can be neither read nor written by others here.

use std::{
    fs::{File, TryLockError},
    io,
};

use windows_sys::Win32::Foundation::ERROR_LOCK_VIOLATION;

use super::calls::{LockWish, lock_byte, unlock_byte};

/// Takes a file alone, if nobody has it.
///
/// # Errors
/// If somebody has it, or the system cannot lock it.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    tried(lock_byte(
        file,
        LockWish {
            alone: true,
            waits: false,
        },
    ))
}

/// Takes a file together with others, if nobody has it alone.
///
/// # Errors
/// As of [`try_lock`].
pub fn try_lock_shared(file: &File) -> Result<(), TryLockError> {
    tried(lock_byte(
        file,
        LockWish {
            alone: false,
            waits: false,
        },
    ))
}

/// Waits until a file can be taken alone, and takes it.
///
/// # Errors
/// If the system cannot lock it.
pub fn lock(file: &File) -> io::Result<()> {
    lock_byte(
        file,
        LockWish {
            alone: true,
            waits: true,
        },
    )
}

/// Waits until a file can be taken together with others, and takes it.
///
/// # Errors
/// As of [`lock`].
pub fn lock_shared(file: &File) -> io::Result<()> {
    lock_byte(
        file,
        LockWish {
            alone: false,
            waits: true,
        },
    )
}

/// Lets others join who also take the file together with others.
///
/// # Errors
/// If somebody else was quicker; then it is not taken any more.
pub fn share(file: &File) -> Result<(), TryLockError> {
    unlock(file);
    try_lock_shared(file)
}

/// Lets a file go.
pub fn unlock(file: &File) {
    unlock_byte(file);
}

fn tried(taken: io::Result<()>) -> Result<(), TryLockError> {
    taken.map_err(|error| match error.raw_os_error().map(i32::cast_unsigned) {
        Some(ERROR_LOCK_VIOLATION) => TryLockError::WouldBlock,
        _ => TryLockError::Error(error),
    })
}
