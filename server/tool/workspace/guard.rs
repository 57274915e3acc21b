//! Places that are guarded by what they are, not by what they are called: by device and inode, also through links
//! and other mounts, also while they are absent, and whatever the root of the workspace is.

use std::{
    collections::{HashMap, HashSet},
    ffi::{OsStr, OsString},
    fs, io,
    os::{
        fd::{AsFd, BorrowedFd, OwnedFd},
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
};

use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};

use super::names::folded;

/// Folders above a file that are looked at; a deeper file cannot be written.
const DEPTH: usize = 256;
/// Links that are followed to a place that is not there yet.
const LINKS: usize = 40;
/// Files of Aside's own folders that a file is compared with, and how deep they lie.
const FILES: usize = 20_000;
const LEVELS: usize = 1;

/// A file or folder by what it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileId {
    device: u64,
    inode: u64,
}

/// What is guarded.
#[derive(Clone, Debug, Default)]
pub(super) struct Guard {
    /// Folders of Aside's own, in which no tool writes. They need not be there.
    own: Vec<PathBuf>,
    /// They and their real paths as the turn began, none below another: each file that is read is compared with them.
    covered: Vec<PathBuf>,
    /// The user's home, whose hidden files are the start files and settings of other programs.
    home: Option<PathBuf>,
}

/// Why a place is guarded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guarded {
    /// It is Aside's own.
    Own,
    /// Git takes commands from it: it is, or would become, a Git folder of whatever name.
    Git,
    /// It is hidden in the user's home.
    Home,
}

/// A folder on the way from a file to the top, and what lies between the two.
struct Step {
    folder: OwnedFd,
    id: FileId,
    /// Names from the folder down to the file, the file's own last.
    below: Vec<OsString>,
}

impl Guard {
    pub(super) fn new(mut own: Vec<PathBuf>, home: Option<PathBuf>) -> Self {
        own.sort_unstable();
        own.dedup();
        let mut known = HashMap::new();
        let real = own.iter().map(|own| real_path(own, &mut known));
        let mut covered: Vec<PathBuf> = real.chain(own.iter().cloned()).collect();
        covered.sort_unstable();
        // What lies below a folder comes right behind it or behind more that does.
        covered.dedup_by(|path, above| path.starts_with(above));
        Self { own, covered, home }
    }

    /// Why the place is guarded that `below` leads to from an open folder: names of folders that need not be there,
    /// then of a file. `real` is the folder's real path, `levels` how many folders of it belong to the workspace.
    ///
    /// # Errors
    /// Where the folders above cannot be looked at: then nothing may be written either.
    pub(super) fn of(
        &self,
        folder: &impl AsFd,
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
        let home = self.home.as_ref().and_then(|home| fs::metadata(home).ok());
        let home = home.map(|about| FileId::of(&about));
        let is_hidden = |step: &Step| {
            let name = step.below.first().map(|name| folded(name));
            Some(step.id) == home && name.is_some_and(|name| name.starts_with('.'))
        };
        // Of a workspace that is itself hidden in the home, only what is hidden further down counts.
        let hidden = steps.iter().take(levels + 1).any(is_hidden);
        Ok(hidden.then_some(Guarded::Home))
    }

    /// Whether a file is one of Aside's own files by another name: the target of a link in a folder of Aside's own,
    /// or a file there that has several names.
    pub(super) fn owns(&self, about: &fs::Metadata) -> bool {
        let mut files = HashSet::new();
        for folder in &self.own {
            files.extend(fs::metadata(folder).map(|about| FileId::of(&about)));
            collect(folder, LEVELS, about.nlink() > 1, &mut files);
        }
        files.contains(&FileId::of(about))
    }

    /// Whether a real path leads into a folder of Aside's own.
    pub(super) fn covers(&self, real: &Path) -> bool {
        self.covered.iter().any(|folder| lies_in(real, folder))
    }
}

impl FileId {
    fn of(about: &fs::Metadata) -> Self {
        Self {
            device: about.dev(),
            inode: about.ino(),
        }
    }
}

