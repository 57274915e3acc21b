//! Undo of a turn's file changes: all of them or none.
//!
//! The record tells the expected content of each file, and a blob holds the content before. The current content is the
//! text of an open document, or else the file on disk. What was changed in other lines since stays there. Nothing outside
//! the workspace is read or written, wherever a path or a link points.

use std::{
    collections::HashSet,
    io::{self, Read},
    path::Path,
};

use aside_base::{
    diff::merged, digest::sha256, incoming::PresentFile, regular, system::files::cautious_inside,
};
use aside_turn::history::TurnHistory;
use cap_std::{
    ambient_authority,
    fs::{Dir, OpenOptions},
};

use super::{
    blobs::Blobs,
    record::{Edit, Entry, Record},
};

pub mod staged;

/// Steps that undo a turn's changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UndoPlan {
    /// One entry for each file.
    pub changes: Vec<FileRestore>,
    /// Whether the turn also ran tools whose changes are not on record.
    pub untracked: bool,
}

/// The restoration of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileRestore {
    /// Path relative to the workspace.
    pub path: String,
    /// Place to restore.
    pub place: RestorePlace,
    /// SHA-256 of the current content; `None` if there is none.
    pub now: Option<String>,
    /// Blob of the content to restore; `None` to delete the file.
    pub to: Option<String>,
    /// Permission bits of a file that has to be created again.
    pub mode: Option<u32>,
}

/// Place in which a file is restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RestorePlace {
    /// The file on disk is written.
    Disk,
    /// The document in the editor is changed. The content is text then.
    Editor,
}

/// A turn to undo, its workspace, and optionally a subset of its files.
#[derive(Clone, Copy, Debug)]
pub struct UndoRequest<'a> {
    /// Id of the turn.
    pub turn: &'a str,
    /// The root of the workspace.
    pub root: &'a Path,
    /// Blobs with the contents before edits.
    pub blobs: &'a Blobs,
    /// Files to restore; `None` means all.
    pub only: Option<&'a [String]>,
}

/// An open document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditorDocument {
    /// The text in the editor.
    pub text: String,
    /// Comparison with the file.
    pub saved: Saved,
    /// Whether the editor can be asked to change it.
    pub editable: bool,
}

/// Comparison of an open document with its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Saved {
    /// Both have the same text, except for conversions that editors make when they open a file.
    Yes,
    /// The document has unsaved changes.
    No,
    /// The document has unsaved changes of the user's own, so nobody saves it for the user.
    Users,
    /// The document counts as unsaved, but the file has the same text, except for conversions that editors make when they
    /// save.
    Alike,
}

/// A file that cannot be restored, with the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// Path relative to the workspace.
    pub path: String,
    /// The reason why the file cannot be restored.
    pub clash: Clash,
}

/// Reason why a file cannot be restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clash {
    /// A person or a later turn changed the same lines of the file since.
    Changed,
    /// A link lies on the way to the file, so the path is another file's now.
    Elsewhere,
    /// The file is open, and the content on disk is neither the document nor any recorded content.
    OnDisk,
    /// The file has unsaved changes in an editor that cannot change it on request.
    Unsaved,
}

/// Reason why a turn cannot be undone.
#[derive(Debug, thiserror::Error)]
pub enum UndoError {
    /// Files that were changed after the turn.
    #[error("changed since and left as they are: {}; put them back yourself, or undo later turns first", paths(.0))]
    Conflicts(Vec<Conflict>),
    /// The conversation has no such turn.
    #[error("there is no turn {0} in this conversation")]
    NoTurn(String),
    /// A file cannot be read or written.
    #[error("cannot put {path} back: {source}; nothing was changed")]
    Io {
        /// Path relative to the workspace.
        path: String,
        /// The underlying I/O error.
        source: io::Error,
    },
}

