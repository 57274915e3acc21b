//! The folders of a tree as they were seen last. Only those that changed are listed again.
//!
//! Whether a folder changed tells its state, or in a large tree the kernel, see [`super::folder_watch`].

use std::{
    collections::{BTreeMap, BTreeSet},
    num::NonZero,
    panic::resume_unwind,
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicUsize},
    thread,
};

use super::{
    folder_watch::{FolderChanges, FolderWatch},
    listed_folder::{FolderContent, FolderStamp, Unseen},
    mountinfo::{self, MountLine},
    package_folders::{PackageShare, may_be_marked, package_share},
};
use crate::workspace::{
    folded_name,
    protected::{LONGEST, fixed_above},
};

/// Number of folders that one thread looks at; more are shared between several.
const SHARE: usize = 250;
/// Maximum number of threads that look at folders.
const THREADS: usize = 4;
/// Searches of a tree before its folders are watched, which costs more than a search.
const SEARCHES: usize = 2;

/// The folders of a tree.
#[derive(Debug)]
pub(super) struct PlaceTree {
    root: PathBuf,
    folders: BTreeMap<PathBuf, SeenFolder>,
    /// Folders of which the kernel told a change.
    changed: BTreeSet<PathBuf>,
    /// Whether the kernel told less than there was.
    is_lost: bool,
    /// Folders of which the kernel tells nothing.
    unwatched: BTreeSet<PathBuf>,
    /// Folders that hold places or links, or may hide some places.
    special: BTreeSet<PathBuf>,
    /// Folders in which a folder may be a package manager's.
    shared: BTreeSet<PathBuf>,
    /// Mounts in the tree, if they could be told.
    mounts: Option<Vec<MountLine>>,
    /// Number of all entries.
    count: usize,
    searches: usize,
}

/// A folder that was looked at.
#[derive(Debug, Default)]
pub(super) struct SeenFolder {
    /// The last of the folded names that lead to it, of which the root's own is one.
    pub(super) names: Vec<Arc<str>>,
    /// Whether it lies in a folder of a package manager in which only repositories count.
    is_owned: bool,
    /// State when it was listed. None if it has to be listed again.
    stamp: Option<FolderStamp>,
    watch: Option<i32>,
    /// Folders in it that were looked at too.
    inner: Vec<PathBuf>,
    /// Folders in it that may be a package manager's, and how far they are.
    shares: Vec<(PathBuf, PackageShare)>,
    count: usize,
    /// Places in it, or the folder itself, each with the number of folders above it that cannot be moved.
    pub(super) places: Vec<(PathBuf, usize)>,
    pub(super) unseen: Option<Unseen>,
    /// Whether a link has the name of a folder in which places lie.
    pub(super) has_way: bool,
    /// Links in it.
    pub(super) links: Vec<PathBuf>,
}

impl PlaceTree {
    pub(super) fn new(root: PathBuf) -> Self {
        Self {
            root,
            folders: BTreeMap::new(),
            changed: BTreeSet::new(),
            is_lost: false,
            unwatched: BTreeSet::new(),
            special: BTreeSet::new(),
            shared: BTreeSet::new(),
            mounts: None,
            count: 0,
            searches: 0,
        }
    }

    /// Number of folders.
    pub(super) fn len(&self) -> usize {
        self.folders.len()
    }

    pub(super) fn is_root(&self, folder: &Path) -> bool {
        folder == self.root
    }

    /// The folders that hold places or links, or may hide some places, and the topmost one.
    pub(super) fn special(&self) -> impl Iterator<Item = (&PathBuf, &SeenFolder)> {
        let special = self.special.iter();
        special.filter_map(|folder| self.folders.get_key_value(folder))
    }

    /// Takes what the kernel told.
    pub(super) fn hear(&mut self, changes: &FolderChanges, watch: &mut FolderWatch) {
        for folder in &changes.replaced {
            self.forget(folder, Some(watch));
        }
        self.changed.extend(changes.changed.iter().cloned());
        self.is_lost |= changes.are_lost;
    }

