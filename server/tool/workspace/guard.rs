//! Places that are guarded by identity and not by name: by device and inode, through links and other mounts, while they
//! are missing, and whatever the root of the workspace is.

use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    fs, io,
    path::{Path, PathBuf},
};

use aside_base::{
    secrets::folded,
    system::{
        files::{FileFacts, FileId, names},
        folders::canonical,
        folders::{AsFolder, kind, pass},
    },
};

/// Maximum number of folders above a file; a deeper file cannot be written.
const DEPTH: usize = 256;
/// Maximum number of links to a place that does not exist yet.
const LINKS: usize = 40;
/// Maximum number of files in Aside's own folders that a file is compared with, and their depth. With more, it may be one
/// of them.
const FILES: usize = 20_000;
const LEVELS: usize = 1;

/// The guarded places.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Folders of Aside's own, in which no tool writes. They need not exist.
    own: Vec<PathBuf>,
    /// These folders and their real paths at the start of the turn, none below another. Each file that is read is compared
    /// with them.
    covered: Vec<PathBuf>,
    /// The user's homes, whose hidden files are start-up files and settings of other programs.
    homes: Vec<PathBuf>,
}

/// Reason why a place is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    /// The place is Aside's own.
    Own,
    /// Git executes files there: the place is, or would become, a repository of any name.
    Git,
    /// The place is hidden in the user's home.
    Home,
}

/// A folder above a file, and the names in between.
struct Step {
    folder: fs::File,
    id: FileId,
    /// Names from the folder down to the file, the file's own last.
    below: Vec<OsString>,
}

impl Guard {
    pub(super) fn new(mut own: Vec<PathBuf>, homes: Vec<PathBuf>) -> Self {
        own.sort_unstable();
        own.dedup();
        let mut known = HashMap::new();
        let real = own.iter().map(|own| real_path(own, &mut known));
        let mut covered: Vec<PathBuf> = real.chain(own.iter().cloned()).collect();
        covered.sort_unstable();
        // After sorting, the content of a folder follows it directly.
        covered.dedup_by(|path, above| path.starts_with(above));
        Self {
            own,
            covered,
            homes,
        }
    }

    /// The reason why a place is guarded. `below` leads to it from an open folder: names of folders that need not exist,
    /// then of a file. `real` is the folder's real path, and `levels` the number of its folders within the workspace.
    ///
    /// # Errors
    /// Fails if the folders above cannot be checked. Nothing may be written then.
    pub(super) fn of(
        &self,
        folder: &impl AsFolder,
        real: &Path,
        below: Vec<OsString>,
        levels: usize,
    ) -> io::Result<Option<Guarded>> {
        let steps = climb(folder, real, below)?;
        let places = self.own.iter().filter_map(|path| place(path));
        for (id, rest) in places {
            let is_below = |step: &Step| {
                step.id == id && begins(&step.below, &rest, |a, b| folded(a) == folded(b))
            };
            if steps.iter().any(is_below) {
                return Ok(Some(Guarded::Own));
            }
        }
        if steps.iter().any(is_git_folder) {
            return Ok(Some(Guarded::Git));
        }
        let homes = self
            .homes
            .iter()
            .filter_map(|home| FileFacts::at(home).ok());
        let homes: Vec<FileId> = homes.map(|about| FileId::of(&about)).collect();
        let is_hidden = |step: &Step| {
            let name = step.below.first().map(|name| folded(name));
            homes.contains(&step.id) && name.is_some_and(|name| name.starts_with('.'))
        };
        // In a workspace that is itself hidden in the home, only hidden names further down count.
        let hidden = steps.iter().take(levels + 1).any(is_hidden);
        Ok(hidden.then_some(Guarded::Home))
    }

    /// Whether a file is one of Aside's own by another name: the target of a link in a folder of Aside's own, or a hard
    /// link to a file there. None if that cannot be told.
    pub(super) fn owns(&self, about: &FileFacts) -> Option<bool> {
        self.owns_among(about, FILES)
    }

    fn owns_among(&self, about: &FileFacts, most: usize) -> Option<bool> {
        let mut files = HashSet::new();
        let mut are_all = true;
        for folder in &self.own {
            files.extend(FileFacts::at(folder).map(|about| FileId::of(&about)));
            are_all &= collect(folder, LEVELS, names(about) > 1, most, &mut files);
        }
        match files.contains(&FileId::of(about)) {
            true => Some(true),
            false => are_all.then_some(false),
        }
    }

    /// Whether a real path leads into a folder of Aside's own.
    pub(super) fn covers(&self, real: &Path) -> bool {
        self.covered.iter().any(|folder| lies_in(real, folder))
    }
}

