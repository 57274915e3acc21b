//! The search for protected places in a folder, by name and level by level.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    sync::{Arc, LazyLock, Mutex, atomic::AtomicUsize},
};

use aside_base::{
    lock,
    system::folders::{EntryKind, canonical, listed},
};

use super::{
    folder_watch::FolderWatch,
    git,
    listed_folder::{Unseen, is_hindrance, take},
    package_folders::is_packaged,
    place_tree::{PlaceTree, SeenFolder},
    places::{OpenGap, Places},
};
use crate::workspace::{
    folded_name,
    protected::{exact_places, fixed_above},
};

/// Maximum number of entries that are searched.
const ENTRIES: usize = 500_000;
/// Maximum number of folders that are remembered.
const FOLDERS: usize = 200_000;
/// Number of folders of a tree from which on the kernel tells their changes; fewer are soon looked at.
const WATCHED: usize = 1000;

/// Folders that were listed, for as long as they have not changed.
#[derive(Debug, Default)]
pub(crate) struct ListedFolders(Mutex<ListedTrees>);

/// What this process has listed, for the workspaces of all its turns.
static OF_PROCESS: LazyLock<Arc<ListedFolders>> = LazyLock::new(Arc::default);

/// The trees of folders that were listed, by their roots.
#[derive(Debug)]
struct ListedTrees {
    /// Those above which a command may exchange a folder are others.
    trees: HashMap<(PathBuf, bool), PlaceTree>,
    watch: Option<FolderWatch>,
    /// Maximum number of entries that are searched.
    entries: usize,
    /// Number of folders of a tree from which on they are watched.
    watched: usize,
}

/// Finds the protected places in a folder, level by level. Links are not followed, and only folders are opened. What was
/// listed before is not listed again.
pub(crate) fn guarded(root: &Path, writable: &[PathBuf], listed: &ListedFolders) -> Places {
    lock(&listed.0).search(root, writable)
}

impl ListedFolders {
    pub(crate) fn of_process() -> Arc<Self> {
        OF_PROCESS.clone()
    }
}

impl Default for ListedTrees {
    fn default() -> Self {
        Self {
            trees: HashMap::new(),
            watch: None,
            entries: ENTRIES,
            watched: WATCHED,
        }
    }
}

impl ListedTrees {
    fn search(&mut self, root: &Path, writable: &[PathBuf]) -> Places {
        if self.trees.values().map(PlaceTree::len).sum::<usize>() > FOLDERS {
            self.trees.clear();
            self.watch = None;
        }
        self.hear();
        // Of an exchange of what lies above, nobody tells.
        let mut others = writable.iter().filter(|folder| *folder != root);
        let is_topmost = !others.any(|folder| root.starts_with(folder));
        let tree = self.trees.entry((root.to_owned(), is_topmost));
        let tree = tree.or_insert_with(|| PlaceTree::new(root.to_owned()));
        let is_watched = is_topmost && tree.len() >= self.watched;
        if is_watched && self.watch.is_none() {
            self.watch = FolderWatch::open();
        }
        let left = tree.update(self.entries, self.watch.as_mut(), is_watched);
        let mut search = PlaceSearch {
            root,
            writable,
            found: Places::default(),
            left,
        };
        search.take(tree);
        search.found
    }

    /// Takes what the kernel told of the folders.
    fn hear(&mut self) {
        let Some(watch) = &mut self.watch else {
            return;
        };
        let changes = watch.changes();
        for tree in self.trees.values_mut() {
            tree.hear(&changes, watch);
        }
    }
}

/// A search for protected places.
struct PlaceSearch<'a> {
    root: &'a Path,
    writable: &'a [PathBuf],
    found: Places,
    /// Number of entries that may still be looked at.
    left: AtomicUsize,
}

impl PlaceSearch<'_> {
    fn take(&mut self, tree: &PlaceTree) {
        // At the top, names count whatever there is no more room to look at.
        let is_cut = tree.special().any(|(_, seen)| seen.unseen.is_some());
        for (folder, seen) in tree.special() {
            if let Some(unseen) = seen.unseen {
                self.note(folder, unseen);
            }
            if seen.unseen.is_some() || seen.has_way || (is_cut && tree.is_root(folder)) {
                self.look_up(folder, seen);
            }
            for (place, fixed) in &seen.places {
                self.add(place.clone(), *fixed);
            }
            let links = seen.links.iter();
            let writable = self.writable;
            let links = links.filter(|link| leads_into_packages(link, writable));
            self.found.package_links.extend(links.cloned());
        }
    }

    /// Notes that not all of a folder was seen. Which folders are left when there are too many entries differs each time,
    /// and what a person allows is bound to the gap, so it is that of the topmost one.
    fn note(&mut self, folder: &Path, unseen: Unseen) {
        self.found.gaps.insert(match unseen {
            Unseen::Many => OpenGap::Many(self.root.to_owned()),
            Unseen::Unread => OpenGap::Unread(folder.to_owned()),
        });
    }

    /// Looks the places up by name, in whatever order the folder lists them and however many.
    fn look_up(&mut self, folder: &Path, seen: &SeenFolder) {
        for place in exact_places() {
            let path = folder.join(&place);
            if fs::symlink_metadata(&path).is_ok() {
                let mut names = seen.names.clone();
                names.extend(place.iter().map(|name| folded_name(name).into()));
                if let Some(fixed) = fixed_above(&names) {
                    self.add(path, fixed);
                }
            }
        }
    }

    /// Adds a place, and what links in it lead to.
    fn add(&mut self, path: PathBuf, fixed: usize) {
        self.found.add(path.clone(), fixed, self.writable);
        // What Git reads in a repository is looked at there.
        if fixed < usize::MAX || !git::is_repository(&path) {
            self.add_links(&path, &path, fixed < usize::MAX);
        }
    }

    /// Adds the links in a protected place that lead out of it, from one of its folders and, where it is no repository,
    /// from all below.
    fn add_links(&mut self, place: &Path, folder: &Path, is_deep: bool) {
        let entries = match listed(folder) {
            Ok(entries) => entries,
            Err(error) => {
                // A place may also be a file, or none.
                if is_hindrance(&error, folder) {
                    self.note(folder, Unseen::Unread);
                }
                return;
            }
        };
        for entry in entries {
            let Ok((name, kind)) = entry else {
                return self.note(folder, Unseen::Unread);
            };
            if !take(&self.left) {
                return self.note(folder, Unseen::Many);
            }
            let path = folder.join(name);
            match kind {
                EntryKind::Link => {
                    let real = canonical(&path);
                    if !real.is_ok_and(|real| real.starts_with(place)) {
                        self.found.add(path, usize::MAX, self.writable);
                    }
                }
                EntryKind::File if is_deep => self.found.note_file(&path),
                EntryKind::Folder if is_deep => self.add_links(place, &path, is_deep),
                _ => {}
            }
        }
    }
}