    /// Looks at what changed, at so many entries altogether. Where the tree `is_watched`, the kernel tells of changes from
    /// then on. Returns the number of entries that are left.
    pub(super) fn update(
        &mut self,
        most: usize,
        mut watch: Option<&mut FolderWatch>,
        is_watched: bool,
    ) -> AtomicUsize {
        let root = self.root.clone();
        let mounts = mounts_below(&root);
        if mounts.is_none() || mounts != self.mounts || self.folders.is_empty() {
            self.forget(&root, watch.as_deref_mut());
            self.mounts = mounts;
            let own = root.file_name().map(|name| folded_name(name).into());
            let whole = SeenFolder {
                names: Vec::from_iter(own),
                ..SeenFolder::default()
            };
            self.unwatched.insert(root.clone());
            self.folders.insert(root, whole);
        }
        let is_watched = is_watched && self.searches >= SEARCHES;
        let mut level = self.stale(watch.as_deref_mut().filter(|_| is_watched));
        self.searches += 1;
        for folder in &level {
            let seen = self.folders.get_mut(folder);
            self.count -= seen.map_or(0, |it| std::mem::take(&mut it.count));
        }
        let left = AtomicUsize::new(most.saturating_sub(self.count));
        while !level.is_empty() {
            let looked = by_threads(&level, |folder| {
                let stamp = FolderStamp::settled(folder);
                (FolderContent::list(folder, &left), stamp)
            });
            let mut next = Vec::new();
            for (folder, (content, stamp)) in level.iter().zip(looked) {
                next.extend(self.visit(folder, &content, stamp, watch.as_deref_mut()));
            }
            level = next;
        }
        left
    }

    /// The folders that may have changed, from the top.
    fn stale(&mut self, watch: Option<&mut FolderWatch>) -> Vec<PathBuf> {
        let mut stale = std::mem::take(&mut self.changed);
        if let Some(watch) = watch {
            // From the top, so that no exchange of a folder above is missed; that of the topmost shows in its state.
            let root = &self.root;
            let mut watched = Vec::new();
            for path in self.unwatched.iter().filter(|path| *path != root) {
                let Some(seen) = self.folders.get_mut(path) else {
                    continue;
                };
                seen.watch = watch.add(path);
                if seen.watch.is_some() {
                    watched.push(path.clone());
                    if !seen.is_as_it_was(path) {
                        stale.insert(path.clone());
                    }
                }
            }
            for path in &watched {
                self.unwatched.remove(path);
            }
        }
        let doubtful: Vec<&PathBuf> = match std::mem::take(&mut self.is_lost) {
            true => self.folders.keys().collect(),
            false => self.unwatched.iter().collect(),
        };
        let are_same = by_threads(&doubtful, |path| {
            let seen = self.folders.get(*path);
            seen.is_some_and(|seen| seen.is_as_it_was(path))
        });
        let others = doubtful
            .iter()
            .zip(are_same)
            .filter(|(_, is_same)| !is_same);
        stale.extend(others.map(|(path, _)| (*path).clone()));
        for folder in &self.shared {
            let shares = self.folders.get(folder).map(|seen| &seen.shares);
            let mut shares = shares.into_iter().flatten();
            if shares.any(|(path, share)| share_of(path) != *share) {
                stale.insert(folder.clone());
            }
        }
        stale.retain(|folder| self.folders.contains_key(folder));
        stale.into_iter().collect()
    }

