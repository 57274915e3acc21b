//! Regular files alone: what others may have put in a file's place cannot hold us up, and is not touched.
//!
//! A pipe would wait for its writer, a terminal would eat what the user types, a device may be endless or do
//! something when it is opened. Each is an error here, at once.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read},
    path::Path,
};

use crate::system::files::cautious;

/// Opens a regular file for reading; links are followed.
///
/// # Errors
/// Where there is none, it is something else, or the system refuses.
pub fn open(path: &Path) -> io::Result<File> {
    // Opening a device can do something, so that its type is looked at first; what counts is what was opened.
    check(&path.metadata()?)?;
    let file = cautious(OpenOptions::new().read(true)).open(path)?;
    check(&file.metadata()?)?;
    Ok(file)
}

/// The bytes of a regular file, which has at most so many.
///
/// # Errors
/// As of [`open`], and [`io::ErrorKind::FileTooLarge`] where there are more.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}

/// Whether this is a regular file.
///
/// # Errors
/// A sentence where it is not.
pub fn check(about: &Metadata) -> io::Result<()> {
    if about.is_file() {
        return Ok(());
    }
    Err(io::Error::other("it is not a file"))
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use std::{fs, os::unix::fs::symlink, process::Command};

    use super::*;

    #[test]
    fn what_is_no_regular_file_is_an_error_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("file"), "text").unwrap();
        symlink("file", at("link")).unwrap();
        let made = Command::new("mkfifo").arg(at("pipe")).status().unwrap();
        assert!(made.success());
        symlink("/dev/zero", at("endless")).unwrap();
        symlink("/dev/tty", at("terminal")).unwrap();
        let read = |name: &str| match read(&at(name), 4) {
            Ok(bytes) => String::from_utf8(bytes).unwrap(),
            Err(error) => error.to_string(),
        };
        assert_eq!(read("file"), "text");
        assert_eq!(read("link"), "text");
        for name in ["pipe", "endless", "terminal", ""] {
            assert_eq!(read(name), "it is not a file", "{name}");
        }
        fs::write(at("file"), "longer").unwrap();
        assert_eq!(read("file"), "file too large");
    }
}