/// Whether a link leads to a folder that is not searched, as a package manager owns it.
fn leads_into_packages(link: &Path, writable: &[PathBuf]) -> bool {
    let real = canonical(link).ok().filter(|real| real.is_dir());
    real.is_some_and(|real| writable.iter().any(|root| is_packaged(&real, root)))
}

#[cfg(test)]
#[cfg(unix)]
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

    /// Exchanges two names, or moves one where the system cannot.
    fn exchange(one: &Path, other: &Path) {
        #[cfg(target_os = "linux")]
        {
            use rustix::fs::{CWD, RenameFlags, renameat_with};
            let _ = renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE);
        }
        #[cfg(not(target_os = "linux"))]
        {
            let _ = fs::rename(one, other);
        }
    }

    #[test]
    fn what_is_remembered_is_what_is_there_fuzzed() {
        const NAMES: [&str; 16] = [
            "a",
            "b",
            "a",
            "b",
            ".vscode",
            ".envrc",
            ".git",
            "target",
            "node_modules",
            "vendor",
            ".cargo",
            "config.toml",
            "CACHEDIR.TAG",
            "autoload.php",
            "HEAD",
            "objects",
        ];
        for watched in [0, 3, usize::MAX] {
            let folder = tempfile::tempdir().unwrap();
            let root = &folder.path().canonicalize().unwrap();
            let writable = [root.clone()];
            let mut random = fastrand::Rng::with_seed(watched as u64);
            let mut known = ListedTrees {
                watched,
                ..ListedTrees::default()
            };
            let mut most = 0;
            for step in 0..500 {
                let mut path = || {
                    let names = (0..=random.usize(..4)).map(|_| NAMES[random.usize(..NAMES.len())]);
                    root.join(names.collect::<PathBuf>())
                };
                let (one, other) = (path(), path());
                let _ = fs::create_dir_all(one.parent().unwrap());
                match random.usize(..9) {
                    0..3 => fs::create_dir_all(&one).unwrap_or_default(),
                    3 => fs::write(&one, "").unwrap_or_default(),
                    4 => fs::remove_dir_all(&one).unwrap_or_default(),
                    5 => fs::remove_file(&one).unwrap_or_default(),
                    6 => fs::rename(&one, &other).unwrap_or_default(),
                    7 => std::os::unix::fs::symlink(&other, &one).unwrap_or_default(),
                    _ => exchange(&one, &other),
                }
                // Some changes are seen together.
                if random.usize(..3) > 0 {
                    let fresh = ListedTrees::default().search(root, &writable);
                    most = most.max(fresh.paths().count());
                    assert_eq!(
                        known.search(root, &writable),
                        fresh,
                        "step {step}, watched from {watched}"
                    );
                }
            }
            assert!(most > 5, "too few places to compare");
        }
    }

    #[test]
    fn changes_that_the_kernel_does_not_keep_are_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let root = &folder.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("a/b")).unwrap();
        let writable = [root.clone()];
        let mut known = ListedTrees {
            watched: 0,
            ..ListedTrees::default()
        };
        for _ in 0..4 {
            assert_eq!(known.search(root, &writable), Places::default());
        }
        let queue =
            fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap_or_default();
        for number in 0..queue.trim().parse().unwrap_or(0) + 10 {
            fs::create_dir(root.join("a/c")).unwrap();
            fs::rename(root.join("a/c"), root.join("a/d")).unwrap();
            fs::remove_dir(root.join("a/d")).unwrap();
            if number == 5000 {
                fs::write(root.join("a/b/.envrc"), "").unwrap();
            }
        }
        fs::create_dir(root.join("a/b/.vscode")).unwrap();
        assert_eq!(
            known.search(root, &writable),
            ListedTrees::default().search(root, &writable)
        );
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
            let mut bounded = ListedTrees {
                entries: most,
                ..ListedTrees::default()
            };
            let cut = bounded.search(root, &writable);
            let many = OpenGap::Many(root.to_owned());
            assert_eq!(cut.gaps, [many].into(), "{most}");
            let top = all
                .iter()
                .filter(|path| !path.starts_with(root.join("sub")));
            for path in top {
                assert!(cut.paths().any(|it| it == path), "{path:?} of {most}");
            }
        }
    }
}
