//! Taking back the file changes of a turn: all of them or none.
//!
//! What a file must be now follows from the record; what it was before is a blob. What a file is now is the text of
//! its open document, else what is on disk. Nothing outside the workspace is read or written, wherever a path or a
//! link points.

use std::{
    collections::HashSet,
    io::{self, Read},
    path::Path,
};

use aside_base::{digest::sha256, regular};
use aside_turn::history::TurnHistory;
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions, OpenOptionsExt},
};

use super::{
    blobs::Blobs,
    record::{Edit, Entry, Record},
};

pub mod staged;

/// What is to be done to take a turn's changes back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    /// What is to be done, one entry for each file.
    pub changes: Vec<FileRestore>,
    /// The turn also ran something whose changes are not on record.
    pub untracked: bool,
}

/// What is to be done to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRestore {
    /// Relative to the workspace.
    pub path: String,
    /// Where it is put back.
    pub place: RestorePlace,
    /// The SHA-256 of what is in that place now; none where nothing is.
    pub now: Option<String>,
    /// The blob of what shall be there; none where nothing shall be.
    pub to: Option<String>,
    /// The permission bits of a file that has to be made anew.
    pub mode: Option<u32>,
}

/// Where a file is put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePlace {
    /// The file on disk is written.
    Disk,
    /// In the editor that has it open. There is text to put back then.
    Editor,
}

/// Which turn to take back, where, and which of its files.
#[derive(Clone, Copy, Debug)]
pub struct UndoRequest<'a> {
    /// The id of the turn to take back.
    pub turn: &'a str,
    /// The root of the workspace.
    pub root: &'a Path,
    /// The blobs that hold what files were before an edit.
    pub blobs: &'a Blobs,
    /// The files to put back; `None` means all.
    pub only: Option<&'a [String]>,
}

/// A file as an editor has it open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditorDocument {
    /// What stands in the editor.
    pub text: String,
    /// How that stands to the file.
    pub saved: Saved,
    /// The editor can be told to change it.
    pub editable: bool,
}

/// How an open document stands to its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// The file has its text, up to what editors convert when they open one.
    Yes,
    /// It has changes that are not saved.
    No,
    /// It counts as unsaved, and yet the file has its text, up to what editors convert when they save one.
    Alike,
    /// No change is known that is not saved, and yet the file has another text: it was changed behind the editor.
    Behind,
}

/// A file that cannot be put back, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Relative to the workspace.
    pub path: String,
    /// What stands in the way.
    pub clash: Clash,
}

/// Why a file cannot be put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// It was changed since, by a person or by a later turn.
    Changed,
    /// It is open, and what is on disk is neither that nor anything that was on record for it.
    OnDisk,
    /// It has changes that are not saved, in an editor that cannot be told to change it.
    Unsaved,
}

/// Why a turn cannot be taken back.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// These files are not as the turn left them.
    #[error("changed since and left as they are: {}; put them back yourself, or undo later turns first", paths(.0))]
    Conflicts(Vec<Conflict>),
    /// The conversation has no such turn.
    #[error("there is no turn {0} in this conversation")]
    NoTurn(String),
    /// A file cannot be read or written.
    #[error("cannot put {path} back: {source}; nothing was changed")]
    Io {
        /// Relative to the workspace.
        path: String,
        /// What the system said.
        source: io::Error,
    },
}

/// Works out how to take a turn's changes back. Reads files, changes none.
///
/// `ran` says of a tool whether it changes things that are not on record; `open` gives the open document of a file.
///
/// # Errors
/// [`UndoError::Conflicts`] with every file that is not as the turn left it.
pub fn plan(
    records: &[Record],
    wanted: &UndoRequest<'_>,
    ran: impl Fn(&str) -> bool,
    open: impl Fn(&str) -> Option<EditorDocument>,
) -> Result<UndoPlan, UndoError> {
    let turn = wanted.turn;
    if !records
        .iter()
        .any(|record| record.turn.as_deref() == Some(turn))
    {
        return Err(UndoError::NoTurn(turn.to_owned()));
    }
    let is_wanted = |path: &String| wanted.only.is_none_or(|only| only.contains(path));
    let folder = open_root(wanted.root)?;
    let (mut changes, mut conflicts) = (Vec::new(), Vec::new());
    for (path, edits) in edits_by_file(records, turn) {
        if !is_wanted(&path) {
            continue;
        }
        let failed = failed(&path);
        let disk = read(&folder, &path).map_err(&failed)?;
        let file = File {
            edits: &edits,
            disk: disk.map(|bytes| sha256(&bytes)),
            known: states(records, &path),
        };
        let step = match open(&path) {
            None => file.on_disk(),
            Some(document) => {
                let is_text = |blob: &str| is_text(wanted.blobs, blob);
                file.in_editor(&document, is_text).map_err(&failed)?
            }
        };
        match step {
            Ok(None) => {}
            Ok(Some(RestoreStep { first, place, now })) => changes.push(FileRestore {
                place,
                now,
                to: first.before.clone(),
                mode: first.mode,
                path,
            }),
            Err(clash) => conflicts.push(Conflict { path, clash }),
        }
    }
    if conflicts.is_empty() {
        Ok(UndoPlan {
            changes,
            untracked: untracked(records, turn, ran),
        })
    } else {
        Err(UndoError::Conflicts(conflicts))
    }
}

/// A file that a turn edited, as it is now.
struct File<'a> {
    edits: &'a [&'a Edit],
    /// What is on disk.
    disk: Option<String>,
    /// What the conversation ever found or left there.
    known: HashSet<Option<&'a str>>,
}

