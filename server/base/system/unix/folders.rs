//! Open folders, whose content is reached by name without following links.

use std::{
    ffi::{OsStr, OsString},
    fs::File,
    io,
    os::unix::ffi::OsStringExt,
    path::{Component, Path, PathBuf},
};

pub use std::os::fd::AsFd as AsFolder;

use rustix::{
    fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, mkdirat, openat, renameat, statat, unlinkat},
    io::Errno,
};

use super::files::CAUTIOUS;

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
            FileType::RegularFile => Self::File,
            FileType::Directory => Self::Folder,
            FileType::Symlink => Self::Link,
            _ => Self::Other,
        }
    }
}

/// Whether the system moves a folder in which a file is open.
pub const MOVES_OPENED: bool = true;

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
pub fn open(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, name.as_ref(), flags, Mode::empty())?.into())
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

/// The entries of a folder that is no link, one after the other, in the order of the file system. An entry that the
/// folder does not tell the kind of is looked at.
///
/// # Errors
/// If the folder cannot be opened.
pub fn listed(
    folder: &Path,
) -> io::Result<impl Iterator<Item = io::Result<(OsString, EntryKind)>> + use<>> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let listed = Dir::new(rustix::fs::open(folder, flags, Mode::empty())?)?;
    let folder = folder.to_owned();
    let is_other = |name: &[u8]| !matches!(name, b"." | b"..");
    Ok(listed.filter_map(move |entry| {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return Some(Err(error.into())),
        };
        let name = Some(entry.file_name().to_bytes()).filter(|name| is_other(name))?;
        let name = OsString::from_vec(name.to_vec());
        let kind = match entry.file_type() {
            FileType::Unknown => kind(&CWD, folder.join(&name)).unwrap_or(EntryKind::Other),
            kind => EntryKind::of(kind),
        };
        Some(Ok((name, kind)))
    }))
}

/// Whether an error says that there is no folder, or something else in its place.
#[must_use]
pub fn is_no_folder(error: &io::Error) -> bool {
    let is = |errno: Errno| error.raw_os_error() == Some(errno.raw_os_error());
    [Errno::NOENT, Errno::NOTDIR, Errno::LOOP]
        .into_iter()
        .any(is)
}

/// Opens a folder. No link on the way to it is followed: another program may have exchanged a folder for one.
///
/// # Errors
/// If the path is not absolute, or a part of it is no folder.
pub fn open_plainly(path: &Path) -> io::Result<File> {
    let flags = PASSED | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut folder = rustix::fs::open("/", flags, Mode::empty())?;
    for part in path.components() {
        match part {
            Component::Normal(name) => folder = openat(&folder, name, flags, Mode::empty())?,
            Component::RootDir => {}
            _ => return Err(io::ErrorKind::InvalidInput.into()),
        }
    }
    Ok(folder.into())
}

/// Makes a folder in a folder.
///
/// # Errors
/// If it cannot be made; of the kind [`io::ErrorKind::AlreadyExists`] where there is something.
pub fn make(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<()> {
    Ok(mkdirat(at, name.as_ref(), Mode::from_raw_mode(0o777))?)
}

/// Makes a new file in a folder, for writing.
///
/// # Errors
/// As of [`make`].
pub fn make_file(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<File> {
    let makes = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(at, name.as_ref(), makes, Mode::from_raw_mode(0o666))?.into())
}

/// Takes a file or a link out of a folder.
///
/// # Errors
/// If there is none, or it cannot be taken out.
pub fn remove_file(at: &impl AsFolder, name: impl AsRef<OsStr>) -> io::Result<()> {
    Ok(unlinkat(at, name.as_ref(), AtFlags::empty())?)
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
    Ok(renameat(at, name.as_ref(), at, to.as_ref())?)
}

/// The path without links, dots and other names of the same.
///
/// # Errors
/// If there is nothing at the path.
pub fn canonical(path: &Path) -> io::Result<PathBuf> {
    path.canonicalize()
}

/// The name that bytes stand for, as a program wrote them into a file.
#[must_use]
pub fn name_of(bytes: &[u8]) -> OsString {
    OsString::from_vec(bytes.to_vec())
}

/// The topmost folder, from which every program can start.
#[must_use]
pub fn topmost() -> PathBuf {
    PathBuf::from("/")
}

/// The real path of an open file or folder, from the kernel. Where it does not tell, as a Linux without `/proc`, the real
/// path of the one by which it was opened, if the same is still there.
///
/// # Errors
/// If the system cannot tell, or something else is there by now.
pub fn real_path(opened: &impl AsFolder, by: &Path) -> io::Result<PathBuf> {
    match kernel_path(opened) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => real_path_by(opened, by),
        known => known,
    }
}

#[cfg(target_vendor = "apple")]
fn kernel_path(opened: &impl AsFolder) -> io::Result<PathBuf> {
    let path = rustix::fs::getpath(opened)?;
    Ok(OsString::from_vec(path.into_bytes()).into())
}

#[cfg(not(target_vendor = "apple"))]
fn kernel_path(opened: &impl AsFolder) -> io::Result<PathBuf> {
    use std::os::fd::AsRawFd;
    std::fs::read_link(format!("/proc/self/fd/{}", opened.as_fd().as_raw_fd()))
}

fn real_path_by(opened: &impl AsFolder, by: &Path) -> io::Result<PathBuf> {
    let real = canonical(by)?;
    let (this, there) = (rustix::fs::fstat(opened)?, rustix::fs::stat(&real)?);
    let is_same = (this.st_dev, this.st_ino) == (there.st_dev, there.st_ino);
    let other = || io::Error::other(format!("{} is another one by now", by.display()));
    is_same.then_some(real).ok_or_else(other)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn what_is_at_a_path_has_to_be_what_was_opened_by_it() {
        let folder = tempfile::tempdir().unwrap();
        let top = folder.path().canonicalize().unwrap();
        let (file, link) = (top.join("file"), top.join("link"));
        fs::write(&file, "a").unwrap();
        symlink("file", &link).unwrap();
        let opened = File::open(&link).unwrap();
        for by in [&file, &link] {
            assert_eq!(real_path_by(&opened, by).unwrap(), file);
            assert_eq!(real_path(&opened, by).unwrap(), file);
        }
        fs::rename(&file, top.join("moved")).unwrap();
        assert!(real_path_by(&opened, &link).is_err(), "nothing is there");
        fs::write(&file, "a").unwrap();
        assert!(
            real_path_by(&opened, &link).is_err(),
            "another one is there"
        );
    }
}
