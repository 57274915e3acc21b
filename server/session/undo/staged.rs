//! Staged changes on disk: a lack of space is detected before the first change is made.

use std::{
    io::{self, Write},
    path::{Path, PathBuf},
};

use aside_base::{
    digest::sha256,
    under_way::{FilesUnderWay, WriteNote, temporary_name},
};
use cap_std::fs::{Dir, OpenOptions, Permissions, PermissionsExt};

use super::{
    Clash, Conflict, FileRestore, RestorePlace, UndoError, UndoPlan, failed, open_root, read,
};
use crate::blobs::Blobs;

/// Changes of a plan that are ready to be made. Dropping this removes those that were not made.
pub struct Staged<'a> {
    folder: Dir,
    under_way: &'a FilesUnderWay,
    all: Vec<StagedFile<'a>>,
}

/// Writes the new contents of a plan beside their files.
///
/// # Errors
/// [`UndoError::Conflicts`] if a file changed since the plan was made, or an error if the contents cannot be written.
/// Nothing has been changed then.
pub fn stage<'a>(
    plan: &'a UndoPlan,
    root: &Path,
    blobs: &Blobs,
    under_way: &'a FilesUnderWay,
) -> Result<Staged<'a>, UndoError> {
    let mut staged = Staged {
        folder: open_root(root)?,
        under_way,
        all: Vec::new(),
    };
    let changes = plan.changes.iter();
    for change in changes.filter(|change| change.place == RestorePlace::Disk) {
        let one = StagedFile::new(&staged, change, blobs)?;
        staged.all.push(one);
    }
    Ok(staged)
}

impl Staged<'_> {
    /// Makes the changes. Each file is replaced atomically and keeps its permissions. If one fails, the earlier ones are
    /// reverted.
    ///
    /// # Errors
    /// [`UndoError::Conflicts`] if a file changed since it was staged.
    pub fn put(&self) -> Result<(), UndoError> {
        for one in &self.all {
            one.look(&self.folder)?;
        }
        for (at, one) in self.all.iter().enumerate() {
            if let Err(source) = one.put(&self.folder) {
                for done in &self.all[..at] {
                    let _ = done.put_back(self);
                }
                return Err(UndoError::Io {
                    path: one.change.path.clone(),
                    source,
                });
            }
        }
        Ok(())
    }
}

impl Drop for Staged<'_> {
    /// Removes contents that were not used.
    fn drop(&mut self) {
        for new in self.all.iter().filter_map(|one| one.new.as_ref()) {
            let _ = self.folder.remove_file(&new.path);
        }
    }
}

/// A staged change, whose new content is beside the file.
struct StagedFile<'a> {
    change: &'a FileRestore,
    /// The file itself, if the path is a link.
    target: PathBuf,
    /// Current content and permissions, for a revert.
    present: Option<(Vec<u8>, Permissions)>,
    new: Option<NewContent>,
}

/// A new content in a temporary file.
struct NewContent {
    path: PathBuf,
    /// Dropped after the file.
    _note: WriteNote,
}

impl<'a> StagedFile<'a> {
    fn new(staged: &Staged<'_>, change: &'a FileRestore, blobs: &Blobs) -> Result<Self, UndoError> {
        let folder = &staged.folder;
        let failed = failed(&change.path);
        let target = folder
            .canonicalize(&change.path)
            .unwrap_or_else(|_| change.path.clone().into());
        let present = match present(folder, change)? {
            Some(bytes) => {
                let about = folder.metadata(&target).map_err(&failed)?;
                Some((bytes, about.permissions()))
            }
            None => None,
        };
        let mut one = Self {
            change,
            target,
            present,
            new: None,
        };
        if let Some(name) = &change.to {
            let bytes = blobs.read(name, 0..u64::MAX).map_err(&failed)?;
            one.new = Some(one.write_beside(staged, &bytes).map_err(&failed)?);
        }
        Ok(one)
    }

    /// Checks again that the file is as planned, because time may have passed.
    fn look(&self, folder: &Dir) -> Result<(), UndoError> {
        present(folder, self.change).map(|_| ())
    }

    fn put(&self, folder: &Dir) -> io::Result<()> {
        match &self.new {
            Some(new) => folder.rename(&new.path, folder, &self.target),
            None => folder.remove_file(&self.target),
        }
    }

    fn put_back(&self, staged: &Staged<'_>) -> io::Result<()> {
        let folder = &staged.folder;
        match &self.present {
            Some((bytes, _)) => {
                let new = self.write_beside(staged, bytes)?;
                let put = folder.rename(&new.path, folder, &self.target);
                if put.is_err() {
                    let _ = folder.remove_file(&new.path);
                }
                put
            }
            None => folder.remove_file(&self.target),
        }
    }

    /// Writes bytes to a temporary file in the target's folder, with the target's permissions.
    fn write_beside(&self, staged: &Staged<'_>, bytes: &[u8]) -> io::Result<NewContent> {
        let folder = &staged.folder;
        let parent = self.target.parent().unwrap_or(Path::new(""));
        if !parent.as_os_str().is_empty() {
            folder.create_dir_all(parent)?;
        }
        let path = parent.join(temporary_name());
        let note = staged.under_way.note(&path);
        let mut file = folder.open_with(&path, OpenOptions::new().write(true).create_new(true))?;
        let permissions = match (&self.present, self.change.mode) {
            (Some((_, permissions)), _) => Some(permissions.clone()),
            (None, Some(mode)) => Some(Permissions::from_mode(mode & 0o777)),
            (None, None) => None,
        };
        let written = file.write_all(bytes).and_then(|()| match permissions {
            Some(permissions) => file.set_permissions(permissions),
            None => Ok(()),
        });
        if written.is_err() {
            let _ = folder.remove_file(&path);
        }
        written.map(|()| NewContent { path, _note: note })
    }
}

/// Reads the content on disk.
///
/// # Errors
/// [`UndoError::Conflicts`] if it is not the content that the plan was made for.
fn present(folder: &Dir, change: &FileRestore) -> Result<Option<Vec<u8>>, UndoError> {
    let present = read(folder, &change.path).map_err(failed(&change.path))?;
    if present.as_deref().map(sha256) == change.now {
        return Ok(present);
    }
    Err(UndoError::Conflicts(vec![Conflict {
        path: change.path.clone(),
        clash: Clash::Changed,
    }]))
}
