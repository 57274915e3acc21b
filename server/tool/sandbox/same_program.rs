//! Programs by identity: another name of a program that a rule speaks of.

use std::{
    cell::OnceCell,
    collections::HashMap,
    env, fs,
    path::{Path, PathBuf},
};

use aside_base::{
    open_places::is_program,
    system::{
        files::{FileFacts, FileId},
        programs::{file_names, is_path},
    },
};

/// Number of names from which on a program is one that does by each name another thing, as BusyBox and rustup do.
const NAMES: usize = 6;

/// Programs as a shell in a folder finds them, for one command line.
pub(crate) struct FoundPrograms {
    folder: PathBuf,
    path: Vec<PathBuf>,
    /// Number of names of each file in the folders of `path`, which are read once, if at all.
    names: OnceCell<HashMap<FileId, usize>>,
}

impl FoundPrograms {
    /// The programs that a shell in this folder finds.
    pub(crate) fn from(folder: &Path) -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        Self::of(folder, env::split_paths(&path).collect())
    }

    fn of(folder: &Path, path: Vec<PathBuf>) -> Self {
        Self {
            folder: folder.to_owned(),
            path,
            names: OnceCell::new(),
        }
    }

    /// Whether two words start the same file, by links, and this file is one program by all of its names.
    pub(super) fn are_same(&self, one: &str, other: &str) -> bool {
        let (Some(one), Some(other)) = (self.find(one), self.find(other)) else {
            return false;
        };
        one == other && !self.has_many_names(one)
    }

    fn find(&self, word: &str) -> Option<FileId> {
        let folders = match is_path(word.as_ref()) {
            true => std::slice::from_ref(&self.folder),
            false => &self.path[..],
        };
        let names = file_names(word.as_ref());
        let files = folders
            .iter()
            .flat_map(|folder| names.iter().map(|name| folder.join(name)));
        let file = files.into_iter().find(|file| is_program(file));
        let about = FileFacts::at(&file?).ok()?;
        Some(FileId::of(&about))
    }

    fn has_many_names(&self, program: FileId) -> bool {
        let names = self.names.get_or_init(|| self.count_names());
        names.get(&program).is_some_and(|count| *count >= NAMES)
    }

    fn count_names(&self) -> HashMap<FileId, usize> {
        let entries = self
            .path
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok());
        let mut names: HashMap<FileId, usize> = HashMap::new();
        for entry in entries.flatten().flatten() {
            if let Ok(about) = FileFacts::at(&entry.path()) {
                *names.entry(FileId::of(&about)).or_default() += 1;
            }
        }
        names
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn a_program_is_the_same_by_each_of_its_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("bin")).unwrap();
        for name in ["one", "box", "other"] {
            let file = root.join("bin").join(name);
            fs::write(&file, name).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
        symlink("one", root.join("bin/link")).unwrap();
        fs::hard_link(root.join("bin/one"), root.join("bin/hard")).unwrap();
        symlink("bin/one", root.join("near")).unwrap();
        for number in 0..NAMES {
            symlink("box", root.join(format!("bin/applet{number}"))).unwrap();
        }
        let programs = || FoundPrograms::of(root, vec![root.join("bin")]);
        for (word, is_same) in [
            ("one", true),
            ("link", true),
            ("hard", true),
            ("./near", true),
            ("bin/hard", true),
            ("other", false),
            ("absent", false),
        ] {
            assert_eq!(programs().are_same("one", word), is_same, "{word}");
        }
        assert!(!programs().are_same("applet0", "applet1"));
        assert!(!programs().are_same("absent", "absent"));
        // Names are counted once for a line.
        let of_a_line = programs();
        assert!(of_a_line.are_same("one", "link"));
        for number in 0..NAMES {
            symlink("one", root.join(format!("bin/one{number}"))).unwrap();
        }
        assert!(of_a_line.are_same("one", "link"));
        assert!(!programs().are_same("one", "link"));
    }
}
