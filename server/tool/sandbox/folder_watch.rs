//! Folders of which the kernel tells each change, so that nobody has to look at them.
//!
//! Whoever watches a folder and all those above it, from the top, misses no change below the topmost: the kernel tells
//! of an exchange of any of them before the call of the program that exchanges it returns.

use std::{
    collections::{BTreeSet, HashMap},
    ffi::OsStr,
    fs,
    mem::MaybeUninit,
    os::{
        fd::OwnedFd,
        unix::{ffi::OsStrExt, fs::MetadataExt},
    },
    path::{Path, PathBuf},
};

use rustix::{
    fs::{
        inotify::{self, CreateFlags, ReadFlags, Reader, WatchFlags},
        statfs,
    },
    io::Errno,
};

/// File with the number of folders that a user may watch.
const MOST: &str = "/proc/sys/fs/inotify/max_user_watches";
/// The part of them that is used; the others are left to editors and the like.
const PART: usize = 4;
/// Bytes of changes that are read at once.
const BYTES: usize = 64 << 10;

/// Events of a folder: each change of its entries, of its mode and of its place.
const WANTED: WatchFlags = WatchFlags::CREATE
    .union(WatchFlags::DELETE)
    .union(WatchFlags::MOVE)
    .union(WatchFlags::ATTRIB)
    .union(WatchFlags::DELETE_SELF)
    .union(WatchFlags::MOVE_SELF)
    .union(WatchFlags::ONLYDIR)
    .union(WatchFlags::DONT_FOLLOW);
/// Events of a folder that is another one now, or none.
const GONE: ReadFlags = ReadFlags::DELETE_SELF
    .union(ReadFlags::MOVE_SELF)
    .union(ReadFlags::UNMOUNT)
    .union(ReadFlags::IGNORED);

/// Kinds of file systems that no other machine changes: those of Linux for disks and memory, and layers of them.
const LOCAL: [u64; 8] = [
    0xef53,      // ext2, ext3 and ext4
    0x9123_683e, // Btrfs
    0x5846_5342, // XFS
    0xf2f5_2010, // F2FS
    0x2fc1_2fc1, // ZFS
    0xca45_1a4e, // Bcachefs
    0x0102_1994, // memory
    0x794c_7630, // layers
];

/// Folders that are watched.
#[derive(Debug)]
pub(super) struct FolderWatch {
    events: OwnedFd,
    /// The paths of each watched folder, which is one folder by whatever path it is reached.
    paths: HashMap<i32, Vec<PathBuf>>,
    /// Whether file systems are local, by their device.
    devices: HashMap<u64, bool>,
    /// Number of folders that may still be watched.
    left: usize,
}

/// Changes since the last time.
#[derive(Debug, Default)]
pub(super) struct FolderChanges {
    /// Folders with other entries, or another mode.
    pub(super) changed: BTreeSet<PathBuf>,
    /// Paths at which something else may lie, or nothing.
    pub(super) replaced: BTreeSet<PathBuf>,
    /// Whether there were more than the kernel keeps.
    pub(super) are_lost: bool,
}

impl FolderWatch {
    pub(super) fn open() -> Option<Self> {
        let most: usize = fs::read_to_string(MOST).ok()?.trim().parse().ok()?;
        let flags = CreateFlags::CLOEXEC | CreateFlags::NONBLOCK;
        Some(Self {
            events: inotify::init(flags).ok()?,
            paths: HashMap::new(),
            devices: HashMap::new(),
            left: most / PART,
        })
    }

    /// Watches a folder; those above it are watched already. None where that cannot be done.
    pub(super) fn add(&mut self, folder: &Path) -> Option<i32> {
        if self.left == 0 {
            return None;
        }
        let device = fs::symlink_metadata(folder).ok()?.dev();
        let devices = self.devices.entry(device);
        if !*devices.or_insert_with(|| is_local(folder)) {
            return None;
        }
        match inotify::add_watch(&self.events, folder, WANTED) {
            Ok(watch) => {
                self.left -= 1;
                self.paths.entry(watch).or_default().push(folder.to_owned());
                Some(watch)
            }
            Err(error) => {
                if error == Errno::NOSPC {
                    self.left = 0;
                }
                None
            }
        }
    }

    /// Watches a folder no more that was reached by this path.
    pub(super) fn forget(&mut self, watch: i32, folder: &Path) {
        let Some(paths) = self.paths.get_mut(&watch) else {
            return;
        };
        if let Some(at) = paths.iter().position(|path| path == folder) {
            paths.swap_remove(at);
            self.left += 1;
        }
        if paths.is_empty() {
            self.paths.remove(&watch);
            // If this fails, it is not watched already.
            let _ = inotify::remove_watch(&self.events, watch);
        }
    }

    /// Changes since the last time.
    pub(super) fn changes(&mut self) -> FolderChanges {
        let mut all = FolderChanges::default();
        let mut bytes = vec![MaybeUninit::uninit(); BYTES];
        let mut reader = Reader::new(&self.events, &mut bytes);
        loop {
            let event = match reader.next() {
                Ok(event) => event,
                Err(Errno::INTR) => continue,
                Err(Errno::WOULDBLOCK) => return all,
                Err(_) => {
                    all.are_lost = true;
                    return all;
                }
            };
            let what = event.events();
            all.are_lost |= what.contains(ReadFlags::QUEUE_OVERFLOW);
            let paths = self.paths.get(&event.wd());
            for path in paths.into_iter().flatten() {
                match event.file_name() {
                    // The mode of a folder is told by its own watch, that of a file counts for nothing.
                    Some(_) if !what.intersects(ENTRIES) => {}
                    Some(name) => {
                        all.replaced
                            .insert(path.join(OsStr::from_bytes(name.to_bytes())));
                        all.changed.insert(path.clone());
                    }
                    None if what.intersects(GONE) => {
                        all.replaced.insert(path.clone());
                        all.changed.extend(path.parent().map(Path::to_owned));
                    }
                    None => {
                        all.changed.insert(path.clone());
                    }
                }
            }
        }
    }
}

/// Events of entries that came or went.
const ENTRIES: ReadFlags = ReadFlags::CREATE
    .union(ReadFlags::DELETE)
    .union(ReadFlags::MOVED_FROM)
    .union(ReadFlags::MOVED_TO);

fn is_local(folder: &Path) -> bool {
    statfs(folder).is_ok_and(|about| {
        let kind = u64::try_from(about.f_type).unwrap_or_default();
        LOCAL.contains(&kind)
    })
}
