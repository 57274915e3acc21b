//! The home of this machine's user.

use std::path::PathBuf;

/// The home of this process's user, as the system has it. None where it is not known.
#[must_use]
pub fn own_home() -> Option<PathBuf> {
    std::env::home_dir()
}

/// The home of another user of this machine: none, for no program here looks one up by its name.
#[must_use]
pub fn home_of(_user: &str) -> Option<PathBuf> {
    None
}