/// A folder is opened to be passed through, which nobody need be allowed to list. Other systems have no such thing: there
/// what cannot be listed cannot be passed.
#[cfg(target_os = "linux")]
const PASSED: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASSED: OFlags = OFlags::RDONLY;

/// The folder itself and those above it, up to the top.
fn climb(folder: &impl AsFd, real: &Path, below: Vec<OsString>) -> io::Result<Vec<Step>> {
    let open = |at: BorrowedFd<'_>, name| {
        let flags = PASSED | OFlags::DIRECTORY | OFlags::CLOEXEC;
        openat(at, name, flags, Mode::empty()).map(fs::File::from)
    };
    let mut at = open(folder.as_fd(), ".")?;
    let mut names = real.iter().rev();
    let mut steps: Vec<Step> = Vec::new();
    let mut below = below;
    while steps.len() < DEPTH {
        let id = FileId::of(&at.metadata()?);
        if steps.last().is_some_and(|last| last.id == id) {
            return Ok(steps);
        }
        let above = open(at.as_fd(), "..")?;
        steps.push(Step {
            folder: at.into(),
            id,
            below: below.clone(),
        });
        below.insert(0, names.next().unwrap_or(OsStr::new("")).to_owned());
        at = above;
    }
    Err(io::Error::other("too many folders lie above it"))
}

/// Where a path leads: the nearest folder that is there, and the names below it that are not.
fn place(path: &Path) -> Option<(FileId, Vec<OsString>)> {
    let mut path = path.to_owned();
    let mut missing = Vec::new();
    let mut links = 0;
    loop {
        if let Ok(about) = fs::metadata(&path) {
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

/// The real path of a folder that need not be there: that of the nearest one above it that is, and the names below.
/// What is `known` is not looked up again.
fn real_path(folder: &Path, known: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
    if let Some(real) = known.get(folder) {
        return real.clone();
    }
    let real = match folder.parent().zip(folder.file_name()) {
        Some((above, name)) => {
            let here = real_path(above, known).join(name);
            match fs::read_link(&here) {
                Ok(_) => here.canonicalize().unwrap_or(here),
                Err(_) => here,
            }
        }
        None => folder.canonicalize().unwrap_or_else(|_| folder.to_owned()),
    };
    known.insert(folder.to_owned(), real.clone());
    real
}

/// Whether a path is that of a folder or below it, where both are written without anything to resolve. Unlike
/// `starts_with` of paths it takes none of them apart, for each call of a tool asks it.
fn lies_in(path: &Path, folder: &Path) -> bool {
    let path = path.as_os_str().as_bytes();
    let below = path.strip_prefix(folder.as_os_str().as_bytes());
    below.is_some_and(|below| below.is_empty() || below.starts_with(b"/"))
}

fn begins(names: &[OsString], with: &[OsString], same: impl Fn(&OsStr, &OsStr) -> bool) -> bool {
    names.len() >= with.len()
        && names
            .iter()
            .zip(with)
            .all(|(name, other)| same(name, other))
}

/// Whether Git would take the folder for one of its own once what lies below is written.
fn is_git_folder(step: &Step) -> bool {
    let written = step.below.first().map(|name| folded(name));
    let has = |name: &str| {
        written.as_deref() == Some(&name.to_lowercase())
            || statat(&step.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    };
    has("HEAD") && (has("commondir") || (has("objects") && has("refs")))
}

/// The targets of links in a folder, some levels down, and its files where those are wanted too.
fn collect(folder: &Path, levels: usize, plain: bool, files: &mut HashSet<FileId>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(kind) = entry.file_type() else {
            continue;
        };
        if kind.is_dir() && levels > 0 {
            collect(&entry.path(), levels - 1, plain, files);
        } else if (kind.is_symlink() || (plain && kind.is_file())) && files.len() < FILES {
            files.extend(fs::metadata(entry.path()).map(|about| FileId::of(&about)));
        }
    }
}
