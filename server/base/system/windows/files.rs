//! Files opened without waiting, files for the user alone, the identity of a file, and what a file is besides its content.
//!
//! The folder of a user's profile is private by its list of rights, and so is what is made in it: nothing is added to that
//! here.

use std::{
    fs::{self, DirEntry, File, Metadata, OpenOptions, Permissions},
    io::{self, Seek, SeekFrom, Write},
    ops::Deref,
    os::windows::fs::{FileExt, MetadataExt, OpenOptionsExt},
    path::Path,
    thread,
    time::{Duration, SystemTime},
};

use cap_std::fs::Dir;
use windows_sys::Win32::{
    Foundation::{
        ERROR_ACCESS_DENIED, ERROR_FILENAME_EXCED_RANGE, ERROR_LOCK_VIOLATION,
        ERROR_NOT_SAME_DEVICE, ERROR_SHARING_VIOLATION, ERROR_UNABLE_TO_MOVE_REPLACEMENT,
        ERROR_UNABLE_TO_MOVE_REPLACEMENT_2, ERROR_UNABLE_TO_REMOVE_REPLACED,
        ERROR_USER_MAPPED_FILE, ERROR_WRITE_PROTECT,
    },
    Storage::FileSystem::{
        FILE_ATTRIBUTE_ARCHIVE, FILE_ATTRIBUTE_NORMAL, FILE_ATTRIBUTE_READONLY,
        FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_READ_ATTRIBUTES,
    },
};

use super::{
    calls::{self, HandleKind},
    folders::{self, AsFolder},
};

/// Times that a file is replaced again which another program has open, and the pause before the next, which doubles. A
/// scanner holds a new file for some milliseconds.
const TRIES: u32 = 9;
const PAUSE: Duration = Duration::from_millis(2);

/// Opens a file of an unknown type. What is no file is found out once it is open; pipes and devices have names of their
/// own here.
pub fn cautious(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// The same for a file that is opened itself: a link in its place is no file.
pub fn cautious_itself(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
}

/// Opens a file of an unknown type in an open folder in the way of [`cautious`].
pub fn cautious_inside(options: &mut cap_std::fs::OpenOptions) -> &mut cap_std::fs::OpenOptions {
    options
}

/// Makes a folder that only the user can enter, as the one above it is the user's, with the folders above it.
///
/// # Errors
/// If the folder cannot be made.
pub fn make_folder_for_user(folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)
}

/// Makes a new file for the user alone, as the folder is that it lies in.
pub fn for_user_alone(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Makes a file or folder that is there accessible to the user alone, as it is by the folder that it lies in.
///
/// # Errors
/// None here.
pub fn keep_for_user(_path: &Path) -> io::Result<()> {
    Ok(())
}

/// What the system tells of a file or folder. Beside the metadata it has what the system tells of an open file alone.
#[derive(Clone, Debug)]
pub struct FileFacts {
    metadata: Metadata,
    volume: u32,
    number: u64,
    names: u32,
    touched: i64,
}

impl FileFacts {
    /// What lies at a path; links are followed.
    ///
    /// # Errors
    /// If there is nothing, or the system does not tell.
    pub fn at(path: &Path) -> io::Result<Self> {
        Self::opened(path, FILE_FLAG_BACKUP_SEMANTICS)
    }

    /// The same, and of a link the link itself.
    ///
    /// # Errors
    /// As of [`FileFacts::at`].
    pub fn itself(path: &Path) -> io::Result<Self> {
        Self::opened(
            path,
            FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT,
        )
    }

    /// An entry of a folder, a link itself.
    ///
    /// # Errors
    /// As of [`FileFacts::at`].
    pub fn entry(entry: &DirEntry) -> io::Result<Self> {
        Self::itself(&entry.path())
    }

    /// An open file or folder.
    ///
    /// # Errors
    /// If the system does not tell, as of what lies on no disk.
    pub fn of(file: &File) -> io::Result<Self> {
        if calls::kind(file) != HandleKind::Disk {
            return Err(io::Error::other("it is not a file"));
        }
        let (about, basic) = calls::about(file)?;
        Ok(Self {
            metadata: file.metadata()?,
            volume: about.dwVolumeSerialNumber,
            number: u64::from(about.nFileIndexHigh) << 32 | u64::from(about.nFileIndexLow),
            names: about.nNumberOfLinks,
            touched: basic.ChangeTime,
        })
    }

    fn opened(path: &Path, flags: u32) -> io::Result<Self> {
        let mut options = File::options();
        options
            .access_mode(FILE_READ_ATTRIBUTES)
            .custom_flags(flags);
        Self::of(&options.open(path)?)
    }
}

impl Deref for FileFacts {
    type Target = Metadata;

    fn deref(&self) -> &Metadata {
        &self.metadata
    }
}

/// The identity of a file or folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId {
    volume: u32,
    number: u64,
}

