//! The search for protected places in a folder, by name and level by level.

use std::{
    collections::HashMap,
    ffi::{OsStr, OsString},
    fs,
    num::NonZero,
    os::unix::{ffi::OsStrExt, fs::MetadataExt},
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{
        Arc, LazyLock, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, SystemTime},
};

use aside_base::lock;
use rustix::{
    fs::{Dir, FileType, Mode, OFlags},
    io::Errno,
};

use super::{
    package_folders::{PackageShare, package_share},
    places::{OpenGap, Places},
};
use crate::workspace::{
    folded_name,
    protected::{LONGEST, exact_places, fixed_above, may_end_in, may_lie_in},
};

/// Maximum number of entries that are searched.
const ENTRIES: usize = 500_000;
/// Levels of folders below a protected one in which links are looked for.
const LEVELS: usize = 4;
/// Longest step in which a file system counts time: a folder that changed in it may change again and look the same.
const STEP: Duration = Duration::from_secs(3);
/// Number of folders that one thread looks at; more are shared between several.
const SHARE: usize = 250;
/// Maximum number of threads that look at folders.
const THREADS: usize = 4;
/// Maximum number of folders of which the content is remembered.
const LISTED: usize = 200_000;

/// Content of folders that were listed, for as long as they have not changed.
#[derive(Debug, Default)]
pub(crate) struct ListedFolders(Mutex<HashMap<PathBuf, ListedFolder>>);

/// What this process has listed, for the workspaces of all its turns.
static OF_PROCESS: LazyLock<Arc<ListedFolders>> = LazyLock::new(Arc::default);

/// A folder that was listed.
#[derive(Clone, Debug)]
struct ListedFolder {
    stamp: FolderStamp,
    content: Arc<FolderContent>,
}

/// State of a folder, which is another one after each change of its entries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct FolderStamp {
    device: u64,
    number: u64,
    /// The time of the last change of any kind, in seconds and nanoseconds, which no program can set.
    changed: (i64, i64),
}

/// Finds the protected places in a folder, level by level. Links are not followed, and only folders are opened. What was
/// listed before is not listed again.
pub(crate) fn guarded(root: &Path, writable: &[PathBuf], listed: &ListedFolders) -> Places {
    let mut listed = lock(&listed.0);
    if listed.len() > LISTED {
        listed.clear();
    }
    PlaceSearch::new(writable, ENTRIES, &mut listed).run(root)
}

impl ListedFolders {
    pub(crate) fn of_process() -> Arc<Self> {
        OF_PROCESS.clone()
    }
}

impl FolderStamp {
    /// The state of a folder, if it is older than the steps in which the file system counts time.
    fn settled(folder: &Path) -> Option<Self> {
        let about = fs::symlink_metadata(folder).ok()?;
        let seconds = u64::try_from(about.ctime()).ok()?;
        let changed = SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))?
            + Duration::from_nanos(u64::try_from(about.ctime_nsec()).ok()?);
        let age = SystemTime::now().duration_since(changed).ok()?;
        (age > STEP).then_some(Self {
            device: about.dev(),
            number: about.ino(),
            changed: (about.ctime(), about.ctime_nsec()),
        })
    }
}

/// A search for protected places.
struct PlaceSearch<'a> {
    writable: &'a [PathBuf],
    listed: &'a mut HashMap<PathBuf, ListedFolder>,
    found: Places,
    /// Number of entries that may still be looked at.
    left: AtomicUsize,
}

/// A folder that is searched, with the last of the folded names that lead to it, of which the root's own is one.
struct SearchedFolder {
    path: PathBuf,
    names: Vec<Arc<str>>,
    /// Whether it lies in a folder of a package manager in which only repositories count.
    is_owned: bool,
}

/// Content of a folder, as far as it matters here.
#[derive(Debug, Default)]
struct FolderContent {
    /// Folders, and entries whose last name is that of a protected place.
    entries: Vec<ListedEntry>,
    is_git: bool,
    /// Whether a link has the name of a folder in which places lie.
    has_way: bool,
    /// Number of all entries.
    count: usize,
    /// The reason why not all of it was seen.
    unseen: Option<Unseen>,
}

/// An entry of a folder.
#[derive(Debug)]
struct ListedEntry {
    name: OsString,
    folded: Arc<str>,
    is_folder: bool,
    /// Whether the name is the last of a protected place.
    may_be_place: bool,
}

