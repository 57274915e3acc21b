//! Files opened without waiting, files for the user alone, and the identity of a file.

use std::{
    fs::{DirBuilder, File, Metadata, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt},
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::fs::OFlags;

/// Flags for opening a file of an unknown type: without waiting, and without becoming the terminal of this process.
pub(super) const CAUTIOUS: OFlags = OFlags::NONBLOCK.union(OFlags::NOCTTY);

/// Opens a file of an unknown type without waiting, and without becoming the terminal of this process.
pub fn cautious(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(CAUTIOUS.bits().cast_signed())
}

/// The same for a file that is opened itself: a link in its place is an error.
pub fn cautious_itself(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(CAUTIOUS.union(OFlags::NOFOLLOW).bits().cast_signed())
}

/// Opens a file of an unknown type in an open folder in the way of [`cautious`].
pub fn cautious_inside(options: &mut cap_std::fs::OpenOptions) -> &mut cap_std::fs::OpenOptions {
    use cap_std::fs::OpenOptionsExt;
    options.custom_flags(CAUTIOUS.bits().cast_signed())
}

/// Makes a folder that only the user can enter, with the folders above it.
///
/// # Errors
/// If the folder cannot be made.
pub fn make_folder_for_user(folder: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

/// Makes a new file for the user alone.
pub fn for_user_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    options.mode(0o600)
}

/// The identity of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FileId {
    device: u64,
    number: u64,
}

impl FileId {
    /// The identity of the file that this is about.
    #[must_use]
    pub fn of(about: &Metadata) -> Self {
        Self {
            device: about.dev(),
            number: about.ino(),
        }
    }
}

/// The number of names that a file has.
#[must_use]
pub fn names(about: &Metadata) -> u64 {
    about.nlink()
}

/// The number of a file in its file system, which no other file has at the same time.
#[must_use]
pub fn number(about: &Metadata) -> u64 {
    about.ino()
}

/// The time of the last change of a file, in seconds and nanoseconds.
#[must_use]
pub fn changed(about: &Metadata) -> (i64, i64) {
    (about.mtime(), about.mtime_nsec())
}

/// The time at which a file came into being: that of its birth where the file system keeps that, else of its last change.
/// None for a folder without a birth, which changes with its content.
#[must_use]
pub fn born(about: &Metadata) -> Option<SystemTime> {
    let changed = || {
        let seconds = u64::try_from(about.ctime()).ok()?;
        let part = u64::try_from(about.ctime_nsec()).ok()?;
        let since = Duration::from_secs(seconds) + Duration::from_nanos(part);
        SystemTime::UNIX_EPOCH.checked_add(since)
    };
    match about.created() {
        Ok(born) => Some(born),
        Err(_) if about.is_dir() => None,
        Err(_) => changed(),
    }
}

/// Whether this is a pipe.
#[must_use]
pub fn is_pipe(about: &Metadata) -> bool {
    about.file_type().is_fifo()
}

/// Reads exactly so many bytes from a place of a file, wherever others read and write in it.
///
/// # Errors
/// If the file cannot be read, or ends before.
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// Hands bytes to the system in one call, and returns the number of those that it took.
///
/// # Errors
/// If the system takes none.
pub fn write_once(file: &File, bytes: &[u8]) -> io::Result<usize> {
    Ok(rustix::io::retry_on_intr(|| {
        rustix::io::write(file, bytes)
    })?)
}
