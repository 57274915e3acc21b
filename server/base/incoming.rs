//! A content on its way into the place of a file, which stays what it is besides its content.
//!
//! | the file | how the content comes there |
//! |---|---|
//! | is not there | a new file takes its place at once |
//! | has one name, and a new one can be made beside it with its owner, group, mode and extended attributes | the same |
//! | has other names, is a mount, or a new one cannot be made or not be like it | it is written itself |
//! | is another user's, and cannot be written itself | a new file takes its place, and is the user's |
//!
//! Whoever brings a content has kept the old one: a file that is written itself holds some of both for a moment.

use std::{
    fs::{File, Permissions},
    io::{self, Write},
};

use cap_std::fs::{Dir, OpenOptions};

use crate::{
    system::files::{self, FileFacts, FileId, Likeness},
    under_way::{WriteNote, temporary_name},
};

/// The file that is there, and its content.
#[derive(Debug)]
pub struct PresentFile {
    /// The file, opened for reading.
    pub file: File,
    /// Its content.
    pub content: Vec<u8>,
}

/// The place of a file.
#[derive(Debug)]
pub struct FilePlace {
    /// The folder.
    pub folder: Dir,
    /// The name there.
    pub name: String,
}

/// A content on its way. It is gone without a trace if it is dropped before it is put.
pub struct Incoming<'a> {
    place: FilePlace,
    present: Option<&'a PresentFile>,
    content: &'a [u8],
    way: Way,
}

/// The way of a content.
enum Way {
    /// In a new file beside the place.
    Beside(NewFile),
    /// Into the file itself.
    Into(File),
}

/// A new file, which is under way until it is put.
struct NewFile {
    name: String,
    /// Dropped after the file.
    _note: Option<WriteNote>,
}

impl<'a> Incoming<'a> {
    /// Brings a content near its place, so that little can fail when it is put. `mode` is that of a file which is not
    /// there; `note` notes a file of this name in the folder as under way.
    ///
    /// # Errors
    /// If the content cannot be brought there; of the kind [`io::ErrorKind::AlreadyExists`] if another file is there now.
    pub fn new(
        place: FilePlace,
        present: Option<&'a PresentFile>,
        content: &'a [u8],
        mode: Option<Permissions>,
        note: impl Fn(&str) -> Option<WriteNote>,
    ) -> io::Result<Self> {
        let like = match present {
            Some(present) => Some(Likeness::of(&present.file)?),
            None => None,
        };
        let beside = || {
            let name = temporary_name();
            let new = NewFile {
                _note: note(&name),
                name,
            };
            let is_like = new.write(&place.folder, content, mode.clone(), like.as_ref());
            match is_like {
                Ok(is_like) => Ok((new, is_like)),
                Err(error) => {
                    let _ = place.folder.remove_file(&new.name);
                    Err(error)
                }
            }
        };
        let way = match (present, &like) {
            (Some(present), Some(like)) if like.names > 1 => into(&place, present, content)?,
            (None, _) | (_, None) => Way::Beside(beside()?.0),
            (Some(present), Some(like)) => match beside() {
                Ok((new, true)) => Way::Beside(new),
                Ok((new, false)) => match into(&place, present, content) {
                    Err(error) if like.is_foreign() && files::is_forbidden(&error) => {
                        Way::Beside(new)
                    }
                    way => {
                        let _ = place.folder.remove_file(&new.name);
                        way?
                    }
                },
                Err(error) if files::is_forbidden(&error) => into(&place, present, content)?,
                Err(error) => return Err(error),
            },
        };
        Ok(Self {
            place,
            present,
            content,
            way,
        })
    }

    /// Puts the content in its place.
    ///
    /// # Errors
    /// If it cannot be put; the old content is there then. Of the kind [`io::ErrorKind::AlreadyExists`] if another file
    /// is there now.
    pub fn put(mut self) -> io::Result<()> {
        let Some(present) = self.present else {
            return match &self.way {
                Way::Beside(new) => put_new(&self.place, &new.name),
                Way::Into(_) => Ok(()),
            };
        };
        if let Way::Beside(new) = &self.way {
            let FilePlace { folder, name } = &self.place;
            match files::replace_in(folder, &new.name, name) {
                // A mount, or a file in a folder where only its owner may replace it.
                Err(error) if files::is_forbidden(&error) => {
                    let itself = into(&self.place, present, self.content)?;
                    let _ = folder.remove_file(&new.name);
                    self.way = itself;
                }
                renamed => return renamed,
            }
        }
        match &self.way {
            Way::Into(file) => write_into(file, present, self.content),
            Way::Beside(_) => Ok(()),
        }
    }
}

impl Drop for Incoming<'_> {
    fn drop(&mut self) {
        if let Way::Beside(new) = &self.way {
            // Once it is put it has another name.
            let _ = self.place.folder.remove_file(&new.name);
        }
    }
}

impl NewFile {
    /// Writes the file. Returns whether it is like the one that it is to replace.
    fn write(
        &self,
        folder: &Dir,
        content: &[u8],
        mode: Option<Permissions>,
        like: Option<&Likeness>,
    ) -> io::Result<bool> {
        let options = &mut OpenOptions::new();
        let file = folder.open_with(&self.name, options.write(true).create_new(true))?;
        let mut file = file.into_std();
        file.write_all(content)?;
        match (like, mode) {
            (Some(like), _) => like.give(&file),
            (None, Some(mode)) => file.set_permissions(mode).map(|()| true),
            (None, None) => Ok(true),
        }
    }
}

/// Opens the file itself to be written, with room for the content.
fn into(place: &FilePlace, present: &PresentFile, content: &[u8]) -> io::Result<Way> {
    let file = files::open_to_write(&place.folder, &place.name, &present.file)?;
    let id = |file: &File| Ok::<_, io::Error>(FileId::of(&FileFacts::of(file)?));
    if id(&file)? != id(&present.file)? {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mode = present.file.metadata()?.permissions();
    let reserved = files::reserve(&file, present.content.len(), content.len());
    keep_mode(&file, mode)?;
    reserved?;
    Ok(Way::Into(file))
}

/// Writes a content into a file. The old one is put back if that fails.
fn write_into(file: &File, present: &PresentFile, content: &[u8]) -> io::Result<()> {
    let mode = present.file.metadata()?.permissions();
    let written = files::overwrite(file, content);
    if written.is_err() {
        let _ = files::overwrite(file, &present.content);
    }
    keep_mode(file, mode)?;
    written
}

/// Gives a file its mode back, of which writing takes some bits away, and reserving room, too.
fn keep_mode(file: &File, mode: Permissions) -> io::Result<()> {
    if file.metadata()?.permissions() != mode {
        let _ = file.set_permissions(mode);
    }
    Ok(())
}

/// Gives a new file its name, which never replaces one that appeared meanwhile.
fn put_new(place: &FilePlace, new: &str) -> io::Result<()> {
    let FilePlace { folder, name } = place;
    match folder.hard_link(new, folder, name) {
        Ok(()) => folder.remove_file(new),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // Some file systems lack hard links; the check just before found no file.
        Err(_) => folder.rename(new, folder, name),
    }
}
