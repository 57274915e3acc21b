//! Atomic writes of whole files, and only over the expected content.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use aside_base::{digest::sha256, under_way::temporary_name};
use cap_std::fs::{Dir, OpenOptions};

use super::{PathError, Workspace, refusal};

impl Workspace {
    /// Writes a text to a real path from the root, as [`super::WriteTarget`] gives it. Readers see the old file or the new
    /// one, never a part. Missing folders are created; an existing file keeps its permissions.
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
        let (place, mode) = self.expect(path, expected)?;
        let (dir, name) = self.parent(&place)?;
        let temporary = temporary_name();
        let beside = Path::new(&place).with_file_name(&temporary);
        let _note = self.under_way.as_ref().map(|files| files.note(&beside));
        let written = (|| {
            let mut options = OpenOptions::new();
            let file = dir.open_with(&temporary, options.write(true).create_new(true))?;
            let mut file = file.into_std();
            if let Some(mode) = mode {
                file.set_permissions(mode)?;
            }
            file.write_all(content)
        })();
        let result = written
            .map_err(|error| refusal(path, &error))
            // Checked again as late as possible, because writing took time.
            .and_then(|()| self.expect(path, expected).map(drop))
            .and_then(|()| put(&dir, &temporary, &name, expected.is_none(), path));
        if result.is_err() {
            let _ = dir.remove_file(&temporary);
        }
        result
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

    /// Checks that a place has the expected content. Returns its permissions.
    fn expect(
        &self,
        path: &str,
        expected: Option<&str>,
    ) -> Result<(String, Option<fs::Permissions>), PathError> {
        let mut place = self.place(path)?;
        let found = place
            .old
            .as_mut()
            .map(super::OpenedFile::bytes)
            .transpose()?;
        // A link that was put in the way leads to another file, which may even have the same content.
        if place.path != path {
            return Err(PathError::Stale(path.to_owned()));
        }
        if found.map(|bytes| sha256(&bytes)).as_deref() != expected {
            return Err(PathError::Stale(path.to_owned()));
        }
        Ok((place.path, place.old.map(|old| old.mode)))
    }

    /// The folder of a real path, created if missing, and the name in it.
    fn parent(&self, path: &str) -> Result<(Dir, String), PathError> {
        let refuse = |error: io::Error| refusal(path, &error);
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        if folder != "." {
            self.dir.create_dir_all(folder).map_err(refuse)?;
        }
        let dir = self.dir.open_dir(folder).map_err(refuse)?;
        // A link that was put in the way meanwhile leads elsewhere.
        let real = self.path_of(path, &dir)?;
        if Path::new(&real)
            != Path::new(folder)
                .strip_prefix(".")
                .unwrap_or(Path::new(folder))
        {
            return Err(PathError::Stale(path.to_owned()));
        }
        // The check by path is repeated on the opened folder.
        self.may_write(path, &dir, vec![name.into()])?;
        Ok((dir, name.to_owned()))
    }
}

/// Renames the temporary file to its final name. A new file never replaces one that appeared meanwhile.
fn put(dir: &Dir, from: &str, to: &str, new: bool, path: &str) -> Result<(), PathError> {
    let renamed = if new {
        rename_new(dir, from, to)
    } else {
        dir.rename(from, dir, to)
    };
    renamed.map_err(|error| match error.kind() {
        io::ErrorKind::AlreadyExists => PathError::Stale(path.to_owned()),
        _ => refusal(path, &error),
    })
}

fn rename_new(dir: &Dir, from: &str, to: &str) -> io::Result<()> {
    match dir.hard_link(from, dir, to) {
        Ok(()) => dir.remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Some file systems lack hard links; the check just before found no file.
        Err(_) => dir.rename(from, dir, to),
    }
}
