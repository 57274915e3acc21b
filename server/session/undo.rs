//! Taking back the file changes of a turn: all of them or none.
//!
//! What a file must be now follows from the record; what it was before is a blob. Nothing outside the
//! workspace is read or written, wherever a path or a link points.

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, Permissions, PermissionsExt},
};

use super::{
    blobs::Blobs,
    record::{Edit, Entry, Record},
};
use crate::turn::event::{CallKey, Event};

/// What is to be done to take a turn's changes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// One a file.
    pub changes: Vec<Change>,
    /// The turn also ran something whose changes are not on record.
    pub untracked: bool,
}

/// What is to be done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// Relative to the workspace.
    pub path: String,
    /// The SHA-256 of what it is now; none where it is not there.
    pub now: Option<String>,
    /// The blob of what it shall be; none where it shall be gone.
    pub to: Option<String>,
    /// The permission bits of a file that has to be made anew.
    pub mode: Option<u32>,
}

/// Why a turn cannot be taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// These files were changed since, by a person or by a later turn.
    #[error("changed since and left as they are: {}; put them back yourself, or undo later turns first", .0.join(", "))]
    Conflicts(Vec<String>),
    /// The conversation has no such turn.
    #[error("there is no turn {0} in this conversation")]
    NoTurn(String),
    /// A file cannot be read or written.
    #[error("cannot put {path} back: {source}; nothing was changed")]
    Io {
        /// Relative to the workspace.
        path: String,
        /// Why.
        source: io::Error,
    },
}

/// Works out how to take a turn's changes back. Reads files, changes none.
///
/// `only` names the files to put back, all where it is none; `ran` says of a tool whether it changes things
/// that are not on record.
///
/// # Errors
/// [`UndoError::Conflicts`] with every file that is not as the turn left it.
pub fn plan(
    records: &[Record],
    turn: &str,
    root: &Path,
    only: Option<&[String]>,
    ran: impl Fn(&str) -> bool,
) -> Result<Plan, UndoError> {
    if !records
        .iter()
        .any(|record| record.turn.as_deref() == Some(turn))
    {
        return Err(UndoError::NoTurn(turn.to_owned()));
    }
    let wanted = |path: &String| only.is_none_or(|only| only.contains(path));
    let folder = open_root(root)?;
    let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
    for (path, edits) in edits_by_file(records, turn) {
        if !wanted(&path) {
            continue;
        }
        let present = read(&folder, &path).map_err(failed(&path))?;
        let present = present.map(|bytes| crate::digest::sha256(&bytes));
        match take_back(&edits, present.as_deref()) {
            Ok(Some(first)) => changes.push(Change {
                now: present,
                to: first.before.clone(),
                mode: first.mode,
                path,
            }),
            Ok(None) => {}
            Err(Changed) => conflicts.push(path),
        }
    }
    if conflicts.is_empty() {
        Ok(Plan {
            changes,
            untracked: untracked(records, turn, ran),
        })
    } else {
        Err(UndoError::Conflicts(conflicts))
    }
}

/// Carries a plan out and returns the files, relative to the workspace. Each is replaced at once, its
/// permissions kept; where one cannot be, those before it are put back to what they were.
///
/// # Errors
/// [`UndoError::Conflicts`] where a file changed since the plan was made.
pub fn apply(plan: &Plan, root: &Path, blobs: &Blobs) -> Result<Vec<String>, UndoError> {
    let folder = open_root(root)?;
    let mut staged = Vec::new();
    for change in &plan.changes {
        // What can fail, a full disk above all, fails here, before anything was changed.
        staged.push(Staged::new(&folder, change, blobs)?);
    }
    for (at, one) in staged.iter().enumerate() {
        if let Err(source) = one.put() {
            for done in &staged[..at] {
                let _ = done.put_back();
            }
            return Err(UndoError::Io {
                path: one.change.path.clone(),
                source,
            });
        }
    }
    Ok(plan
        .changes
        .iter()
        .map(|change| change.path.clone())
        .collect())
}

/// Somebody else changed the file.
struct Changed;

/// The edit whose `before` a file goes back to; none where it is there already.
fn take_back<'a>(edits: &[&'a Edit], present: Option<&str>) -> Result<Option<&'a Edit>, Changed> {
    let mut made = edits;
    while let [before @ .., last] = made {
        if last.after.as_deref() == present {
            break;
        }
        if last.before.as_deref() != present {
            return Err(Changed);
        }
        // It is on record and was never made: a crash, or an error, between the two.
        made = before;
    }
    // Between two edits somebody else changed the file: going back to the first would take that along.
    let interrupted = made
        .windows(2)
        .any(|pair| pair[1].before != pair[0].after && pair[1].before != pair[0].before);
    if interrupted {
        return Err(Changed);
    }
    Ok(made
        .first()
        .copied()
        .filter(|first| first.before.as_deref() != present))
}

