//! Staged changes on disk: a lack of space is detected before the first change is made.

use std::{
    io,
    path::{Path, PathBuf},
};

use aside_base::{
    digest::sha256,
    incoming::{FilePlace, Incoming, PresentFile},
    system::files::permissions,
    under_way::{FilesUnderWay, WriteNote},
};
use cap_std::fs::Dir;

use super::{
    Clash, Conflict, FileRestore, RestorePlace, UndoError, UndoPlan, failed, open_root, read,
};
use crate::blobs::Blobs;

/// Changes of a plan, with all that is needed to make them.
pub struct Staged<'a> {
    folder: Dir,
    under_way: &'a FilesUnderWay,
    all: Vec<StagedFile<'a>>,
}

/// Reads what a plan needs.
///
/// # Errors
/// [`UndoError::Conflicts`] if a file changed since the plan was made, or an error if a content cannot be read. Nothing has
/// been changed then.
pub fn stage<'a>(
    plan: &'a UndoPlan,
    root: &Path,
    blobs: &Blobs,
    under_way: &'a FilesUnderWay,
) -> Result<Staged<'a>, UndoError> {
    let folder = open_root(root)?;
    let changes = plan.changes.iter();
    let changes = changes.filter(|change| change.place == RestorePlace::Disk);
    let all = changes.map(|change| StagedFile::new(&folder, change, blobs));
    Ok(Staged {
        all: all.collect::<Result<_, _>>()?,
        folder,
        under_way,
    })
}

impl Staged<'_> {
    /// Brings the new contents near their places, so that a lack of space is found before the first change is made.
    ///
    /// # Errors
    /// If one cannot be brought there. Nothing has been changed then.
    pub fn bring(&self) -> Result<Ready<'_>, UndoError> {
        let all = self.all.iter();
        let all = all.map(|one| one.bring(self).map_err(failed(&one.change.path)));
        Ok(Ready {
            staged: self,
            incoming: all.collect::<Result<_, _>>()?,
        })
    }
}

/// Changes that are ready to be made. Dropping this leaves nothing of those that were not made.
pub struct Ready<'a> {
    staged: &'a Staged<'a>,
    /// The new content of each file; `None` for one to remove.
    incoming: Vec<Option<Incoming<'a>>>,
}

impl Ready<'_> {
    /// Makes the changes. Each file stays what it is besides its content. If one fails, the earlier ones are reverted.
    ///
    /// # Errors
    /// [`UndoError::Conflicts`] if a file changed since it was staged.
    pub fn put(self) -> Result<(), UndoError> {
        let Staged { folder, all, .. } = self.staged;
        for one in all {
            one.look(folder)?;
        }
        for (at, (one, incoming)) in all.iter().zip(self.incoming).enumerate() {
            let put = match incoming {
                Some(incoming) => incoming.put(),
                None => folder.remove_file(&one.target),
            };
            if let Err(source) = put {
                for done in &all[..at] {
                    let _ = done.put_back(self.staged);
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

/// A change, and the file as it is.
struct StagedFile<'a> {
    change: &'a FileRestore,
    /// The file itself, if the path is a link.
    target: PathBuf,
    present: Option<PresentFile>,
    /// The new content; `None` to remove the file.
    new: Option<Vec<u8>>,
}

impl<'a> StagedFile<'a> {
    fn new(folder: &Dir, change: &'a FileRestore, blobs: &Blobs) -> Result<Self, UndoError> {
        let failed = failed(&change.path);
        let target = folder
            .canonicalize(&change.path)
            .unwrap_or_else(|_| change.path.clone().into());
        let new = change.to.as_ref();
        let new = new.map(|name| blobs.read(name, 0..u64::MAX)).transpose();
        Ok(Self {
            present: present(folder, change)?,
            new: new.map_err(&failed)?,
            change,
            target,
        })
    }

    /// Checks again that the file is as planned, because time may have passed.
    fn look(&self, folder: &Dir) -> Result<(), UndoError> {
        present(folder, self.change).map(|_| ())
    }

    fn bring(&self, staged: &'a Staged<'_>) -> io::Result<Option<Incoming<'_>>> {
        let new = self.new.as_deref();
        let incoming = new.map(|new| self.incoming(staged, self.present.as_ref(), new));
        incoming.transpose()
    }

    fn put_back(&self, staged: &Staged<'_>) -> io::Result<()> {
        let Some(present) = &self.present else {
            return staged.folder.remove_file(&self.target);
        };
        let now = read(&staged.folder, &self.change.path)?;
        self.incoming(staged, now.as_ref(), &present.content)?.put()
    }

    fn incoming<'b>(
        &self,
        staged: &Staged<'_>,
        present: Option<&'b PresentFile>,
        content: &'b [u8],
    ) -> io::Result<Incoming<'b>> {
        let parent = self.target.parent().unwrap_or(Path::new(""));
        let folder = match parent.as_os_str().is_empty() {
            true => staged.folder.try_clone()?,
            false => {
                staged.folder.create_dir_all(parent)?;
                staged.folder.open_dir(parent)?
            }
        };
        let name = self.target.file_name().and_then(|name| name.to_str());
        let name = name.ok_or(io::ErrorKind::InvalidFilename)?.to_owned();
        let note = |temporary: &str| -> Option<WriteNote> {
            Some(staged.under_way.note(&parent.join(temporary)))
        };
        let mode = self.change.mode.and_then(permissions);
        Incoming::new(FilePlace { folder, name }, present, content, mode, note)
    }
}

/// Reads the content on disk.
///
/// # Errors
/// [`UndoError::Conflicts`] if it is not the content that the plan was made for.
fn present(folder: &Dir, change: &FileRestore) -> Result<Option<PresentFile>, UndoError> {
    let present = read(folder, &change.path).map_err(failed(&change.path))?;
    let now = present.as_ref().map(|present| sha256(&present.content));
    if now == change.now {
        return Ok(present);
    }
    Err(UndoError::Conflicts(vec![Conflict {
        path: change.path.clone(),
        clash: Clash::Changed,
    }]))
}