/// Where a file is put back, over what, and to what it was before which edit.
struct RestoreStep<'a> {
    first: &'a Edit,
    place: RestorePlace,
    now: Option<String>,
}

impl<'a> File<'a> {
    /// How a file is put back that is not open; nothing where it is there already.
    fn on_disk(&self) -> Result<Option<RestoreStep<'a>>, Clash> {
        let first = take_back(self.edits, self.disk.as_deref())?;
        Ok(first.map(|first| self.step(first, RestorePlace::Disk)))
    }

    /// The same for one that is open.
    fn in_editor(
        &self,
        document: &EditorDocument,
        is_text: impl Fn(&str) -> io::Result<bool>,
    ) -> io::Result<Result<Option<RestoreStep<'a>>, Clash>> {
        let text = sha256(document.text.as_bytes());
        let first = take_back(self.edits, Some(&text));
        let text_to_put = match first {
            Ok(Some(Edit {
                before: Some(blob), ..
            })) => is_text(blob)?,
            _ => false,
        };
        let in_editor = document.editable && text_to_put;
        let known = document.saved == Saved::Alike || self.known.contains(&self.disk.as_deref());
        let change = |first| RestoreStep {
            first,
            place: RestorePlace::Editor,
            now: Some(text.clone()),
        };
        Ok(match (document.saved, first) {
            (Saved::Behind, _) => Err(Clash::OnDisk),
            (Saved::Yes, Ok(Some(first))) if in_editor => Ok(Some(change(first))),
            // Its text may not be the file's: editors convert some.
            (Saved::Yes, _) => self.on_disk(),
            (_, Err(clash)) => Err(clash),
            (_, Ok(None)) => Ok(None),
            (_, Ok(Some(_))) if !known => Err(Clash::OnDisk),
            (_, Ok(Some(first))) if in_editor => Ok(Some(change(first))),
            // Made by the turn: the file goes, the document is the editor's.
            (_, Ok(Some(first))) if document.editable && first.before.is_none() => {
                let there = self.disk.is_some();
                Ok(there.then(|| self.step(first, RestorePlace::Disk)))
            }
            (_, Ok(Some(_))) => Err(Clash::Unsaved),
        })
    }

    fn step(&self, first: &'a Edit, place: RestorePlace) -> RestoreStep<'a> {
        let now = self.disk.clone();
        RestoreStep { first, place, now }
    }
}

/// The edit whose `before` a file goes back to; none where it is there already.
fn take_back<'a>(edits: &[&'a Edit], present: Option<&str>) -> Result<Option<&'a Edit>, Clash> {
    if edits
        .first()
        .is_some_and(|first| first.before.as_deref() == present)
    {
        return Ok(None);
    }
    let mut made = edits;
    while let [before @ .., last] = made {
        if last.after.as_deref() == present {
            break;
        }
        if last.before.as_deref() != present {
            return Err(Clash::Changed);
        }
        // It is on record and was never made: a crash, or an error, between the two.
        made = before;
    }
    // Between two edits somebody else changed the file: going back to the first would take that along.
    let interrupted = made
        .windows(2)
        .any(|pair| pair[1].before != pair[0].after && pair[1].before != pair[0].before);
    if interrupted {
        return Err(Clash::Changed);
    }
    Ok(made.first().copied())
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

/// What the edits on record ever found in a file or left there. What was never saved is on disk as one of them.
fn states<'a>(records: &'a [Record], path: &str) -> HashSet<Option<&'a str>> {
    let edits = records.iter().filter_map(|record| match &record.entry {
        Entry::Edit(edit) if edit.path == path => Some(edit),
        _ => None,
    });
    edits
        .flat_map(|edit| [edit.before.as_deref(), edit.after.as_deref()])
        .collect()
}

/// Whether the turn ran a tool whose changes are not on record.
fn untracked(records: &[Record], turn: &str, ran: impl Fn(&str) -> bool) -> bool {
    let of_turn = records
        .iter()
        .filter(|record| record.turn.as_deref() == Some(turn));
    let history = TurnHistory::of(of_turn.filter_map(|record| record.entry.event()));
    history
        .calls()
        .any(|call| call.runs() > 0 && ran(call.tool()))
}

fn open_root(root: &Path) -> Result<Dir, UndoError> {
    Dir::open_ambient_dir(root, ambient_authority()).map_err(failed(&root.to_string_lossy()))
}

/// The content of a file; none where it is not there.
fn read(folder: &Dir, path: &str) -> io::Result<Option<Vec<u8>>> {
    let mut options = OpenOptions::new();
    options
        .read(true)
        .custom_flags(regular::CAUTIOUS.bits().cast_signed());
    let read = || -> io::Result<Vec<u8>> {
        let mut file = folder.open_with(path, &options)?.into_std();
        regular::check(&file.metadata()?)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    match read() {
        Ok(bytes) => Ok(Some(bytes)),
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

/// Whether a blob can stand in an editor.
fn is_text(blobs: &Blobs, name: &str) -> io::Result<bool> {
    let bytes = blobs.read(name, 0..u64::MAX)?;
    Ok(std::str::from_utf8(&bytes).is_ok())
}

fn paths(conflicts: &[Conflict]) -> String {
    let paths: Vec<&str> = conflicts.iter().map(|it| it.path.as_str()).collect();
    paths.join(", ")
}

#[cfg(test)]
mod tests;
