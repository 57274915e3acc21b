//! Writes of whole files, and only over the expected content.

use std::{io, path::Path};

use aside_base::{
    digest::sha256,
    incoming::{FilePlace, Incoming, PresentFile},
    system::folders::{self, EntryKind},
};
use cap_std::fs::Dir;

use super::{OpenedFile, PathError, Workspace, refusal};

impl Workspace {
    /// Writes a text to a real path from the root, as [`super::WriteTarget`] gives it. Missing folders are created; an
    /// existing file stays what it is besides its text.
    ///
    /// # Errors
    /// A [`PathError`]; [`PathError::Stale`] if the file's SHA-256 is not the expected one, or if a file exists and `None`
    /// is expected. Nothing is changed then.
    pub fn write(
        &self,
        path: &str,
        expected: Option<&str>,
        content: &[u8],
    ) -> Result<(), PathError> {
        let (place, present) = self.expect(path, expected)?;
        let (folder, name) = self.parent(&place)?;
        let note = |temporary: &str| {
            let beside = Path::new(&place).with_file_name(temporary);
            self.under_way.as_ref().map(|files| files.note(&beside))
        };
        let failed = |error: io::Error| match error.kind() {
            io::ErrorKind::AlreadyExists => PathError::Stale(path.to_owned()),
            _ => refusal(path, &error),
        };
        let to = FilePlace { folder, name };
        let incoming = Incoming::new(to, present.as_ref(), content, None, note).map_err(failed)?;
        // Checked again as late as possible, because writing took time.
        self.expect(path, expected)?;
        incoming.put().map_err(failed)
    }

    /// Removes the file at a real path from the root.
    ///
    /// # Errors
    /// A [`PathError`]; [`PathError::Stale`] if the file's SHA-256 is not the expected one.
    pub fn remove(&self, path: &str, expected: &str) -> Result<(), PathError> {
        let (place, _) = self.expect(path, Some(expected))?;
        let (dir, name) = self.parent(&place)?;
        dir.remove_file(name).map_err(|error| refusal(path, &error))
    }

    /// Checks that a place has the expected content. Returns the file.
    fn expect(
        &self,
        path: &str,
        expected: Option<&str>,
    ) -> Result<(String, Option<PresentFile>), PathError> {
        let place = self.place(path)?;
        let present = place.old.map(OpenedFile::present).transpose()?;
        // A link that was put in the way leads to another file, which may even have the same content.
        if place.path != path {
            return Err(PathError::Stale(path.to_owned()));
        }
        let found = present.as_ref().map(|present| sha256(&present.content));
        if found.as_deref() != expected {
            return Err(PathError::Stale(path.to_owned()));
        }
        Ok((place.path, present))
    }

    /// The folder of a real path, created if missing, and the name in it.
    fn parent(&self, path: &str) -> Result<(Dir, String), PathError> {
        let refuse = |error: io::Error| refusal(path, &error);
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        let dir = self.made(folder).map_err(|error| match error.kind() {
            // A link was put in the way meanwhile.
            io::ErrorKind::NotADirectory => PathError::Stale(path.to_owned()),
            _ => refuse(error),
        })?;
        let real = self.path_of(path, &dir, Path::new(folder))?;
        if Path::new(&real)
            != Path::new(folder)
                .strip_prefix(".")
                .unwrap_or(Path::new(folder))
        {
            return Err(PathError::Stale(path.to_owned()));
        }
        // The check by path is repeated on the opened folder.
        self.may_write(path, &dir, Path::new(folder), vec![name.into()])?;
        Ok((dir, name.to_owned()))
    }

    /// Opens a folder at a real path from the root, and makes what is missing of it. No link is followed, so that nothing
    /// is made elsewhere.
    ///
    /// # Errors
    /// [`io::ErrorKind::NotADirectory`] if there is a link on the way, or a file.
    fn made(&self, folder: &str) -> io::Result<Dir> {
        let mut dir = self.dir.try_clone()?;
        for name in folder.split('/').filter(|name| *name != ".") {
            let opened = folders::open(&dir, name).or_else(|error| {
                match folders::kind(&dir, name) {
                    None => {}
                    Some(EntryKind::Link | EntryKind::Other) => {
                        return Err(io::ErrorKind::NotADirectory.into());
                    }
                    Some(_) => return Err(error),
                }
                match dir.create_dir(name) {
                    Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
                    _ => folders::open(&dir, name),
                }
            });
            dir = Dir::from_std_file(opened?);
        }
        Ok(dir)
    }
}
