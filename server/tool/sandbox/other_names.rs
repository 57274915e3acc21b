//! Files in protected folders that have further names, by which a command could change them.

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    fs,
    path::{Path, PathBuf},
};

use aside_base::system::files::{FileFacts, FileId, names};

/// Maximum number of entries of a folder of hooks and of all below it.
const ENTRIES: usize = 10_000;
/// Folders in which version control keeps content under names of its own; a clone on the same disk shares their files.
const SHARED: [(&str, &str); 7] = [
    (".git", "objects"),
    ("git", "objects"),
    (".hg", "store"),
    (".sl", "store"),
    ("_darcs", "inventories"),
    ("_darcs", "patches"),
    ("_darcs", "pristine.hashed"),
];

/// Files that have more than one name, with the names that lie in protected folders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct OtherNames(BTreeMap<FileId, KnownNames>);

/// Names of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct KnownNames {
    protected: BTreeSet<PathBuf>,
    count: u64,
}

impl OtherNames {
    /// Takes note of a file in a protected folder.
    pub(super) fn note(&mut self, path: &Path) {
        let Ok(about) = FileFacts::itself(path) else {
            return;
        };
        if about.is_file() && names(&about) > 1 && !is_shared(path) {
            let known = self.0.entry(FileId::of(&about)).or_default();
            known.count = names(&about);
            known.protected.insert(path.to_owned());
        }
    }

    /// Takes note of a protected file, or of all files in a protected folder. Returns whether all were seen.
    pub(super) fn note_all(&mut self, place: &Path) -> bool {
        let mut left = vec![place.to_owned()];
        for _ in 0..ENTRIES {
            let Some(path) = left.pop() else {
                return true;
            };
            match fs::symlink_metadata(&path) {
                Ok(about) if about.is_dir() => {
                    let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                    left.extend(entries.map(|entry| entry.path()));
                }
                _ => self.note(&path),
            }
        }
        left.is_empty()
    }

    pub(super) fn merge(&mut self, others: Self) {
        for (file, names) in others.0 {
            let known = self.0.entry(file).or_default();
            known.count = known.count.max(names.count);
            known.protected.extend(names.protected);
        }
    }

    /// One name of each file that also has a name which is not protected.
    pub(super) fn open(&self) -> impl Iterator<Item = &PathBuf> {
        let open = self.0.values();
        let open = open.filter(|names| names.count > names.protected.len() as u64);
        open.filter_map(|names| names.protected.first())
    }

    /// Whether this is one of the files, by whatever name.
    pub(super) fn has(&self, about: &FileFacts) -> bool {
        self.0.contains_key(&FileId::of(about))
    }
}

/// Whether a file lies where version control keeps content.
fn is_shared(path: &Path) -> bool {
    let names: Vec<&OsStr> = path.iter().collect();
    let is_pair = |pair: &[&OsStr]| {
        SHARED
            .iter()
            .any(|it| (pair[0], pair[1]) == (OsStr::new(it.0), OsStr::new(it.1)))
    };
    names.windows(2).any(is_pair)
}
