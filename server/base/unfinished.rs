//! Marks of commands that run in a folder and could make settings of Aside's there. A command that Aside did not see end
//! leaves its mark, so that settings that were not there when it began are known to be none of the user's.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    time::UNIX_EPOCH,
};

use crate::{
    digest, private,
    secrets::folded,
    system::{
        files::{FileFacts, born, number},
        folders::{canonical, name_of},
        locks,
    },
};

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
    /// Marks a command that may write in a folder, in which there are these files of settings now.
    ///
    /// # Errors
    /// Fails if the state directory cannot be written.
    pub fn begin<'a>(
        state: &Path,
        root: &Path,
        settings: impl IntoIterator<Item = &'a PathBuf>,
    ) -> io::Result<Self> {
        forget(state, root);
        let folder = state.join(FOLDER);
        private::make_folder(&folder)?;
        let number = format!("{:016x}", fastrand::u64(..));
        let path = folder.join(format!("{}-{number}", key(root)));
        // Nobody takes it for a mark before all is written.
        let unready = folder.join(number);
        let mut held = private::lock_file(&unready)?;
        locks::try_lock(&held).map_err(io::Error::from)?;
        let known: Vec<Vec<u8>> = settings.into_iter().map(|it| known(it)).collect();
        let written = held.write_all(&known.join(&0));
        if let Err(error) = written.and_then(|()| fs::rename(&unready, &path)) {
            let _ = fs::remove_file(&unready);
            return Err(error);
        }
        Ok(Self { path, _held: held })
    }

    /// Takes the mark away, once it was looked at what the command made.
    pub fn end(self) {
        let _ = fs::remove_file(&self.path);
    }
}

/// Whether a command that runs in this folder, or was not seen to end, may have made a file of settings there or below.
#[must_use]
pub fn may_have_made(state: &Path, root: &Path, settings: &Path) -> bool {
    marks(state, root).any(|mark| match fs::read(mark) {
        Ok(known) => !known
            .split(|byte| *byte == 0)
            .any(|it| is_one(it, settings)),
        // A mark that is gone is of a command that was seen to end.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    })
}

/// A file as a mark has it: its identity and its path.
fn known(file: &Path) -> Vec<u8> {
    let identity = format!("{} ", identity(file));
    [identity.as_bytes(), file.as_os_str().as_encoded_bytes()].concat()
}

/// The number of a file and the time at which it came into being: a file in its place may get its number, as on ext4.
fn identity(file: &Path) -> String {
    let Ok(about) = FileFacts::itself(file) else {
        return "none".to_owned();
    };
    let born = born(&about).and_then(|born| born.duration_since(UNIX_EPOCH).ok());
    format!("{}-{}", number(&about), born.unwrap_or_default().as_nanos())
}

/// Whether this is what a mark has of a file, whose name counts in any case.
fn is_one(known: &[u8], file: &Path) -> bool {
    let mut parts = known.splitn(2, |byte| *byte == b' ');
    let (was, path) = (parts.next(), parts.next().unwrap_or_default());
    let path = PathBuf::from(name_of(path));
    let name = |path: &Path| path.file_name().map(folded);
    was == Some(identity(file).as_bytes())
        && path.parent() == file.parent()
        && name(&path) == name(file)
}

/// Takes away the marks of commands in this workspace that no process holds.
pub fn forget(state: &Path, root: &Path) {
    for mark in marks(state, root) {
        let is_free = File::open(&mark).is_ok_and(|file| locks::try_lock(&file).is_ok());
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
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        name.starts_with(key.as_bytes())
    })
}

/// The begin of the names of a workspace's marks.
fn key(root: &Path) -> String {
    let root = canonical(root).unwrap_or_else(|_| root.to_owned());
    digest::sha256(root.as_os_str().as_encoded_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_seen_to_end_leaves_its_mark() {
        let (state, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (state, root) = (state.path(), root.path());
        let other = tempfile::tempdir().unwrap();
        let settings = root.join("aside.toml");
        let begin = || UnfinishedCommand::begin(state, root, []).unwrap();
        let is_left = |root: &Path| may_have_made(state, root, &settings);
        let (first, second) = (begin(), begin());
        assert!(is_left(root) && !is_left(other.path()));
        first.end();
        assert!(is_left(root), "another one runs");
        forget(state, root);
        assert!(is_left(root), "it is held");
        // As if the process were killed.
        drop(second);
        assert!(is_left(root));
        begin().end();
        assert!(!is_left(root), "nothing was made");
    }

    #[test]
    fn settings_that_were_there_before_are_the_user_s() {
        let (state, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (state, root) = (state.path(), root.path());
        let known = ["aside.toml", "a/Aside.toml", "b/aside.toml"].map(|it| root.join(it));
        for file in &known {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let _begun = UnfinishedCommand::begin(state, root, &known).unwrap();
        // What a command put in the place of one of them is another file.
        fs::rename(root.join("b"), root.join("moved")).unwrap();
        for made in ["b/aside.toml", "c/aside.toml"].map(|it| root.join(it)) {
            fs::create_dir(made.parent().unwrap()).unwrap();
            fs::write(made, "").unwrap();
        }
        for (settings, is_made) in [
            ("aside.toml", false),
            ("a/Aside.toml", false),
            ("b/aside.toml", true),
            ("moved/aside.toml", true),
            ("c/aside.toml", true),
        ] {
            let found = may_have_made(state, root, &root.join(settings));
            assert_eq!(found, is_made, "{settings}");
        }
    }

    #[test]
    fn settings_in_the_place_of_others_are_not_the_user_s_even_with_their_number() {
        let (state, root) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let (state, root) = (state.path(), root.path());
        let settings = root.join("aside.toml");
        fs::write(&settings, "").unwrap();
        let first = number(&FileFacts::itself(&settings).unwrap());
        let _begun = UnfinishedCommand::begin(state, root, [&settings]).unwrap();
        assert!(!may_have_made(state, root, &settings));
        // Where the file system gives numbers out again, one of these has the same.
        for _ in 0..200 {
            fs::remove_file(&settings).unwrap();
            fs::write(&settings, "").unwrap();
            assert!(may_have_made(state, root, &settings));
            if number(&FileFacts::itself(&settings).unwrap()) == first {
                break;
            }
        }
    }
}
