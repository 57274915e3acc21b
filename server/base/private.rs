//! Files and folders that belong to the user alone: the state of the program, its locks and logs.

use std::{
    fs::{File, OpenOptions, metadata, remove_file},
    io::{self, Write},
    path::Path,
};

use tempfile::NamedTempFile;

pub use crate::system::files::{make_folder_for_user as make_folder, may_decide as is_own};
use crate::{
    regular,
    system::files::{self, cautious_itself, for_user_alone},
};

/// Opens a regular file in the way that `options` say. A link in its place is not followed. A file that is missing is made for the user alone, where they
/// say that it may be made.
///
/// # Errors
/// Where the file cannot be opened, or is not a regular file.
pub fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    let file = cautious_itself(for_user_alone(options)).open(path)?;
    regular::check(&file.metadata()?)?;
    Ok(file)
}

/// Opens the file of a lock, and makes it where it is missing.
///
/// # Errors
/// As of [`open`].
pub fn lock_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    open(
        path,
        options.read(true).write(true).create(true).truncate(false),
    )
}

/// Writes a file whole in the place of an earlier one, and makes its folder. The file is on the disk before it takes
/// its place, so that a crash leaves either the earlier one or this one. A new file is for the user alone; one that is
/// replaced keeps its permissions.
///
/// # Errors
/// Where the file cannot be written; the earlier one then stays.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, File::sync_all)
}

/// The same for what can be made again: nobody waits for the disk, and a crash may leave less than either.
///
/// # Errors
/// As of [`replace`].
pub fn replace_cache(path: &Path, bytes: &[u8]) -> io::Result<()> {
    put(path, bytes, |_| Ok(()))
}

fn put(path: &Path, bytes: &[u8], sync: impl Fn(&File) -> io::Result<()>) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    make_folder(folder)?;
    let mut file = NamedTempFile::new_in(folder)?;
    file.write_all(bytes)?;
    if let Ok(before) = metadata(path) {
        file.as_file().set_permissions(before.permissions())?;
    }
    sync(file.as_file())?;
    let (file, new) = file.into_parts();
    // A file that is open cannot take another one's place everywhere.
    drop(file);
    let new = new.keep()?;
    files::replace(&new, path).inspect_err(|_| {
        let _ = remove_file(&new);
    })
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{
        fs::{Permissions, read, set_permissions},
        os::unix::fs::PermissionsExt,
    };

    use super::*;

    #[test]
    fn a_file_is_replaced_whole_and_keeps_its_permissions() {
        let ground = tempfile::tempdir().unwrap();
        let path = ground.path().join("state/deep/file");
        let mode = |path: &Path| metadata(path).unwrap().permissions().mode() & 0o777;
        replace(&path, b"one").unwrap();
        assert_eq!(read(&path).unwrap(), b"one");
        assert_eq!(mode(&path), 0o600);
        assert_eq!(mode(&ground.path().join("state")), 0o700);
        set_permissions(&path, Permissions::from_mode(0o644)).unwrap();
        replace(&path, b"two").unwrap();
        assert_eq!(read(&path).unwrap(), b"two");
        assert_eq!(mode(&path), 0o644);
        assert!(replace(&path.join("below"), b"").is_err());
    }

    #[test]
    fn root_does_as_no_other_user_says() {
        let file = tempfile::tempfile().unwrap();
        assert!(is_own(&file).unwrap());
        let nobody = std::os::unix::fs::fchown(&file, Some(65534), None);
        let is_root = rustix::process::geteuid().is_root();
        assert_eq!(nobody.is_ok(), is_root);
        assert_eq!(is_own(&file).unwrap(), !is_root);
    }

    #[test]
    fn only_regular_files_are_opened() {
        let ground = tempfile::tempdir().unwrap();
        assert!(lock_file(ground.path()).is_err());
        let (path, other) = (ground.path().join("lock"), ground.path().join("other"));
        std::fs::write(&other, "kept").unwrap();
        std::os::unix::fs::symlink(&other, ground.path().join("link")).unwrap();
        assert!(lock_file(&ground.path().join("link")).is_err());
        assert_eq!(read(&other).unwrap(), b"kept");
        lock_file(&path).unwrap();
        assert_eq!(metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
