//! What a user attaches: read with a bound, told apart by what it holds, and kept with a conversation.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use aside_turn::attachment::{Attachment, Content, Media, MediaType};

use super::blobs::Blobs;

/// Bytes of a text, at the most.
const TEXT: u64 = 16 * 1024 * 1024;
/// Bytes of all that goes along with one message, at the most.
const TOGETHER: u64 = 64 * 1024 * 1024;
/// Bytes that tell what something is.
const BEGINNING: u64 = 16;

/// Something attached to a message whose bytes no conversation keeps yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedFile {
    /// The path that it was read from, or `stdin`.
    pub name: String,
    /// The text or the bytes.
    pub content: AttachedContent,
}

/// The content of an attachment: text, or the bytes of an image or PDF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachedContent {
    /// A text of any kind, in UTF-8.
    Text(String),
    /// An image or a PDF, and its bytes.
    Media(MediaType, Vec<u8>),
}

/// Why something cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// It cannot be read.
    #[error("{name} cannot be attached: {source}; name a file that can be read")]
    Unreadable {
        /// What was to be attached.
        name: String,
        /// What the system said when it was read.
        source: io::Error,
    },
    /// It is larger than anything of its kind may be.
    #[error(
        "{name} is {what} of more than {most} bytes, and larger ones are not sent; attach {instead}"
    )]
    TooLarge {
        /// What was to be attached.
        name: String,
        /// What kind of file it is.
        what: &'static str,
        /// The most bytes that a file of its kind may have.
        most: u64,
        /// What to attach in its place.
        instead: &'static str,
    },
    /// All of it together is too large.
    #[error(
        "{name} makes the attachments more than {} MiB together; attach fewer",
        TOGETHER >> 20
    )]
    TooMuch {
        /// The first attachment for which there is no room.
        name: String,
    },
    /// It is nothing that a model can be shown.
    #[error(
        "{name} is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image nor a PDF; convert it first"
    )]
    Neither {
        /// What was to be attached.
        name: String,
    },
    /// A part was asked for that is not there.
    #[error("{name} has no line {line}; attach lines that are there")]
    NoLine {
        /// What was to be attached.
        name: String,
        /// The first line of the part, counted from 1.
        line: u32,
    },
    /// A part was asked for of something that has no lines.
    #[error("{name} is {what}, which has no lines to choose from; attach it without a range")]
    NoLines {
        /// What was to be attached.
        name: String,
        /// What kind of file it is.
        what: &'static str,
    },
}

impl AttachedFile {
    /// Attaches a text that is at hand.
    #[must_use]
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            content: AttachedContent::Text(text.into()),
        }
    }

    /// Reads a file. What it is counts, not what it is called.
    ///
    /// # Errors
    /// [`AttachError`]; no more is read than may be attached.
    pub fn read_file(name: &str, path: &Path) -> Result<Self, AttachError> {
        let open = || {
            let file = File::open(path)?;
            let about = file.metadata()?;
            // Only of a regular file the length says something.
            let size = about.is_file().then_some(about.len());
            Ok((file, size))
        };
        let (file, size) = open().map_err(unreadable(name))?;
        Self::read_sized(name, file, size)
    }

    /// Reads what comes from somewhere else, such as a pipe.
    ///
    /// # Errors
    /// As for a file.
    pub fn read(name: &str, input: impl Read) -> Result<Self, AttachError> {
        Self::read_sized(name, input, None)
    }

    fn read_sized(
        name: &str,
        mut input: impl Read,
        size: Option<u64>,
    ) -> Result<Self, AttachError> {
        let mut bytes = Vec::new();
        let beginning = input.by_ref().take(BEGINNING).read_to_end(&mut bytes);
        beginning.map_err(unreadable(name))?;
        let media = MediaType::of(&bytes);
        let most = media.as_ref().map_or(TEXT, MediaType::most);
        if size.is_none_or(|size| size <= most) {
            let rest = (most + 1).saturating_sub(bytes.len() as u64);
            let read = input.take(rest).read_to_end(&mut bytes);
            read.map_err(unreadable(name))?;
        }
        if size.is_some_and(|size| size > most) || bytes.len() as u64 > most {
            return Err(too_large(name, media.as_ref(), most));
        }
        let content = match media {
            Some(media) => AttachedContent::Media(media, bytes),
            None => AttachedContent::Text(String::from_utf8(bytes).map_err(|_| {
                AttachError::Neither {
                    name: name.to_owned(),
                }
            })?),
        };
        Ok(Self {
            name: name.to_owned(),
            content,
        })
    }

    /// A part of its text.
    ///
    /// # Errors
    /// [`AttachError::NoLines`] where it has none.
    pub fn part(self, part: impl FnOnce(&str) -> String) -> Result<Self, AttachError> {
        match self.content {
            AttachedContent::Text(text) => Ok(Self::text(self.name, part(&text))),
            AttachedContent::Media(media, _) => Err(AttachError::NoLines {
                name: self.name,
                what: media.words(),
            }),
        }
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.content {
            AttachedContent::Text(text) => text.len() as u64,
            AttachedContent::Media(_, bytes) => bytes.len() as u64,
        }
    }

    /// It is an image or a PDF.
    #[must_use]
    pub fn is_media(&self) -> bool {
        matches!(self.content, AttachedContent::Media(..))
    }

    /// Puts the bytes of an image or PDF beside the log of a conversation.
    ///
    /// # Errors
    /// Where they cannot be written.
    pub fn keep(self, blobs: &Blobs) -> io::Result<Attachment> {
        let content = match self.content {
            AttachedContent::Text(text) => Content::Text(text),
            AttachedContent::Media(media_type, bytes) => Content::Media(Media {
                media_type,
                blob: blobs.keep(&bytes)?,
                size: bytes.len() as u64,
            }),
        };
        Ok(Attachment {
            name: self.name,
            content,
        })
    }
}

/// What goes along with one message, in order. What comes after an error, or after too much, is not read.
///
/// # Errors
/// The first.
pub fn together(
    each: impl IntoIterator<Item = Result<AttachedFile, AttachError>>,
) -> Result<Vec<AttachedFile>, AttachError> {
    let (mut all, mut size) = (Vec::new(), 0_u64);
    for given in each {
        let given = given?;
        size += given.size();
        if size > TOGETHER {
            return Err(AttachError::TooMuch { name: given.name });
        }
        all.push(given);
    }
    Ok(all)
}

fn unreadable(name: &str) -> impl FnOnce(io::Error) -> AttachError {
    let name = name.to_owned();
    move |source| AttachError::Unreadable { name, source }
}

fn too_large(name: &str, media: Option<&MediaType>, most: u64) -> AttachError {
    let (what, instead) = match media {
        None => ("a file", "a part of it"),
        Some(media) if media.is_image() => (media.words(), "a smaller one"),
        Some(media) => (media.words(), "fewer pages"),
    };
    AttachError::TooLarge {
        name: name.to_owned(),
        what,
        most,
        instead,
    }
}

#[cfg(test)]
mod tests;