/// The edits of a turn that were not taken back yet, file by file, in the order of first change.
fn edits_by_file<'a>(records: &'a [Record], turn: &str) -> Vec<(String, Vec<&'a Edit>)> {
    let mut files: Vec<(String, Vec<&Edit>)> = Vec::new();
    for record in records {
        match &record.entry {
            Entry::Edit(edit) if record.turn.as_deref() == Some(turn) => {
                match files.iter_mut().find(|(path, _)| *path == edit.path) {
                    Some((_, edits)) => edits.push(edit),
                    None => files.push((edit.path.clone(), vec![edit])),
                }
            }
            Entry::Undone(undone) if undone.undone == turn => {
                files.retain(|(path, _)| !undone.files.contains(path));
            }
            _ => {}
        }
    }
    files
}

fn untracked(records: &[Record], turn: &str, ran: impl Fn(&str) -> bool) -> bool {
    let events = || {
        let of_turn = records
            .iter()
            .filter(|record| record.turn.as_deref() == Some(turn));
        of_turn.filter_map(|record| record.entry.event())
    };
    let started = |wanted: &CallKey| {
        events().any(|event| matches!(event, Event::CallStarted { call, .. } if call == wanted))
    };
    events().any(
        |event| matches!(event, Event::ToolCall { call, name, .. } if ran(name) && started(call)),
    )
}

/// A change that is ready to be made: the new content lies beside the file.
struct Staged<'a> {
    folder: &'a Dir,
    change: &'a Change,
    /// The file itself, where the path is a link.
    target: PathBuf,
    /// What it is now, to put back.
    present: Option<(Vec<u8>, Permissions)>,
    new: Option<PathBuf>,
}

impl<'a> Staged<'a> {
    fn new(folder: &'a Dir, change: &'a Change, blobs: &Blobs) -> Result<Self, UndoError> {
        let failed = failed(&change.path);
        let target = folder
            .canonicalize(&change.path)
            .unwrap_or_else(|_| change.path.clone().into());
        let present = read(folder, &change.path).map_err(&failed)?;
        if present.as_deref().map(crate::digest::sha256) != change.now {
            return Err(UndoError::Conflicts(vec![change.path.clone()]));
        }
        let present = match present {
            Some(bytes) => {
                let about = folder.metadata(&target).map_err(&failed)?;
                Some((bytes, about.permissions()))
            }
            None => None,
        };
        let mut staged = Self {
            folder,
            change,
            target,
            present,
            new: None,
        };
        if let Some(name) = &change.to {
            let bytes = blobs.read(name, 0..u64::MAX).map_err(&failed)?;
            staged.new = Some(staged.write_beside(&bytes).map_err(&failed)?);
        }
        Ok(staged)
    }

    fn put(&self) -> io::Result<()> {
        match &self.new {
            Some(new) => self.folder.rename(new, self.folder, &self.target),
            None => self.folder.remove_file(&self.target),
        }
    }

    fn put_back(&self) -> io::Result<()> {
        match &self.present {
            Some((bytes, _)) => {
                let new = self.write_beside(bytes)?;
                self.folder.rename(new, self.folder, &self.target)
            }
            None => self.folder.remove_file(&self.target),
        }
    }

    /// Writes bytes into a file of its own in the target's folder, with the target's permissions.
    fn write_beside(&self, bytes: &[u8]) -> io::Result<PathBuf> {
        let parent = self.target.parent().unwrap_or(Path::new(""));
        if !parent.as_os_str().is_empty() {
            self.folder.create_dir_all(parent)?;
        }
        let path = parent.join(format!(".aside-undo-{:016x}", fastrand::u64(..)));
        let mut file = self
            .folder
            .open_with(&path, OpenOptions::new().write(true).create_new(true))?;
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
            let _ = self.folder.remove_file(&path);
        }
        written.map(|()| path)
    }
}

impl Drop for Staged<'_> {
    /// What was not put in place does not stay beside it.
    fn drop(&mut self) {
        if let Some(new) = &self.new {
            let _ = self.folder.remove_file(new);
        }
    }
}

fn open_root(root: &Path) -> Result<Dir, UndoError> {
    Dir::open_ambient_dir(root, ambient_authority()).map_err(failed(&root.to_string_lossy()))
}

/// The content of a file; none where it is not there.
fn read(folder: &Dir, path: &str) -> io::Result<Option<Vec<u8>>> {
    let mut bytes = Vec::new();
    match folder
        .open(path)
        .and_then(|mut file| file.read_to_end(&mut bytes))
    {
        Ok(_) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn failed(path: &str) -> impl Fn(io::Error) -> UndoError + use<> {
    let path = path.to_owned();
    move |source| UndoError::Io {
        path: path.clone(),
        source,
    }
}

#[cfg(test)]
mod tests;