/// Plans the undo of a turn's changes. Reads files and changes none; new contents are kept as blobs.
///
/// `ran` tells whether a tool makes changes that are not on record; `open` returns the open document of a file.
///
/// # Errors
/// [`UndoError::Conflicts`] with every file in which what the turn left was changed since.
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
        if has_link(&folder, &path) {
            let clash = Clash::Elsewhere;
            conflicts.push(Conflict { path, clash });
            continue;
        }
        let failed = failed(&path);
        let disk = read(&folder, &path).map_err(&failed)?;
        let disk = disk.map(|present| present.content);
        let half = half_made(&edits, disk.as_deref(), wanted.blobs);
        let there = disk.as_deref().map(sha256);
        let file = File {
            edits: &edits,
            disk: half.or_else(|| there.clone()),
            there,
            known: states(records, &path),
        };
        let document = open(&path);
        let step = match &document {
            None => file.on_disk(),
            Some(document) => {
                let is_text = |blob: &str| is_text(wanted.blobs, blob);
                file.in_editor(document, is_text).map_err(&failed)?
            }
        };
        let step = match step {
            Err(Clash::Changed) => {
                let beside = Beside {
                    file: &file,
                    blobs: wanted.blobs,
                };
                let step = beside.step(document.as_ref(), disk.as_deref());
                step.map_err(&failed)?.map(Some)
            }
            step => step,
        };
        match step {
            Ok(None) => {}
            Ok(Some(RestoreStep {
                to,
                mode,
                place,
                now,
            })) => changes.push(FileRestore {
                place,
                now,
                to,
                mode,
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

/// Current state of a file that a turn edited.
struct File<'a> {
    edits: &'a [&'a Edit],
    /// SHA-256 of the content on disk. An edit that a crash left half made counts as made.
    disk: Option<String>,
    /// SHA-256 of the content that is really there.
    there: Option<String>,
    /// All contents that the conversation ever found or left there.
    known: HashSet<Option<&'a str>>,
}

/// Restoration of a file, as in [`FileRestore`].
struct RestoreStep {
    to: Option<String>,
    mode: Option<u32>,
    place: RestorePlace,
    now: Option<String>,
}

impl RestoreStep {
    fn to(first: &Edit, place: RestorePlace, now: Option<String>) -> Self {
        Self {
            to: first.before.clone(),
            mode: first.mode,
            place,
            now,
        }
    }
}

impl File<'_> {
    /// The step for a file that is not open; `None` if it is restored already.
    fn on_disk(&self) -> Result<Option<RestoreStep>, Clash> {
        let first = take_back(self.edits, self.disk.as_deref())?;
        Ok(first.map(|first| self.step(first, RestorePlace::Disk)))
    }

    /// The step for an open file.
    fn in_editor(
        &self,
        document: &EditorDocument,
        is_text: impl Fn(&str) -> io::Result<bool>,
    ) -> io::Result<Result<Option<RestoreStep>, Clash>> {
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
        let change = |first| RestoreStep::to(first, RestorePlace::Editor, Some(text.clone()));
        Ok(match (document.saved, first) {
            (Saved::Yes, Ok(Some(first))) if in_editor => Ok(Some(change(first))),
            // The document's text may differ from the file's, because editors convert some files.
            (Saved::Yes, _) => self.on_disk(),
            (_, Err(clash)) => Err(clash),
            (_, Ok(None)) => Ok(None),
            // Whatever the disk has, it stays there.
            (Saved::Users, Ok(Some(first))) if in_editor => Ok(Some(change(first))),
            (_, Ok(Some(_))) if !known => Err(Clash::OnDisk),
            (_, Ok(Some(first))) if in_editor => Ok(Some(change(first))),
            // The turn created the file: the file is deleted, and the document stays with the editor.
            (_, Ok(Some(first))) if document.editable && first.before.is_none() => {
                let there = self.disk.is_some();
                Ok(there.then(|| self.step(first, RestorePlace::Disk)))
            }
            (_, Ok(Some(_))) => Err(Clash::Unsaved),
        })
    }

    fn step(&self, first: &Edit, place: RestorePlace) -> RestoreStep {
        RestoreStep::to(first, place, self.there.clone())
    }
}

/// A file with changes beside those of the turn.
struct Beside<'a> {
    file: &'a File<'a>,
    blobs: &'a Blobs,
}