/// The folder itself and all folders above it.
fn climb(folder: &impl AsFolder, real: &Path, below: Vec<OsString>) -> io::Result<Vec<Step>> {
    let mut at = pass(folder, ".")?;
    let mut names = real.iter().rev();
    let mut steps: Vec<Step> = Vec::new();
    let mut below = below;
    while steps.len() < DEPTH {
        let id = FileId::of(&FileFacts::of(&at)?);
        if steps.last().is_some_and(|last| last.id == id) {
            return Ok(steps);
        }
        let above = pass(&at, "..")?;
        steps.push(Step {
            folder: at,
            id,
            below: below.clone(),
        });
        below.insert(0, names.next().unwrap_or(OsStr::new("")).to_owned());
        at = above;
    }
    Err(io::Error::other("too many folders lie above it"))
}

/// Resolves a path: the nearest existing folder, and the missing names below it.
fn place(path: &Path) -> Option<(FileId, Vec<OsString>)> {
    let mut path = path.to_owned();
    let mut missing = Vec::new();
    let mut links = 0;
    loop {
        if let Ok(about) = FileFacts::at(&path) {
            missing.reverse();
            return Some((FileId::of(&about), missing));
        }
        match fs::read_link(&path) {
            Ok(target) if links < LINKS => {
                links += 1;
                path = path.parent()?.join(target);
            }
            _ => {
                missing.push(path.file_name()?.to_owned());
                path.pop();
            }
        }
    }
}

/// The real path of a folder that need not exist: the real path of the nearest existing folder, and the names below.
/// `known` caches the look-ups.
fn real_path(folder: &Path, known: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
    if let Some(real) = known.get(folder) {
        return real.clone();
    }
    let real = match folder.parent().zip(folder.file_name()) {
        Some((above, name)) => {
            let here = real_path(above, known).join(name);
            match fs::read_link(&here) {
                Ok(_) => canonical(&here).unwrap_or(here),
                Err(_) => here,
            }
        }
        None => canonical(folder).unwrap_or_else(|_| folder.to_owned()),
    };
    known.insert(folder.to_owned(), real.clone());
    real
}

/// What stands between two names.
const SEPARATOR: &[u8] = std::path::MAIN_SEPARATOR_STR.as_bytes();

/// Whether a path is a folder or below it, if both are canonical. Faster than `Path::starts_with`, because each call of
/// a tool asks this.
fn lies_in(path: &Path, folder: &Path) -> bool {
    let path = path.as_os_str().as_encoded_bytes();
    let below = path.strip_prefix(folder.as_os_str().as_encoded_bytes());
    below.is_some_and(|below| below.is_empty() || below.starts_with(SEPARATOR))
}

fn begins(names: &[OsString], with: &[OsString], same: impl Fn(&OsStr, &OsStr) -> bool) -> bool {
    names.len() >= with.len()
        && names
            .iter()
            .zip(with)
            .all(|(name, other)| same(name, other))
}

/// Whether Git would recognise the folder as a repository once the names below are written.
fn is_git_folder(step: &Step) -> bool {
    let written = step.below.first().map(|name| folded(name));
    let has = |name: &str| {
        written.as_deref() == Some(&*folded(name.as_ref())) || kind(&step.folder, name).is_some()
    };
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// Collects the targets of links in a folder, some levels down, and its plain files if wanted. Returns whether these are
/// all.
fn collect(
    folder: &Path,
    levels: usize,
    plain: bool,
    most: usize,
    files: &mut HashSet<FileId>,
) -> bool {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => return is_absent(&error),
    };
    let mut are_all = true;
    for entry in entries {
        let Ok((kind, entry)) = entry.and_then(|entry| Ok((entry.file_type()?, entry))) else {
            are_all = false;
            continue;
        };
        if kind.is_dir() && levels > 0 {
            are_all &= collect(&entry.path(), levels - 1, plain, most, files);
        } else if kind.is_symlink() || (plain && kind.is_file()) {
            if files.len() >= most {
                return false;
            }
            match FileFacts::at(&entry.path()) {
                Ok(about) => drop(files.insert(FileId::of(&about))),
                Err(error) => are_all &= is_absent(&error),
            }
        }
    }
    are_all
}

/// Whether there is nothing, or no folder.
fn is_absent(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    kinds.contains(&error.kind())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_not_all_files_of_aside_s_are_compared_nobody_can_tell() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("own/below")).unwrap();
        for name in ["own/below/a", "own/below/b", "mine"] {
            fs::write(at(name), "").unwrap();
        }
        fs::hard_link(at("own/below/a"), at("a")).unwrap();
        fs::hard_link(at("mine"), at("mine too")).unwrap();
        let guard = Guard::new(vec![at("own"), at("absent")], Vec::new());
        let owns = |name: &str, most| {
            let about = FileFacts::at(&at(name)).unwrap();
            guard.owns_among(&about, most)
        };
        assert_eq!(owns("a", 10), Some(true));
        assert_eq!(owns("mine", 10), Some(false));
        assert_eq!(owns("mine", 2), None);
    }
}
