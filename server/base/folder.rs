//! Identity of folders: a folder that replaces another one differs from it.

use std::{io, path::Path, time::UNIX_EPOCH};

use crate::system::files::{FileFacts, number};

/// The identity of a folder: its inode, and its time of creation if the file system tells. Devices are no part of it,
/// because they are numbered anew when the system starts.
///
/// # Errors
/// Where there is no folder.
pub fn identity(folder: &Path) -> io::Result<String> {
    let about = FileFacts::at(folder)?;
    if !about.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    let made = about.created().ok();
    let made = made.and_then(|made| made.duration_since(UNIX_EPOCH).ok());
    let made = made.map_or(0, |made| made.as_nanos());
    Ok(format!("{}-{made}", number(&about)))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_folder_in_the_place_of_another_is_another_one() {
        let ground = tempfile::tempdir().unwrap();
        let folder = ground.path().join("work");
        fs::create_dir(&folder).unwrap();
        let first = identity(&folder).unwrap();
        fs::write(folder.join("file"), "text").unwrap();
        assert_eq!(
            identity(&folder).unwrap(),
            first,
            "what is in it may change"
        );
        fs::rename(&folder, ground.path().join("moved")).unwrap();
        fs::create_dir(&folder).unwrap();
        assert_ne!(identity(&folder).unwrap(), first);
        fs::remove_dir(&folder).unwrap();
        fs::rename(ground.path().join("moved"), &folder).unwrap();
        assert_eq!(identity(&folder).unwrap(), first, "it is back");
        fs::remove_dir_all(&folder).unwrap();
        fs::create_dir(&folder).unwrap();
        assert_ne!(
            identity(&folder).unwrap(),
            first,
            "though the inode may be the same"
        );
        assert!(identity(&folder.join("nowhere")).is_err());
    }
}
