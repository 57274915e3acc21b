//! Programs by identity: another name of a program that a rule speaks of.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use aside_base::{open_places::is_program, system::files::FileId};

/// Number of names from which on a program is one that does by each name another thing, as BusyBox and rustup do.
const NAMES: usize = 6;

/// Programs as a shell in a folder finds them.
pub(crate) struct FoundPrograms {
    folder: PathBuf,
    path: Vec<PathBuf>,
}

impl FoundPrograms {
    /// The programs that a shell in this folder finds.
    pub(crate) fn from(folder: &Path) -> Self {
        let path = env::var_os("PATH").unwrap_or_default();
        Self {
            folder: folder.to_owned(),
            path: env::split_paths(&path).collect(),
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
        let file = match word.contains('/') {
            true => Some(self.folder.join(word)).filter(|file| is_program(file)),
            false => {
                let mut files = self.path.iter().map(|folder| folder.join(word));
                files.find(|file| is_program(file))
            }
        };
        let about = fs::metadata(file?).ok()?;
        Some(FileId::of(&about))
    }

    fn has_many_names(&self, program: FileId) -> bool {
        let entries = self
            .path
            .iter()
            .filter_map(|folder| fs::read_dir(folder).ok());
        let entries = entries.flatten().flatten();
        let is_name = |path: PathBuf| fs::metadata(path).is_ok_and(|it| FileId::of(&it) == program);
        let names = entries.filter(|entry| is_name(entry.path()));
        names.take(NAMES).count() == NAMES
    }
}

#[cfg(test)]
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
        let programs = FoundPrograms {
            folder: root.to_owned(),
            path: vec![root.join("bin")],
        };
        for (word, is_same) in [
            ("one", true),
            ("link", true),
            ("hard", true),
            ("./near", true),
            ("bin/hard", true),
            ("other", false),
            ("absent", false),
        ] {
            assert_eq!(programs.are_same("one", word), is_same, "{word}");
        }
        assert!(!programs.are_same("applet0", "applet1"));
        assert!(!programs.are_same("absent", "absent"));
    }
}
