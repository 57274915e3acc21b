//! Writing: whole files, at once or not at all, and only over what was expected.

use std::{
    fs,
    io::{self, Write},
    path::Path,
};

use cap_std::fs::{Dir, OpenOptions};

use crate::{digest::sha256, under_way::temporary_name};

use super::{PathError, Workspace, refusal};

impl Workspace {
    /// Puts a text at a real path from the root, as [`super::Place`] tells it. Readers see the old file or the new one, never a part. Missing folders are
    /// made; an existing file keeps its permissions.
    ///
    /// # Errors
    /// A [`PathError`]; [`PathError::Stale`] where the file's SHA-256 is not the expected one (`None`: where
    /// there is a file). Nothing is changed then.
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
            // Again, as late as can be: the writing above took time.
            .and_then(|()| self.expect(path, expected).map(drop))
            .and_then(|()| put(&dir, &temporary, &name, expected.is_none(), path));
        if result.is_err() {
            let _ = dir.remove_file(&temporary);
        }
        result
    }

    /// Takes the file at a real path from the root away.
    ///
    /// # Errors
    /// A [`PathError`]; [`PathError::Stale`] where the file's SHA-256 is not the expected one.
    pub fn remove(&self, path: &str, expected: &str) -> Result<(), PathError> {
        let (place, _) = self.expect(path, Some(expected))?;
        let (dir, name) = self.parent(&place)?;
        dir.remove_file(name).map_err(|error| refusal(path, &error))
    }

    /// The real path of a place whose content is as expected, and its permissions.
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
        // A link that was put in the way leads to another file, which may even hold the same.
        if place.path != path {
            return Err(PathError::Stale(path.to_owned()));
        }
        if found.map(|bytes| sha256(&bytes)).as_deref() != expected {
            return Err(PathError::Stale(path.to_owned()));
        }
        Ok((place.path, place.old.map(|old| old.mode)))
    }

    /// The folder of a real path, made where it is missing, and the name in it.
    fn parent(&self, path: &str) -> Result<(Dir, String), PathError> {
        let refuse = |error: io::Error| refusal(path, &error);
        let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
        if folder != "." {
            self.dir.create_dir_all(folder).map_err(refuse)?;
        }
        let dir = self.dir.open_dir(folder).map_err(refuse)?;
        // A link that was put in the way since leads elsewhere.
        let real = self.path_of(path, &dir)?;
        if Path::new(&real)
            != Path::new(folder)
                .strip_prefix(".")
                .unwrap_or(Path::new(folder))
        {
            return Err(PathError::Stale(path.to_owned()));
        }
        // What was looked at by its path is looked at again in the folder that is written to.
        self.may_write(path, &dir, vec![name.into()])?;
        Ok((dir, name.to_owned()))
    }
}

/// Gives the temporary file its name. A new file never takes the place of one that appeared meanwhile.
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
        // Some file systems know no hard links; that nothing is there was looked at just before.
        Err(_) => dir.rename(from, dir, to),
    }
}