/// The reason why not all of a folder was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unseen {
    Many,
    Unread,
}

impl<'a> PlaceSearch<'a> {
    fn new(
        writable: &'a [PathBuf],
        left: usize,
        listed: &'a mut HashMap<PathBuf, ListedFolder>,
    ) -> Self {
        Self {
            writable,
            listed,
            found: Places::default(),
            left: AtomicUsize::new(left),
        }
    }

    fn run(mut self, root: &Path) -> Places {
        // The root itself may have a protected name, such as `.cargo`.
        let own = root.file_name().map(|name| folded_name(name).into());
        let root = SearchedFolder {
            path: root.to_owned(),
            names: Vec::from_iter(own),
            is_owned: false,
        };
        self.look_up(&root);
        let mut level = vec![root];
        let mut is_root = true;
        while !level.is_empty() {
            let mut next = Vec::new();
            for (folder, content) in level.iter().zip(self.contents(&level)) {
                self.visit(folder, &content, is_root, &mut next);
            }
            level = next;
            is_root = false;
        }
        self.found
    }

    /// Looks the places up by name, in whatever order the folder lists them and however many.
    fn look_up(&mut self, folder: &SearchedFolder) {
        for place in exact_places() {
            let path = folder.path.join(&place);
            if fs::symlink_metadata(&path).is_ok() {
                let mut names = folder.names.clone();
                names.extend(place.iter().map(|name| folded_name(name).into()));
                self.add(path, &names);
            }
        }
    }

    fn visit(
        &mut self,
        folder: &SearchedFolder,
        content: &FolderContent,
        is_root: bool,
        next: &mut Vec<SearchedFolder>,
    ) {
        if let Some(unseen) = content.unseen {
            let path = folder.path.clone();
            self.found.gaps.insert(match unseen {
                Unseen::Many => OpenGap::Many(path),
                Unseen::Unread => OpenGap::Unread(path),
            });
            self.look_up(folder);
        }
        if content.has_way {
            self.look_up(folder);
        }
        if content.is_git {
            self.found
                .add(folder.path.clone(), usize::MAX, self.writable);
            if !is_root {
                return;
            }
        }
        for entry in &content.entries {
            let name = &entry.name;
            // The folders of worktrees and submodules belong to the repository.
            if content.is_git && (name == "worktrees" || name == "modules") {
                continue;
            }
            let path = folder.path.join(name);
            let known = folder.names.len().saturating_sub(LONGEST - 1);
            let names = folder.names[known..].iter();
            let names: Vec<_> = names.chain([&entry.folded]).cloned().collect();
            let counts = !folder.is_owned || fixed_above(&names) == Some(usize::MAX);
            if entry.may_be_place && counts && self.add(path.clone(), &names) {
                continue;
            }
            let share = match entry.is_folder {
                true => package_share(&path, name),
                false => PackageShare::All,
            };
            if share != PackageShare::All {
                let is_owned = folder.is_owned || share == PackageShare::AllButRepositories;
                next.push(SearchedFolder {
                    path,
                    names,
                    is_owned,
                });
            }
        }
    }

    /// Adds a place if these names are those of one, and what links in it lead to.
    fn add(&mut self, path: PathBuf, names: &[Arc<str>]) -> bool {
        let Some(fixed) = fixed_above(names) else {
            return false;
        };
        self.found.add(path.clone(), fixed, self.writable);
        if fixed < usize::MAX {
            self.add_links(&path, &path, LEVELS);
        }
        true
    }

    /// Adds the links in a protected place that lead out of it, from one of its folders and from some levels below.
    fn add_links(&mut self, place: &Path, folder: &Path, levels: usize) {
        let entries = open(folder).into_iter().flatten().flatten();
        for entry in entries.take(self.left.load(Ordering::Relaxed)) {
            let name = entry.file_name().to_bytes();
            let path = folder.join(OsStr::from_bytes(name));
            match entry.file_type() {
                FileType::Symlink => {
                    let real = fs::canonicalize(&path);
                    if !real.is_ok_and(|real| real.starts_with(place)) {
                        self.found.add(path, usize::MAX, self.writable);
                    }
                }
                FileType::Directory if levels > 0 && name != b"." && name != b".." => {
                    self.add_links(place, &path, levels - 1);
                }
                _ => {}
            }
        }
    }

