//! Marks of commands that run in a workspace without settings, and that could make some. A command that Aside did not see
//! end leaves its mark, so that settings that are there the next time are known to be none of the user's.

use std::{
    fs::{self, File},
    io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use crate::{digest, private};

/// Folder of the marks in the state directory.
const FOLDER: &str = "unfinished";

/// The mark of a command that runs. It stays unless the command is ended.
#[derive(Debug)]
pub struct UnfinishedCommand {
    path: PathBuf,
    /// Held as long as this process lives.
    _held: File,
}

impl UnfinishedCommand {
    /// Marks a command in a workspace that has no settings now.
    ///
    /// # Errors
    /// Fails if the state directory cannot be written.
    pub fn begin(state: &Path, root: &Path) -> io::Result<Self> {
        forget(state, root);
        let folder = state.join(FOLDER);
        private::make_folder(&folder)?;
        let name = format!("{}-{:016x}", key(root), fastrand::u64(..));
        let path = folder.join(name);
        let held = private::lock_file(&path)?;
        held.try_lock().map_err(io::Error::from)?;
        Ok(Self { path, _held: held })
    }

    /// Takes the mark away, once it was looked at what the command made.
    pub fn end(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a command in this workspace runs, or was not seen to end.
#[must_use]
pub fn is_left(state: &Path, root: &Path) -> bool {
    marks(state, root).next().is_some()
}

/// Takes away the marks of commands in this workspace that no process holds.
pub fn forget(state: &Path, root: &Path) {
    for mark in marks(state, root) {
        let is_free = File::open(&mark).is_ok_and(|file| file.try_lock().is_ok());
        if is_free {
            let _ = fs::remove_file(&mark);
        }
    }
}

fn marks(state: &Path, root: &Path) -> impl Iterator<Item = PathBuf> {
    let key = key(root);
    let entries = fs::read_dir(state.join(FOLDER)).into_iter().flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    paths.filter(move |path| {
        let name = path.file_name().unwrap_or_default().as_bytes();
        name.starts_with(key.as_bytes())
    })
}

/// The begin of the names of a workspace's marks.
fn key(root: &Path) -> String {
    let root = fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    digest::sha256(root.as_os_str().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_seen_to_end_leaves_its_mark() {
        let (state, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (state, root) = (state.path(), root.path());
        let other = tempfile::tempdir().unwrap();
        let begin = || UnfinishedCommand::begin(state, root).unwrap();
        let (first, second) = (begin(), begin());
        assert!(is_left(state, root) && !is_left(state, other.path()));
        first.end();
        assert!(is_left(state, root), "another one runs");
        forget(state, root);
        assert!(is_left(state, root), "it is held");
        // As if the process were killed.
        drop(second);
        assert!(is_left(state, root));
        begin().end();
        assert!(!is_left(state, root), "nothing was made");
    }
}