impl Beside<'_> {
    /// The step that takes back the turn's changes and leaves the others.
    ///
    /// # Errors
    /// [`Clash::Changed`] where both changed the same lines.
    fn step(
        &self,
        document: Option<&EditorDocument>,
        disk: Option<&[u8]>,
    ) -> io::Result<Result<RestoreStep, Clash>> {
        let file = self.file;
        match document {
            Some(document) if document.saved != Saved::Yes || document.editable => {
                let unsaved = document.saved == Saved::No;
                let text = self.text(&document.text);
                match text {
                    Some(_) if unsaved && !file.known.contains(&file.disk.as_deref()) => {
                        return Ok(Err(Clash::OnDisk));
                    }
                    Some(_) if !document.editable => return Ok(Err(Clash::Unsaved)),
                    Some(text) => {
                        let now = sha256(document.text.as_bytes());
                        return self.put(&text, RestorePlace::Editor, Some(now)).map(Ok);
                    }
                    None if document.saved != Saved::Yes => return Ok(Err(Clash::Changed)),
                    // The document's text may differ from the file's, because editors convert some files.
                    None => {}
                }
            }
            _ => {}
        }
        let disk = disk.and_then(|disk| str::from_utf8(disk).ok());
        match disk.and_then(|disk| self.text(disk)) {
            Some(text) => {
                let now = file.there.clone();
                self.put(&text, RestorePlace::Disk, now).map(Ok)
            }
            None => Ok(Err(Clash::Changed)),
        }
    }

    fn put(&self, text: &str, place: RestorePlace, now: Option<String>) -> io::Result<RestoreStep> {
        Ok(RestoreStep {
            to: Some(self.blobs.keep(text.as_bytes())?),
            mode: None,
            place,
            now,
        })
    }

    /// A text without the turn's changes; `None` where one of them cannot be told from the others.
    fn text(&self, present: &str) -> Option<String> {
        let read = |name: &Option<String>| {
            let bytes = self.blobs.read(name.as_ref()?, 0..u64::MAX).ok()?;
            String::from_utf8(bytes).ok()
        };
        let mut edits = self.file.edits.iter().rev();
        edits.try_fold(present.to_owned(), |text, edit| {
            merged(&read(&edit.after)?, &read(&edit.before)?, &text)
        })
    }
}

/// The content after the last edit, if a crash left that edit half made: a file that is written itself begins with the new
/// content then, and goes on with the old one.
fn half_made(edits: &[&Edit], disk: Option<&[u8]>, blobs: &Blobs) -> Option<String> {
    let (disk, edit) = (disk?, edits.last()?);
    let there = Some(sha256(disk));
    if there == edit.after || edits.iter().any(|edit| edit.before == there) {
        return None;
    }
    let content = |name: &Option<String>| blobs.read(name.as_ref()?, 0..u64::MAX).ok();
    let (before, after) = (content(&edit.before)?, content(&edit.after)?);
    let alike = disk.iter().zip(&after).take_while(|(a, b)| a == b).count();
    let rest = before.get(alike..).unwrap_or_default();
    let is_half = disk.len() == before.len().max(alike) && disk[alike..] == *rest;
    edit.after.clone().filter(|_| alike > 0 && is_half)
}

/// The edit whose `before` is restored; `None` if the file has that content already.
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
        // The edit is on record but was never made, because of a crash or an error.
        made = before;
    }
    // Somebody else changed the file between two edits; restoring the first content would lose that change.
    let interrupted = made
        .windows(2)
        .any(|pair| pair[1].before != pair[0].after && pair[1].before != pair[0].before);
    if interrupted {
        return Err(Clash::Changed);
    }
    Ok(made.first().copied())
}

/// The edits of a turn that were not undone yet, by file, in order of the first change.
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

/// All contents of a file in recorded edits. A document that was never saved has one of them on disk.
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

/// Whether a link lies on the way to a file. Edits are on record by real paths, so somebody has put it there since, and what
/// it leads to is another file.
fn has_link(folder: &Dir, path: &str) -> bool {
    let mut parts = Path::new(path).ancestors();
    parts.any(|part| {
        let about = folder.symlink_metadata(part);
        about.is_ok_and(|about| about.is_symlink())
    })
}

/// Reads a file; `None` if it does not exist.
fn read(folder: &Dir, path: &str) -> io::Result<Option<PresentFile>> {
    let mut options = OpenOptions::new();
    cautious_inside(options.read(true));
    let read = || -> io::Result<PresentFile> {
        let mut file = folder.open_with(path, &options)?.into_std();
        regular::check(&file.metadata()?)?;
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        Ok(PresentFile { file, content })
    };
    match read() {
        Ok(present) => Ok(Some(present)),
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

/// Whether a blob is text.
fn is_text(blobs: &Blobs, name: &str) -> io::Result<bool> {
    let bytes = blobs.read(name, 0..u64::MAX)?;
    Ok(std::str::from_utf8(&bytes).is_ok())
}

fn paths(conflicts: &[Conflict]) -> String {
    let paths: Vec<&str> = conflicts.iter().map(|it| it.path.as_str()).collect();
    paths.join(", ")
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
