//! What other processes are shown of the environment, and places that it names.

use std::ffi::OsStr;

#[cfg_attr(not(target_os = "linux"), path = "environment/own_block.rs")]
mod shown;

pub use self::shown::{find_shown, overwrite, shows};

/// Whether two names are of the same variable.
#[must_use]
pub fn is_same(one: &OsStr, other: &OsStr) -> bool {
    one == other
}

/// The variable that names the folder of users' settings.
pub const SETTINGS_VARIABLE: &str = "XDG_CONFIG_HOME";
/// The usual folder of users' settings in a home.
pub const USUAL_SETTINGS: &str = ".config";

/// The variable that names the folder of what programs keep.
pub const STATE_VARIABLE: &str = "XDG_STATE_HOME";
/// The usual folder of what programs keep in a home.
pub const USUAL_STATE: &str = ".local/state";