impl FileId {
    /// The identity of the file that this is about.
    #[must_use]
    pub fn of(about: &FileFacts) -> Self {
        Self {
            volume: about.volume,
            number: about.number,
        }
    }
}

/// The number of the file system that a file lies in.
#[must_use]
pub fn file_system(about: &FileFacts) -> u64 {
    about.volume.into()
}

/// The number of names that a file has.
#[must_use]
pub fn names(about: &FileFacts) -> u64 {
    about.names.into()
}

/// The number of a file in its file system, which no other file has at the same time.
#[must_use]
pub fn number(about: &FileFacts) -> u64 {
    about.number
}

/// The time at which the content of a file was last changed, as it says, in seconds and nanoseconds.
#[must_use]
pub fn changed(about: &FileFacts) -> (i64, i64) {
    since(about.last_write_time().cast_signed())
}

/// The time of the last change of any kind, in seconds and nanoseconds.
#[must_use]
pub fn touched(about: &FileFacts) -> (i64, i64) {
    since(about.touched)
}

/// A time of the system, which counts steps of 100 ns since 1601, in seconds and nanoseconds since 1970.
fn since(steps: i64) -> (i64, i64) {
    const SECOND: i64 = 10_000_000;
    const EPOCH: i64 = 11_644_473_600;
    let (seconds, rest) = (steps.div_euclid(SECOND), steps.rem_euclid(SECOND));
    (seconds - EPOCH, rest * 100)
}

/// The attributes of a file as a number, which is another one after each change of them.
#[must_use]
pub fn mode(about: &FileFacts) -> u32 {
    about.file_attributes()
}

/// The permissions that a number stands for: none, for lists of rights are more than a number here.
#[must_use]
pub fn permissions(_mode: u32) -> Option<Permissions> {
    None
}

/// The time at which a file came into being. None where the file system does not keep that.
#[must_use]
pub fn born(about: &FileFacts) -> Option<SystemTime> {
    about.created().ok()
}

/// Whether this is a pipe, which is none of a file's names here.
#[must_use]
pub fn is_pipe(_about: &FileFacts) -> bool {
    false
}

/// Reads at most so many bytes from a place of a file, and returns how many these are.
///
/// # Errors
/// If the file cannot be read.
pub fn read_at(file: &File, bytes: &mut [u8], at: u64) -> io::Result<usize> {
    staying(file, || file.seek_read(bytes, at))
}

/// Reads exactly so many bytes from a place of a file.
///
/// # Errors
/// If the file cannot be read, or ends before.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut at: u64) -> io::Result<()> {
    staying(file, move || {
        while !bytes.is_empty() {
            match file.seek_read(bytes, at) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    bytes = &mut bytes[count..];
                    at += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    })
}

/// Reads elsewhere in a file. That moves the place from which others read on, so it is put back.
fn staying<T>(mut file: &File, read: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let place = file.stream_position()?;
    let read = read();
    file.seek(SeekFrom::Start(place))?;
    read
}

/// Opens a file to append to it, and to cut it off, for which the right to append alone is not enough here.
pub fn appending(options: &mut OpenOptions) -> &mut OpenOptions {
    options.write(true)
}

/// Hands bytes to the system in one call, to append them to a file that was opened for that, and returns the number of
/// those that it took. Whoever appends has the file's lock: another one would write at the same place.
///
/// # Errors
/// If the system takes none.
pub fn append_once(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    file.seek(SeekFrom::End(0))?;
    write_once(file, bytes)
}

/// Hands bytes to the system in one call, and returns the number of those that it took.
///
/// # Errors
/// If the system takes none.
pub fn write_once(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    file.write(bytes)
}

/// What a file is besides its content and its names: all that a copy which keeps everything would have. What the system
/// itself gives the file that takes the place of another one is not in it, see [`replace_in`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Likeness {
    /// The number of names.
    pub names: u64,
    attributes: u32,
    is_own: bool,
}

impl Likeness {
    /// The likeness of an open file.
    ///
    /// # Errors
    /// If the system does not tell.
    pub fn of(file: &File) -> io::Result<Self> {
        let about = FileFacts::of(file)?;
        Ok(Self {
            names: names(&about),
            attributes: about.file_attributes() & !(FILE_ATTRIBUTE_ARCHIVE | FILE_ATTRIBUTE_NORMAL),
            is_own: calls::is_own_file(file).unwrap_or(false),
        })
    }

    /// Whether the file belongs to another user than the one of this process.
    #[must_use]
    pub fn is_foreign(&self) -> bool {
        !self.is_own
    }

    /// Makes a new file of one name like this, which takes the place of the other one by [`replace_in`]: so all of it is
    /// given, unless the file is another user's, or is read-only, which cannot be replaced.
    ///
    /// # Errors
    /// None here.
    pub fn give(&self, _file: &File) -> io::Result<bool> {
        Ok(self.is_own && self.attributes & FILE_ATTRIBUTE_READONLY == 0)
    }
}

