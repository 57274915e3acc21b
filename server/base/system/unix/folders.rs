//! Open folders, whose content is reached by name without following links.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::{fd::OwnedFd, unix::ffi::OsStringExt},
    path::PathBuf,
};

pub use std::os::fd::AsFd as AsFolder;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, openat, statat};

use super::files::CAUTIOUS;

/// An open folder.
pub type FolderHandle = OwnedFd;

/// The kind of an entry of a folder. A link is neither a file nor a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// Anything else.
    Other,
}

impl EntryKind {
    fn of(kind: FileType) -> Self {
        match kind {
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            _ => Self::Other,
        }
    }
}

/// Flags to open a folder without permission to list it. Other systems lack this, so that a folder which cannot be
/// listed cannot be passed there.
#[cfg(target_os = "linux")]
const PASSED: OFlags = OFlags::PATH;
#[cfg(not(target_os = "linux"))]
const PASSED: OFlags = OFlags::RDONLY;

/// Opens a folder in a folder.
///
/// # Errors
/// If there is no folder of this name, or a link in its place.
pub fn open(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<FolderHandle> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, name.as_ref(), flags, Mode::empty())?)
}

/// Opens a folder in a folder to look further from there, even where it cannot be listed. Links are followed.
///
/// # Errors
/// If there is no folder of this name.
pub fn pass(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<File> {
    let flags = PASSED | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(at, name.as_ref(), flags, Mode::empty())?.into())
}

/// Opens a file in a folder for reading, without waiting. The file may be of any type.
///
/// # Errors
/// If there is no file of this name, or a link in its place.
pub fn open_file(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC | CAUTIOUS;
    Ok(openat(at, name.as_ref(), flags, Mode::empty())?.into())
}

/// The kind of an entry of a folder, or `None` if there is none of this name.
#[must_use]
pub fn kind(at: &impl AsFolder, name: impl AsRef<OsStr>) -> Option<EntryKind> {
    let about = statat(at, name.as_ref(), AtFlags::SYMLINK_NOFOLLOW).ok()?;
    Some(EntryKind::of(FileType::from_raw_mode(about.st_mode)))
}

/// The first entries of a folder, at most so many, in the order of the file system.
///
/// # Errors
/// If the folder cannot be listed.
pub fn entries(folder: &impl AsFolder, most: usize) -> io::Result<Vec<(OsString, EntryKind)>> {
    let mut entries = Vec::new();
    for entry in Dir::read_from(folder)?.flatten().take(most) {
        let name = entry.file_name().to_bytes();
        if matches!(name, b"." | b"..") {
            continue;
        }
        let name = OsString::from_vec(name.to_vec());
        let kind = match entry.file_type() {
            // Some file systems do not list it.
            FileType::Unknown => kind(folder, &name).unwrap_or(EntryKind::Other),
            kind => EntryKind::of(kind),
        };
        entries.push((name, kind));
    }
    Ok(entries)
}

/// The real path of an open file or folder, from the kernel.
///
/// # Errors
/// If the system cannot tell.
pub fn real_path(opened: &impl AsFolder) -> io::Result<PathBuf> {
    #[cfg(target_vendor = "apple")]
    {
        let path = rustix::fs::getpath(opened)?;
        Ok(OsString::from_vec(path.into_bytes()).into())
    }
    #[cfg(not(target_vendor = "apple"))]
    {
        use std::os::fd::AsRawFd;
        std::fs::read_link(format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()))
    }
}