    /// The content of each folder, by several threads where there are many.
    fn contents(&mut self, level: &[SearchedFolder]) -> Vec<Arc<FolderContent>> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let shares = level.len().div_ceil(SHARE).min(threads).min(THREADS);
        let look = |share: &[SearchedFolder]| -> Vec<_> {
            share.iter().map(|folder| self.look(&folder.path)).collect()
        };
        let looked = match shares {
            0 | 1 => look(level),
            _ => thread::scope(|scope| {
                let look = &look;
                let shares = level.chunks(level.len().div_ceil(shares));
                let shares: Vec<_> = shares
                    .map(|share| {
                        let thread = thread::Builder::new();
                        (share, thread.spawn_scoped(scope, move || look(share)))
                    })
                    .collect();
                let looked = shares.into_iter().map(|(share, thread)| match thread {
                    Ok(thread) => thread.join().unwrap_or_else(|panic| resume_unwind(panic)),
                    Err(_) => look(share),
                });
                looked.flatten().collect()
            }),
        };
        let contents = level.iter().zip(looked);
        let contents = contents.map(|(folder, (content, stamp))| {
            if let Some(stamp) = stamp {
                let content = content.clone();
                let listed = ListedFolder { stamp, content };
                self.listed.insert(folder.path.clone(), listed);
            }
            content
        });
        contents.collect()
    }

    /// The content of a folder, which is listed unless it is as it was. With its state where it is to be remembered.
    fn look(&self, folder: &Path) -> (Arc<FolderContent>, Option<FolderStamp>) {
        let stamp = FolderStamp::settled(folder);
        if let Some(known) = self.listed.get(folder)
            && Some(known.stamp) == stamp
            && self.take(known.content.count)
        {
            return (known.content.clone(), None);
        }
        let content = self.content(folder);
        let stamp = stamp.filter(|_| content.unseen.is_none());
        (Arc::new(content), stamp)
    }

    /// Counts entries that are looked at. False if there are too many.
    fn take(&self, count: usize) -> bool {
        let less = |left: usize| left.checked_sub(count);
        let order = Ordering::Relaxed;
        self.left.fetch_update(order, order, less).is_ok()
    }

    /// Lists a folder.
    fn content(&self, folder: &Path) -> FolderContent {
        let mut content = FolderContent::default();
        let listed = match open(folder) {
            Ok(listed) => listed,
            Err(error) => {
                content.unseen = is_hindrance(error, folder).then_some(Unseen::Unread);
                return content;
            }
        };
        let (mut head, mut common, mut objects, mut refs) = (false, false, false, false);
        for entry in listed {
            let Ok(entry) = entry else {
                content.unseen = Some(Unseen::Unread);
                break;
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            if !self.take(1) {
                content.unseen = Some(Unseen::Many);
                break;
            }
            content.count += 1;
            match name {
                b"HEAD" => head = true,
                b"commondir" => common = true,
                b"objects" => objects = true,
                b"refs" => refs = true,
                _ => {}
            }
            let name = OsStr::from_bytes(name);
            let is_folder = match entry.file_type() {
                FileType::Unknown => is_folder(&folder.join(name)),
                kind => kind == FileType::Directory,
            };
            content.has_way |=
                entry.file_type() == FileType::Symlink && may_lie_in(&folded_name(name));
            let may_be_place = may_end_in_a_place(name);
            if is_folder || may_be_place {
                content.entries.push(ListedEntry {
                    name: name.to_owned(),
                    folded: folded_name(name).into(),
                    is_folder,
                    may_be_place,
                });
            }
        }
        content.is_git = head && (common || (objects && refs));
        content
    }
}

/// Opens a folder that is no link.
fn open(folder: &Path) -> Result<Dir, Errno> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Dir::new(rustix::fs::open(folder, flags, Mode::empty())?)
}

fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|about| about.is_dir())
}

/// Whether an entry of this name may be a protected place. Most names need no folding.
fn may_end_in_a_place(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let is_plain = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_');
    match std::str::from_utf8(bytes) {
        Ok(text) if bytes.iter().all(is_plain) && !text.ends_with('.') => may_end_in(text),
        _ => may_end_in(&folded_name(name)),
    }
}

/// Whether a folder that cannot be listed may hold places that a command could reach. One that is gone, or that belongs
/// to another user, does not.
fn is_hindrance(error: Errno, folder: &Path) -> bool {
    match error {
        // It is a link by now, or something else.
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP => false,
        Errno::ACCESS | Errno::PERM => is_own(folder),
        _ => true,
    }
}

