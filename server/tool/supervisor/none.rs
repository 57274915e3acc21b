//! No supervisor: on Windows the system itself ends what belongs together.

use std::ffi::{OsStr, OsString};

/// Whether a first argument names a part that [`play`] plays.
#[must_use]
pub fn is_part(_first: &OsStr) -> bool {
    false
}

/// Plays the part that a first argument names, and does not return then. There is no such part here.
pub fn play(_first: &OsStr, _rest: impl IntoIterator<Item = OsString>) {}
