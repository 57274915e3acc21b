//! Files opened without waiting, files for the user alone, the identity of a file, and what a file is besides its content.

use std::{
    collections::BTreeMap,
    ffi::CString,
    fs::{DirBuilder, DirEntry, File, Metadata, OpenOptions, Permissions},
    io,
    ops::Deref,
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

/// Extended attributes that macOS gives files by itself, and lets no program give.
const OF_SYSTEM: [&[u8]; 2] = [b"com.apple.provenance", b"com.apple.macl"];

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

/// What the system tells of a file or folder. Beside the metadata it has what not every system tells with them.
#[derive(Clone, Debug)]
pub struct FileFacts(Metadata);

impl FileFacts {
    /// What lies at a path; links are followed.
    ///
    /// # Errors
    /// If there is nothing, or the system does not tell.
    pub fn at(path: &Path) -> io::Result<Self> {
        path.metadata().map(Self)
    }

    /// The same, and of a link the link itself.
    ///
    /// # Errors
    /// As of [`FileFacts::at`].
    pub fn itself(path: &Path) -> io::Result<Self> {
        path.symlink_metadata().map(Self)
    }

    /// An entry of a folder, a link itself.
    ///
    /// # Errors
    /// As of [`FileFacts::at`].
    pub fn entry(entry: &DirEntry) -> io::Result<Self> {
        entry.metadata().map(Self)
    }

    /// An open file or folder.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn of(file: &File) -> io::Result<Self> {
        file.metadata().map(Self)
    }
}

impl Deref for FileFacts {
    type Target = Metadata;

    fn deref(&self) -> &Metadata {
        &self.0
    }
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
    pub fn of(about: &FileFacts) -> Self {
        Self {
            device: about.dev(),
            number: about.ino(),
        }
    }
}

/// The number of the file system that a file lies in.
#[must_use]
pub fn file_system(about: &FileFacts) -> u64 {
    about.dev()
}

/// The number of names that a file has.
#[must_use]
pub fn names(about: &FileFacts) -> u64 {
    about.nlink()
}

/// The number of a file in its file system, which no other file has at the same time.
#[must_use]
pub fn number(about: &FileFacts) -> u64 {
    about.ino()
}

/// The time at which the content of a file was last changed, as it says, in seconds and nanoseconds.
#[must_use]
pub fn changed(about: &FileFacts) -> (i64, i64) {
    (about.mtime(), about.mtime_nsec())
}

/// The time of the last change of any kind, which no program can set, in seconds and nanoseconds.
#[must_use]
pub fn touched(about: &FileFacts) -> (i64, i64) {
    (about.ctime(), about.ctime_nsec())
}

/// The permissions of a file as a number, which is another one after each change of them.
#[must_use]
pub fn mode(about: &FileFacts) -> u32 {
    about.mode()
}

/// The permissions that a number stands for; none where a system has no such numbers.
#[must_use]
pub fn permissions(mode: u32) -> Option<Permissions> {
    Some(Permissions::from_mode(mode & 0o777))
}

/// Makes a file or folder that is there accessible to the user alone.
///
/// # Errors
/// If its permissions cannot be changed.
pub fn keep_for_user(path: &Path) -> io::Result<()> {
    let mode = match path.metadata()?.is_dir() {
        true => 0o700,
        false => 0o600,
    };
    std::fs::set_permissions(path, Permissions::from_mode(mode))
}

/// The time at which a file came into being: that of its birth where the file system keeps that, else of its last change.
/// None for a folder without a birth, which changes with its content.
#[must_use]
pub fn born(about: &FileFacts) -> Option<SystemTime> {
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
pub fn is_pipe(about: &FileFacts) -> bool {
    about.file_type().is_fifo()
}

/// Reads exactly so many bytes from a place of a file, wherever others read and write in it.
///
/// # Errors
/// If the file cannot be read, or ends before.
pub fn read_exact_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<()> {
    file.read_exact_at(bytes, at)
}

/// Opens a file to append to it, and to cut it off.
pub fn appending(options: &mut OpenOptions) -> &mut OpenOptions {
    options.append(true)
}

/// Hands bytes to the system in one call, to append them to a file that was opened for that, and returns the number of
/// those that it took.
///
/// # Errors
/// If the system takes none.
pub fn append_once(file: &File, bytes: &[u8]) -> io::Result<usize> {
    write_once(file, bytes)
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
    /// Extended attributes by name, lists of access rights among them, but for those that no program can give.
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

/// The extended attributes of a file but for those that no program can give; none where the file system has none.
fn attributes(file: &File) -> io::Result<BTreeMap<CString, Vec<u8>>> {
    let mut list = vec![0; ATTRIBUTES];
    let length = match fs::flistxattr(file, &mut list[..]) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => 0,
        Err(error) => return Err(error.into()),
    };
    let mut attributes = BTreeMap::new();
    let names = list[..length].split(|byte| *byte == 0);
    for name in names.filter(|name| !OF_SYSTEM.contains(name)) {
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
pub fn is_read_only(about: &FileFacts) -> bool {
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
///
/// # Errors
/// If its owner cannot be told.
pub fn is_of_another(file: &File) -> io::Result<bool> {
    let user = rustix::process::geteuid();
    Ok(!user.is_root() && file.metadata()?.uid() != user.as_raw())
}

/// Whether a file or folder belongs to the user of this process.
#[must_use]
pub fn is_own(path: &Path) -> bool {
    let user = rustix::process::getuid().as_raw();
    path.symlink_metadata()
        .is_ok_and(|about| about.uid() == user)
}

/// Whether an open file may decide what this user's programs do: for root, none of another user may.
///
/// # Errors
/// If its owner cannot be told.
pub fn may_decide(file: &File) -> io::Result<bool> {
    let owner = file.metadata()?.uid();
    Ok(!rustix::process::geteuid().is_root() || owner == 0)
}

/// Makes an unnamed file, which is gone with its last user.
///
/// # Errors
/// If the system has no room for one.
pub fn unnamed() -> io::Result<File> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{MemfdFlags, memfd_create};
        Ok(memfd_create("unnamed", MemfdFlags::CLOEXEC)?.into())
    }
    #[cfg(not(target_os = "linux"))]
    tempfile::tempfile()
}

/// Reads at most so many bytes from a place of a file, and returns how many these are.
///
/// # Errors
/// If the file cannot be read.
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    file.read_at(bytes, at)
}

/// Gives a new file in a folder the name of another one there, whose place it takes at once.
///
/// # Errors
/// If the other one cannot be replaced.
pub fn replace_in(folder: &cap_std::fs::Dir, new: &str, name: &str) -> io::Result<()> {
    folder.rename(new, folder, name)
}

/// Gives a new file the path of another one, whose place it takes at once.
///
/// # Errors
/// If the other one cannot be replaced.
pub fn replace(new: &Path, path: &Path) -> io::Result<()> {
    std::fs::rename(new, path)
}
