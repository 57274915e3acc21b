//! Files opened without waiting, files for the user alone, the identity of a file, and what a file is besides its content.

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs::{DirBuilder, File, Metadata, OpenOptions, Permissions},
    io,
    os::{
        fd::AsFd,
        unix::fs::{
            DirBuilderExt, FileExt, FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt,
        },
    },
    path::Path,
    time::{Duration, SystemTime},
};

use rustix::{
    fs::{self, Mode, OFlags, XattrFlags},
    io::Errno,
};

/// Maximum size in bytes of an extended attribute, and of the list of them, on Linux.
const ATTRIBUTES: usize = 64 << 10;

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
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// What a file is besides its content and its names: all that a copy which keeps everything would have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Likeness {
    /// The number of names.
    pub names: u64,
    owner: u32,
    group: u32,
    mode: u32,
    /// Extended attributes by name, lists of access rights among them.
    attributes: BTreeMap<CString, Vec<u8>>,
}

impl Likeness {
    /// The likeness of an open file.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn of(file: &File) -> io::Result<Self> {
        let about = file.metadata()?;
        Ok(Self {
            names: about.nlink(),
            owner: about.uid(),
            group: about.gid(),
            mode: about.mode() & 0o7777,
            attributes: attributes(file)?,
        })
    }

    /// Whether the file belongs to another user than the one of this process.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        self.owner != rustix::process::geteuid().as_raw()
    }

    /// Makes a new file of one name like this. Returns whether the system allowed all of it.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn give(&self, file: &File) -> io::Result<bool> {
        let now = Self::of(file)?;
        if (now.owner, now.group) != (self.owner, self.group) {
            // What is refused shows below.
            let _ = std::os::unix::fs::fchown(file, Some(self.owner), Some(self.group));
        }
        for name in now.attributes.keys() {
            if !self.attributes.contains_key(name) {
                let _ = fs::fremovexattr(file, name);
            }
        }
        for (name, value) in &self.attributes {
            if now.attributes.get(name) != Some(value) {
                let _ = fs::fsetxattr(file, name, value, XattrFlags::empty());
            }
        }
        let _ = file.set_permissions(Permissions::from_mode(self.mode));
        let names = now.names;
        Ok(Self::of(file)?
            == Self {
                names,
                ..self.clone()
            })
    }
}

/// The extended attributes of a file; none where the file system has none.
fn attributes(file: &File) -> io::Result<BTreeMap<CString, Vec<u8>>> {
    let mut list = vec![0; ATTRIBUTES];
    let length = match fs::flistxattr(file, &mut list[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => 0,
        Err(error) => return Err(error.into()),
    };
    let mut attributes = BTreeMap::new();
    for name in list[..length].split(|byte| *byte == 0) {
        if let Ok(name) = CString::new(name)
            && !name.is_empty()
        {
            let mut value = vec![0; ATTRIBUTES];
            let length = fs::fgetxattr(file, &name, &mut value[..])?;
            value.truncate(length);
            attributes.insert(name, value);
        }
    }
    Ok(attributes)
}

/// Whether an error says that a file cannot be made or replaced in its folder, which says nothing of the file itself.
#[must_use]
pub fn is_forbidden(error: &io::Error) -> bool {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    [
        Errno::ACCESS,
        Errno::PERM,
        Errno::ROFS,
        Errno::BUSY,
        Errno::XDEV,
        Errno::NAMETOOLONG,
    ]
    .into_iter()
    .any(is)
}

/// Opens a file in a folder to be written, without following a link. One of the user's own that is read-only is made
/// writable for that moment; `itself` is the same file, opened in another way.
///
/// # Errors
/// If the file cannot be written.
pub fn open_to_write(at: &impl AsFd, name: &str, itself: &File) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | CAUTIOUS;
    let open = || -> io::Result<File> { Ok(fs::openat(at, name, flags, Mode::empty())?.into()) };
    let about = itself.metadata()?;
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    match open() {
        Err(error) if is_own && error.kind() == io::ErrorKind::PermissionDenied => {
            itself.set_permissions(Permissions::from_mode(about.mode() & 0o7777 | 0o200))?;
            let opened = open();
            itself.set_permissions(about.permissions())?;
            opened
        }
        opened => opened,
    }
}

/// Makes sure that there is room for a file of `bytes` to become one of `more` bytes, where the file system can tell.
///
/// # Errors
/// If there is no room.
pub fn reserve(file: &File, bytes: usize, more: usize) -> io::Result<()> {
    #[cfg(target_os = "linux")]
    if more > bytes {
        let flags = fs::FallocateFlags::KEEP_SIZE;
        let reserved = fs::fallocate(file, flags, bytes as u64, (more - bytes) as u64);
        if let Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) = reserved {
            return Err(error.into());
        }
    }
    let _ = (file, bytes, more);
    Ok(())
}

/// Writes a content over that of a file, from its first byte on, and cuts off what is left behind it.
///
/// # Errors
/// If some of it could not be written.
pub fn overwrite(file: &File, content: &[u8]) -> io::Result<()> {
    file.write_all_at(content, 0)?;
    file.set_len(content.len() as u64)
}

/// Whether a file is read-only by its mode, whoever asks.
#[must_use]
pub fn is_read_only(about: &Metadata) -> bool {
    let is_own = about.uid() == rustix::process::geteuid().as_raw();
    about.mode() & 0o222 == 0 || (is_own && about.mode() & 0o200 == 0)
}

/// Whether the user of this process may write a file itself.
#[must_use]
pub fn may_write(path: &Path) -> bool {
    fs::accessat(fs::CWD, path, fs::Access::WRITE_OK, fs::AtFlags::EACCESS).is_ok()
}

/// Whether a file is another user's. To the system's own user, who may write each file and leaves its owner as it is,
/// none is.
#[must_use]
pub fn is_of_another(about: &Metadata) -> bool {
    let user = rustix::process::geteuid();
    !user.is_root() && about.uid() != user.as_raw()
}