    /// Takes the content of a folder. Returns the folders in it that were not looked at before.
    fn visit(
        &mut self,
        folder: &Path,
        content: &FolderContent,
        stamp: Option<FolderStamp>,
        mut watch: Option<&mut FolderWatch>,
    ) -> Vec<PathBuf> {
        let Some(old) = self.folders.remove(folder) else {
            return Vec::new();
        };
        self.count -= old.count;
        let mut seen = SeenFolder {
            // What was not seen whole is looked at again.
            stamp: stamp.filter(|_| content.unseen.is_none()),
            count: content.count,
            unseen: content.unseen,
            has_way: content.has_way,
            links: content.links.iter().map(|it| folder.join(it)).collect(),
            names: old.names,
            is_owned: old.is_owned,
            watch: old.watch,
            ..SeenFolder::default()
        };
        let mut new = Vec::new();
        if content.is_git {
            seen.places.push((folder.to_owned(), usize::MAX));
        }
        let is_searched = !content.is_git || folder == self.root;
        for entry in content.entries.iter().filter(|_| is_searched) {
            let name = &entry.name;
            // The folders of worktrees and submodules belong to the repository.
            if content.is_git && (name == "worktrees" || name == "modules") {
                continue;
            }
            let path = folder.join(name);
            let known = seen.names.len().saturating_sub(LONGEST - 1);
            let names = seen.names[known..].iter();
            let names: Vec<_> = names.chain([&entry.folded]).cloned().collect();
            if entry.may_be_place
                && let Some(fixed) = fixed_above(&names)
                && (!seen.is_owned || fixed == usize::MAX)
            {
                seen.places.push((path, fixed));
                continue;
            }
            if !entry.is_folder {
                continue;
            }
            let share = package_share(&path, name);
            if may_be_marked(name) {
                seen.shares.push((path.clone(), share));
            }
            if share == PackageShare::All {
                continue;
            }
            let is_owned = seen.is_owned || share == PackageShare::AllButRepositories;
            seen.inner.push(path.clone());
            if self
                .folders
                .get(&path)
                .is_some_and(|inner| inner.is_owned != is_owned)
            {
                self.forget(&path, watch.as_deref_mut());
            }
            if !self.folders.contains_key(&path) {
                let inner = SeenFolder {
                    names,
                    is_owned,
                    ..SeenFolder::default()
                };
                self.folders.insert(path.clone(), inner);
                self.unwatched.insert(path.clone());
                new.push(path);
            }
        }
        let kept: BTreeSet<&PathBuf> = seen.inner.iter().collect();
        for gone in old.inner.iter().filter(|inner| !kept.contains(inner)) {
            self.forget(gone, watch.as_deref_mut());
        }
        let is_special = folder == self.root
            || seen.has_way
            || seen.unseen.is_some()
            || !seen.places.is_empty()
            || !seen.links.is_empty();
        note(&mut self.special, folder, is_special);
        note(&mut self.shared, folder, !seen.shares.is_empty());
        self.count += seen.count;
        self.folders.insert(folder.to_owned(), seen);
        new
    }

    /// Forgets a folder and all below it.
    fn forget(&mut self, folder: &Path, mut watch: Option<&mut FolderWatch>) {
        let below = self.folders.range(folder.to_owned()..);
        let below: Vec<PathBuf> = below
            .map(|(path, _)| path)
            .take_while(|path| path.starts_with(folder))
            .cloned()
            .collect();
        for path in below {
            let Some(seen) = self.folders.remove(&path) else {
                continue;
            };
            if let (Some(watch), Some(number)) = (&mut watch, seen.watch) {
                watch.forget(number, &path);
            }
            self.count -= seen.count;
            self.unwatched.remove(&path);
            self.special.remove(&path);
            self.shared.remove(&path);
        }
    }
}

impl SeenFolder {
    /// Whether the folder at its path has not changed since it was listed.
    fn is_as_it_was(&self, path: &Path) -> bool {
        self.stamp.is_some() && FolderStamp::settled(path) == self.stamp
    }
}

/// Adds a folder to a set, or takes it out.
fn note(set: &mut BTreeSet<PathBuf>, folder: &Path, is_in: bool) {
    match is_in {
        true => {
            set.insert(folder.to_owned());
        }
        false => {
            set.remove(folder);
        }
    }
}

fn share_of(path: &Path) -> PackageShare {
    let name = path.file_name();
    name.map_or(PackageShare::None, |name| package_share(path, name))
}

/// The mounts in a folder.
fn mounts_below(root: &Path) -> Option<Vec<MountLine>> {
    let mut mounts = mountinfo::mounts().ok()?;
    mounts.retain(|line| line.point.starts_with(root));
    Some(mounts)
}

/// Looks at each of these, by several threads where there are many.
fn by_threads<T: Sync, F: Send>(all: &[T], look: impl Fn(&T) -> F + Sync) -> Vec<F> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let shares = all.len().div_ceil(SHARE).min(threads).min(THREADS);
    let look = |share: &[T]| -> Vec<F> { share.iter().map(&look).collect() };
    if shares < 2 {
        return look(all);
    }
    thread::scope(|scope| {
        let look = &look;
        let shares = all.chunks(all.len().div_ceil(shares));
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
    })
}
