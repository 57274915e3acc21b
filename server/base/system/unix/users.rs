//! The user database, as it is in its file: no service is asked for others, which may take long. On macOS the file has the
//! system's own users alone.

use std::{fs::File, io::Read, path::PathBuf, sync::OnceLock};

use rustix::process::geteuid;

/// The database, and the maximum size in bytes of what is read of it.
const USERS: &str = "/etc/passwd";
const MOST: u64 = 1 << 20;

/// The home of this process's user in the database, which is read once. None where it is not there.
#[must_use]
pub fn own_home() -> Option<PathBuf> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let number = geteuid().as_raw().to_string();
    HOME.get_or_init(|| home(2, &number)).clone()
}

/// The home of a user of this machine.
#[must_use]
pub fn home_of(user: &str) -> Option<PathBuf> {
    home(0, user)
}

/// The home in the first line that has this in a field.
fn home(field: usize, value: &str) -> Option<PathBuf> {
    let mut users = Vec::new();
    let database = File::open(USERS).ok()?;
    database.take(MOST).read_to_end(&mut users).ok()?;
    let users = String::from_utf8_lossy(&users);
    let mut lines = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let line = lines.find(|line| line.get(field) == Some(&value))?;
    line.get(5).map(PathBuf::from)
}
