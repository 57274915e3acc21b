//! Files on their way into a workspace: what a process that was killed left of them there, the next one takes away.
//!
//! A file that takes its place at once is written beside that first, by a name that nobody else gives. A note in the
//! state folder says where, for as long as it is there; a lock that ends with its process says that it is not left.
//! Where no note can be made the file is written all the same.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
};

use cap_std::{ambient_authority, fs::Dir};

use crate::{
    regular,
    system::{
        files::{for_user_alone, make_folder_for_user},
        locks,
    },
};

/// The folder of notes in a workspace's state folder.
const FOLDER: &str = ".under-way";

/// Bytes of a note, at the most: a path.
const NOTE: u64 = 64 * 1024;

/// The files that are under way into one workspace, whichever process writes them.
#[derive(Clone, Debug)]
pub struct FilesUnderWay {
    notes: PathBuf,
}

/// A file that is under way until this is dropped.
#[derive(Debug)]
pub struct WriteNote(Option<(PathBuf, File)>);

/// A name for a file on its way to its place, which no other has.
#[must_use]
pub fn temporary_name() -> String {
    format!(".aside-{:016x}.tmp", fastrand::u64(..))
}

fn is_temporary(name: &str) -> bool {
    let hex = name
        .strip_prefix(".aside-")
        .and_then(|rest| rest.strip_suffix(".tmp"));
    hex.is_some_and(|hex| hex.len() == 16 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

impl FilesUnderWay {
    /// The notes of the workspace whose state is in this folder.
    #[must_use]
    pub fn of(state: &Path) -> Self {
        Self {
            notes: state.join(FOLDER),
        }
    }

    /// Notes that a file is about to be written at this path from the root of the workspace.
    #[must_use]
    pub fn note(&self, path: &Path) -> WriteNote {
        WriteNote(self.write(path).ok())
    }

    fn write(&self, path: &Path) -> io::Result<(PathBuf, File)> {
        let at = self.notes.join(format!("{:016x}", fastrand::u64(..)));
        let open = || {
            let mut options = File::options();
            for_user_alone(options.write(true).create_new(true)).open(&at)
        };
        let mut note = match open() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                make_folder_for_user(&self.notes)?;
                open()?
            }
            opened => opened?,
        };
        // It says something only once it is held.
        locks::try_lock(&note)?;
        note.write_all(path.as_os_str().as_encoded_bytes())?;
        Ok((at, note))
    }

    /// Takes away from the workspace at `root` what processes left that are no more. What cannot be taken away stays,
    /// and harms nobody. Without notes this is one look at a folder.
    pub fn sweep(&self, root: &Path) {
        let notes = fs::read_dir(&self.notes).into_iter().flatten().flatten();
        for note in notes.map(|note| note.path()) {
            let Ok(file) = regular::open(&note) else {
                continue;
            };
            if locks::try_lock(&file).is_err() {
                continue;
            }
            if let Ok(text) = regular::read(&note, NOTE).map(String::from_utf8)
                && let Ok(path) = text
            {
                take_away(root, Path::new(&path));
            }
            let _ = fs::remove_file(&note);
        }
    }
}

/// Takes away a file that was under way, and nothing else, wherever the path leads.
fn take_away(root: &Path, path: &Path) {
    let name = path.file_name().and_then(|name| name.to_str());
    if !name.is_some_and(is_temporary) {
        return;
    }
    let Ok(root) = Dir::open_ambient_dir(root, ambient_authority()) else {
        return;
    };
    if root
        .symlink_metadata(path)
        .is_ok_and(|about| about.is_file())
    {
        let _ = root.remove_file(path);
    }
}

impl Drop for WriteNote {
    fn drop(&mut self) {
        if let Some((note, _held)) = &self.0 {
            let _ = fs::remove_file(note);
        }
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn what_is_left_goes_and_nothing_else() {
        let ground = tempfile::tempdir().unwrap();
        let (state, root) = (ground.path().join("state"), ground.path().join("work"));
        fs::create_dir_all(root.join("sub")).unwrap();
        fs::create_dir(&state).unwrap();
        let files = FilesUnderWay::of(&state);
        let left = |path: &str| {
            // As of a process that ended: the note stays, and nobody holds it.
            let mut note = files.note(Path::new(path));
            drop(note.0.take().expect("a note"));
        };
        let names: Vec<String> = (0..6).map(|_| temporary_name()).collect();
        let held = files.note(Path::new(&names[0]));
        for name in &names[..4] {
            fs::write(root.join(name), "half").unwrap();
            fs::write(root.join("sub").join(name), "half").unwrap();
        }
        fs::write(ground.path().join(&names[4]), "outside").unwrap();
        symlink("notes.txt", root.join(&names[5])).unwrap();
        for user in [
            "notes.txt",
            ".aside-0123.tmp",
            ".notes.txt.0123456789abcdef.tmp",
        ] {
            fs::write(root.join(user), "the user's").unwrap();
            left(user);
        }
        left(&names[1]);
        left(&format!("sub/{}", names[1]));
        left(&format!("../{}", names[4]));
        left(&names[5]);

        files.sweep(&root);
        let there = |path: &str| root.join(path).symlink_metadata().is_ok();
        assert!(there(&names[0]), "somebody writes it");
        assert!(!there(&names[1]) && !there(&format!("sub/{}", names[1])));
        assert!(
            there(&names[2]) && there(&format!("sub/{}", names[0])),
            "not noted"
        );
        assert!(ground.path().join(&names[4]).exists() && there(&names[5]));
        assert!(there("notes.txt") && there(".aside-0123.tmp"));
        assert!(there(".notes.txt.0123456789abcdef.tmp"));
        let notes = || fs::read_dir(state.join(FOLDER)).unwrap().count();
        assert_eq!(notes(), 1);
        drop(held);
        assert_eq!(notes(), 0);
    }

    #[test]
    fn a_file_is_written_where_no_note_can_be_made() {
        let ground = tempfile::tempdir().unwrap();
        let files = FilesUnderWay::of(&ground.path().join("nowhere"));
        drop(files.note(Path::new("notes.txt")));
        files.sweep(ground.path());
    }
}