/// Whether an error says that a file cannot be made or replaced in its folder, which says nothing of the file itself.
#[must_use]
pub fn is_forbidden(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(i32::cast_unsigned);
    is_in_use(error)
        || matches!(
            code,
            Some(
                ERROR_WRITE_PROTECT
                    | ERROR_NOT_SAME_DEVICE
                    | ERROR_FILENAME_EXCED_RANGE
                    | ERROR_UNABLE_TO_REMOVE_REPLACED
                    | ERROR_UNABLE_TO_MOVE_REPLACEMENT
                    | ERROR_UNABLE_TO_MOVE_REPLACEMENT_2
            )
        )
}

/// Whether an error says that another program has a file open, which soon may not be so.
fn is_in_use(error: &io::Error) -> bool {
    let code = error.raw_os_error().map(i32::cast_unsigned);
    matches!(
        code,
        Some(
            ERROR_ACCESS_DENIED
                | ERROR_SHARING_VIOLATION
                | ERROR_LOCK_VIOLATION
                | ERROR_USER_MAPPED_FILE
        )
    )
}

/// Does something again, as long as it fails because another program has the file open.
fn patiently<T>(work: impl Fn() -> io::Result<T>) -> io::Result<T> {
    for step in 0..TRIES {
        match work() {
            Err(error) if is_in_use(&error) => thread::sleep(PAUSE * 2_u32.pow(step)),
            done => return done,
        }
    }
    work()
}

/// Gives a new file in a folder the name of another one there, whose place it takes at once, with its rights, attributes,
/// times and further streams.
///
/// # Errors
/// If the other one cannot be replaced, as while another program has it open.
pub fn replace_in(folder: &Dir, new: &str, name: &str) -> io::Result<()> {
    let folder = folders::path_of(folder)?;
    let (new, place) = (folder.join(new), folder.join(name));
    patiently(|| calls::replace_file(&place, &new))
}

/// Gives a new file the path of another one, whose place it takes at once.
///
/// # Errors
/// If the other one cannot be replaced, as while another program has it open.
pub fn replace(new: &Path, path: &Path) -> io::Result<()> {
    patiently(|| fs::rename(new, path))
}

/// Opens a file in a folder to be written, without following a link. One of the user's own that is read-only is made
/// writable for that moment; `itself` is the same file, opened in another way.
///
/// # Errors
/// If the file cannot be written.
pub fn open_to_write(at: &impl AsFolder, name: &str, itself: &File) -> io::Result<File> {
    let path = folders::path_of(at)?.join(name);
    let open = || {
        let mut options = File::options();
        options
            .write(true)
            .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
        patiently(|| options.open(&path))
    };
    let about = FileFacts::of(itself)?;
    if !is_read_only(&about) {
        return open();
    }
    let given = about.permissions();
    let mut writable = given.clone();
    #[expect(
        clippy::permissions_set_readonly_false,
        reason = "this is one attribute of a file here, and nobody else may write then"
    )]
    writable.set_readonly(false);
    fs::set_permissions(&path, writable)?;
    let opened = open();
    fs::set_permissions(&path, given)?;
    opened
}

/// Makes sure that there is room for a file of `bytes` to become one of `more` bytes, where the file system can tell. It
/// does not here.
///
/// # Errors
/// None here.
pub fn reserve(_file: &File, _bytes: usize, _more: usize) -> io::Result<()> {
    Ok(())
}

/// Writes a content over that of a file, from its first byte on, and cuts off what is left behind it.
///
/// # Errors
/// If some of it could not be written.
pub fn overwrite(file: &File, content: &[u8]) -> io::Result<()> {
    let mut at = 0;
    while at < content.len() {
        at += match file.seek_write(&content[at..], at as u64)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => count,
        };
    }
    file.set_len(content.len() as u64)
}

/// Whether a file is read-only by its attributes, whoever asks.
#[must_use]
pub fn is_read_only(about: &FileFacts) -> bool {
    about.permissions().readonly()
}

/// Whether the user of this process may write a file itself.
#[must_use]
pub fn may_write(path: &Path) -> bool {
    File::options().write(true).open(path).is_ok()
}

/// Whether a file is another user's. Those of administrators and of the system are none.
///
/// # Errors
/// If its owner cannot be told.
pub fn is_of_another(file: &File) -> io::Result<bool> {
    Ok(!calls::is_own_file(file)?)
}

/// Whether a file or folder belongs to the user of this process.
#[must_use]
pub fn is_own(path: &Path) -> bool {
    calls::is_own_path(path).unwrap_or(false)
}

/// Whether an open file may decide what this user's programs do: for one with the rights of an administrator, none of
/// another user may.
///
/// # Errors
/// If its owner cannot be told.
pub fn may_decide(file: &File) -> io::Result<bool> {
    Ok(!calls::is_elevated()? || calls::is_own_file(file)?)
}

/// Makes an unnamed file, which is gone with its last user.
///
/// # Errors
/// If the system has no room for one.
pub fn unnamed() -> io::Result<File> {
    tempfile::tempfile()
}
