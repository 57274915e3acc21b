//! Open folders, whose content is reached by name without following links.
//!
//! As long as a folder is open, neither it nor one above it can be exchanged: the system refuses to rename them. So what
//! lies in it is reached by its real path.

use std::{
    ffi::{OsStr, OsString},
    fs::{self, File, FileType, OpenOptions},
    io,
    os::windows::fs::{MetadataExt, OpenOptionsExt},
    path::{Component, Path, PathBuf},
};

pub use std::os::windows::io::AsHandle as AsFolder;

use windows_sys::Win32::Storage::FileSystem::{
    FILE_ATTRIBUTE_REPARSE_POINT, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT,
    FILE_READ_ATTRIBUTES, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_TRAVERSE,
};

use super::calls;

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A link, wherever it leads.
    Link,
    /// Anything else.
    Other,
}

impl EntryKind {
    fn of(kind: FileType) -> Self {
        match kind {
            _ if kind.is_symlink() => Self::Link,
            _ if kind.is_file() => Self::File,
            _ if kind.is_dir() => Self::Folder,
            _ => Self::Other,
        }
    }
}

/// Whether the system moves a folder in which a file is open.
pub const MOVES_OPENED: bool = false;

/// Opens a folder in a folder.
///
/// # Errors
/// If there is no folder of this name, or a link in its place.
pub fn open(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<File> {
    open_itself(&inside(at, name.as_ref())?)
}

/// Opens a folder in a folder to look further from there. Links are followed.
///
/// # Errors
/// If there is no folder of this name.
pub fn pass(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<File> {
    let here = path_of(at)?;
    let path = match name.as_ref() {
        name if name == "." => here,
        name if name == ".." => here.parent().map_or(here.clone(), Path::to_owned),
        name => here.join(name),
    };
    // Not even the right to list it is needed.
    let mut options = File::options();
    options
        .access_mode(FILE_READ_ATTRIBUTES | FILE_TRAVERSE)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    folder_only(options.open(path)?)
}

/// Opens a file in a folder for reading. The file may be of any type.
///
/// # Errors
/// If there is no file of this name, or a link in its place.
pub fn open_file(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<File> {
    let path = inside(at, name.as_ref())?;
    let mut options = File::options();
    options
        .read(true)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    no_link(options.open(path)?)
}

/// The kind of an entry of a folder, or `None` if there is none of this name.
#[must_use]
pub fn kind(at: &impl AsFolder, name: impl AsRef<OsStr>) -> Option<EntryKind> {
    let about = fs::symlink_metadata(inside(at, name.as_ref()).ok()?).ok()?;
    Some(EntryKind::of(about.file_type()))
}

/// The first entries of a folder, at most so many, in the order of the file system.
///
/// # Errors
/// If the folder cannot be listed.
pub fn entries(folder: &impl AsFolder, most: usize) -> io::Result<Vec<(OsString, EntryKind)>> {
    let entries = fs::read_dir(path_of(folder)?)?.flatten().take(most);
    Ok(entries
        .map(|entry| {
            let kind = entry.file_type().map_or(EntryKind::Other, EntryKind::of);
            (entry.file_name(), kind)
        })
        .collect())
}

/// The entries of a folder that is no link, one after the other, in the order of the file system.
///
/// # Errors
/// If the folder cannot be opened.
pub fn listed(
    folder: &Path,
) -> io::Result<impl Iterator<Item = io::Result<(OsString, EntryKind)>> + use<>> {
    let opened = open_itself(folder)?;
    let entries = fs::read_dir(path_of(&opened)?)?;
    Ok(entries.map(move |entry| {
        // Held until all is listed, so that nobody exchanges it meanwhile.
        let _ = &opened;
        let entry = entry?;
        Ok((entry.file_name(), EntryKind::of(entry.file_type()?)))
    }))
}

/// Whether an error says that there is no folder, or something else in its place.
#[must_use]
pub fn is_no_folder(error: &io::Error) -> bool {
    let kinds = [io::ErrorKind::NotFound, io::ErrorKind::NotADirectory];
    kinds.contains(&error.kind())
}

/// Opens a folder. No link on the way to it is followed: another program may have exchanged a folder for one.
///
/// # Errors
/// If the path is not absolute, or a part of it is no folder.
pub fn open_plainly(path: &Path) -> io::Result<File> {
    let mut parts = path.components();
    let (Some(Component::Prefix(_)), Some(Component::RootDir)) = (parts.next(), parts.next())
    else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    if !parts.all(|part| matches!(part, Component::Normal(_))) {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let opened = open_itself(path)?;
    // Once it is open, nothing above it is exchanged any more.
    let mut above = path.ancestors().skip(1).filter(|it| it.parent().is_some());
    let is_link = |folder: &Path| {
        fs::symlink_metadata(folder)
            .is_ok_and(|about| about.file_attributes() & FILE_ATTRIBUTE_REPARSE_POINT != 0)
    };
    match above.any(is_link) {
        true => Err(io::ErrorKind::NotADirectory.into()),
        false => Ok(opened),
    }
}

/// Makes a folder in a folder.
///
/// # Errors
/// If it cannot be made; of the kind [`io::ErrorKind::AlreadyExists`] where there is something.
pub fn make(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<()> {
    fs::create_dir(inside(at, name.as_ref())?)
}

/// Makes a new file in a folder, for writing.
///
/// # Errors
/// As of [`make`].
pub fn make_file(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<File> {
    File::create_new(inside(at, name.as_ref())?)
}

/// Takes a file or a link out of a folder.
///
/// # Errors
/// If there is none, or it cannot be taken out.
pub fn remove_file(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<()> {
    let path = inside(at, name.as_ref())?;
    // A link to a folder is a folder to the system.
    fs::remove_file(&path).or_else(|error| match fs::symlink_metadata(&path) {
        Ok(about) if about.is_symlink() => fs::remove_dir(&path),
        _ => Err(error),
    })
}

/// Gives an entry of a folder another name there.
///
/// # Errors
/// If it cannot be given.
pub fn rename(
    at: &impl AsFolder,
    name: impl AsRef<OsStr>,
    to: impl AsRef<OsStr>,
) -> io::Result<()> {
    fs::rename(inside(at, name.as_ref())?, inside(at, to.as_ref())?)
}

/// The real path of an open file or folder, from the system, in its usual form; the one by which it was opened does not
/// matter.
///
/// # Errors
/// If the system cannot tell.
pub fn real_path(opened: &impl AsFolder, _by: &Path) -> io::Result<PathBuf> {
    path_of(opened)
}

/// The real path of an open file or folder, from the system, in its usual form.
///
/// # Errors
/// If the system cannot tell.
pub(super) fn path_of(opened: &impl AsFolder) -> io::Result<PathBuf> {
    let path = calls::final_path(opened)?;
    Ok(dunce::simplified(&path).to_owned())
}

/// The path without links, dots and other names of the same, in its usual form.
///
/// # Errors
/// If there is nothing at the path.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    dunce::canonicalize(path)
}

/// The name that bytes stand for, as a program wrote them into a file: UTF-8.
#[must_use]
pub fn name_of(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

/// A topmost folder, from which every program can start: that of the drive of the system.
#[must_use]
pub fn topmost() -> PathBuf {
    let mut drive = std::env::var_os("SystemDrive").unwrap_or_else(|| "C:".into());
    drive.push(r"\");
    drive.into()
}

/// The path of an entry of an open folder; its name is one name.
fn inside(at: &impl AsFolder, name: &OsStr) -> io::Result<PathBuf> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(one)), None) if one == name => Ok(path_of(at)?.join(name)),
        (Some(Component::CurDir), None) => path_of(at),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Opens a folder itself, and holds it where it is.
fn open_itself(path: &Path) -> io::Result<File> {
    let flags = FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT;
    folder_only(no_link(held(flags).open(path)?)?)
}

/// The way to open a folder so that nobody renames it meanwhile.
fn held(flags: u32) -> OpenOptions {
    let mut options = File::options();
    options
        .read(true)
        .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
        .custom_flags(flags);
    options
}

fn folder_only(opened: File) -> io::Result<File> {
    match opened.metadata()?.is_dir() {
        true => Ok(opened),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

fn no_link(opened: File) -> io::Result<File> {
    match opened.metadata()?.is_symlink() {
        true => Err(io::ErrorKind::NotADirectory.into()),
        false => Ok(opened),
    }
}