fn is_own(folder: &Path) -> bool {
    let user = rustix::process::getuid().as_raw();
    fs::symlink_metadata(folder).is_ok_and(|about| about.uid() == user)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search(root: &Path) -> Places {
        guarded(root, &[root.to_owned()], &ListedFolders::default())
    }

    #[test]
    fn places_are_found_at_any_depth_and_not_beneath_each_other() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for at in [
            ".git/hooks/pre-commit",
            "aside.toml",
            "src/main.rs",
            "vendor/x/.git/config",
            "vendor/x/.cargo/config.toml",
            "vendor/x/.cargo/registry/a",
            "fixtures/bare/HEAD",
            "fixtures/bare/objects/a",
            "fixtures/bare/refs/a",
            "a/b/c/d/e/f/g/h/.envrc",
            "a/b/c/d/e/f/g/h/i/.envrc",
            "node_modules/dep/.husky/pre-commit",
            "packages/a/node_modules/dep/.npmrc",
            ".venv/pyvenv.cfg",
            ".venv/lib/x/.idea/a",
            "php/vendor/autoload.php",
            "php/vendor/x/.idea/a",
            "php/vendor/x/y/.git/HEAD",
            "plain/venv/.envrc",
            "not/HEAD",
        ] {
            let path = root.join(at);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("/etc", root.join(".vscode")).unwrap();
        let found = search(root);
        let found: Vec<_> = found
            .paths()
            .map(|path| path.strip_prefix(root).unwrap().display().to_string())
            .collect();
        assert_eq!(
            found,
            [
                ".git",
                ".vscode",
                "a/b/c/d/e/f/g/h/.envrc",
                "a/b/c/d/e/f/g/h/i/.envrc",
                "aside.toml",
                "fixtures/bare",
                "php/vendor/x/y/.git",
                "plain/venv/.envrc",
                "vendor/x/.cargo/config.toml",
                "vendor/x/.git",
            ]
        );
    }

    #[test]
    fn a_folder_is_listed_again_once_it_changed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("a/b")).unwrap();
        let (writable, listed) = ([root.to_owned()], ListedFolders::default());
        let search = || {
            let found = guarded(root, &writable, &listed);
            found.paths().cloned().collect::<Vec<_>>()
        };
        for number in 0..50 {
            assert_eq!(search(), [] as [PathBuf; 0]);
            let place = root.join(["a/.envrc", "a/b/.envrc", ".envrc"][number % 3]);
            fs::write(&place, "").unwrap();
            assert_eq!(search(), std::slice::from_ref(&place), "{number}");
            fs::remove_file(&place).unwrap();
        }
    }

    /// Kinds of places, each with its path.
    const KINDS: [&str; 5] = [
        ".git/config",
        ".envrc",
        ".cargo/config.toml",
        "aside.toml",
        ".vscode/a",
    ];

    #[test]
    fn no_bound_hides_a_place() {
        let memory = Path::new("/dev/shm");
        let base = if memory.is_dir() {
            memory.to_owned()
        } else {
            std::env::temp_dir()
        };
        let folder = tempfile::tempdir_in(base).unwrap();
        let root = folder.path();
        for above in ["", "sub/nested"] {
            for kind in KINDS {
                let path = root.join(above).join(kind);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "").unwrap();
            }
        }
        let all: Vec<PathBuf> = search(root).paths().cloned().collect();
        assert_eq!(all.len(), 2 * KINDS.len());
        // Memory lists the newest first.
        for above in ["", "sub", "sub/nested"] {
            for number in 0..20_000 {
                fs::write(root.join(above).join(format!(".f{number}")), "").unwrap();
            }
        }
        let found = search(root);
        assert!(found.gaps.is_empty());
        assert_eq!(found.paths().cloned().collect::<Vec<_>>(), all);
        // Where a bound is met, that is said, and what is known by name at the top is found all the same.
        let writable = [root.to_owned()];
        for most in [0, 1000, 20_050] {
            let cut = PlaceSearch::new(&writable, most, &mut HashMap::new()).run(root);
            assert!(!cut.gaps.is_empty(), "{most}");
            let top = all
                .iter()
                .filter(|path| !path.starts_with(root.join("sub")));
            for path in top {
                assert!(cut.paths().any(|it| it == path), "{path:?} of {most}");
            }
        }
    }
}
