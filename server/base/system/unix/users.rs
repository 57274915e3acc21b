//! The user database, as it is in its file: no service is asked for others, which may take long. On macOS the file has the
//! system's own users alone; the homes of the others are the folders in `/Users` that belong to them.

use std::{
    fs::{File, read_dir},
    io::Read,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use rustix::process::geteuid;

/// The database, and the maximum size in bytes of what is read of it.
const USERS: &str = "/etc/passwd";
const MOST: u64 = 1 << 20;

/// The folder of homes on macOS.
const HOMES: &str = "/Users";

/// The home of this process's user in the database, which is read once. None where it is not there.
#[must_use]
pub fn own_home() -> Option<PathBuf> {
    static HOME: OnceLock<Option<PathBuf>> = OnceLock::new();
    let user = geteuid().as_raw();
    let owned = || owned_in(Path::new(HOMES), user).filter(|_| cfg!(target_vendor = "apple"));
    HOME.get_or_init(|| home(2, &user.to_string()).or_else(owned))
        .clone()
}

/// The folder of a user in a folder of homes. None where there are several, as nothing tells which it is.
fn owned_in(homes: &Path, user: u32) -> Option<PathBuf> {
    let entries = read_dir(homes).ok()?.flatten();
    let mut owned = entries.filter(|entry| {
        let about = entry.metadata();
        about.is_ok_and(|about| about.is_dir() && about.uid() == user)
    });
    let home = owned.next()?.path();
    owned.next().is_none().then_some(home)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_home_is_the_one_folder_that_belongs_to_a_user() {
        let homes = tempfile::tempdir().unwrap();
        let owned = |user| owned_in(homes.path(), user);
        let user = geteuid().as_raw();
        assert_eq!(owned(user), None);
        let home = homes.path().join("u");
        fs::create_dir(&home).unwrap();
        fs::write(homes.path().join(".localized"), "").unwrap();
        assert_eq!(owned(user), Some(home));
        assert_eq!(owned(user + 1), None);
        fs::create_dir(homes.path().join("other")).unwrap();
        assert_eq!(owned(user), None);
    }
}
