//! What other processes are shown of the environment, and places that it names.

use std::{
    env,
    ffi::{OsStr, OsString},
    io,
};

/// Whether two names are of the same variable. Names differ in more than their case here.
#[must_use]
pub fn is_same(one: &OsStr, other: &OsStr) -> bool {
    one.eq_ignore_ascii_case(other)
}

/// Finds what other processes are shown, while that can be found. There is nothing to look for here.
pub fn find_shown() {}

/// Overwrites the values of these variables where other processes see them: in the block of this process, which the
/// system shows as it is now.
///
/// # Errors
/// None here.
#[expect(
    unsafe_code,
    reason = "other systems must not do this beside other threads"
)]
pub fn overwrite(names: &[OsString]) -> io::Result<()> {
    for name in names {
        let length = env::var_os(name).map_or(0, |value| value.len());
        // SAFETY: on Windows the environment may be changed at any time, by its own lock.
        unsafe {
            env::set_var(name, "0".repeat(length));
        }
    }
    Ok(())
}

/// Whether other processes can read this value of a variable. True also where that is not known.
#[must_use]
pub fn shows(name: &str, value: &str) -> bool {
    env::var(name).is_ok_and(|shown| shown == value)
}

/// The variable that names the folder of users' settings.
pub const SETTINGS_VARIABLE: &str = "APPDATA";
/// The usual folder of users' settings in a home.
pub const USUAL_SETTINGS: &str = r"AppData\Roaming";

/// The variable that names the folder of what programs keep.
pub const STATE_VARIABLE: &str = "LOCALAPPDATA";
/// The usual folder of what programs keep in a home.
pub const USUAL_STATE: &str = r"AppData\Local";
