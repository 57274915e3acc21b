//! Attachments of the user: read within a bound, classified by content, and kept with a conversation.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, absolute},
};

use aside_base::{secrets::is_secret, system::folders::real_path};
use aside_turn::attachment::{Attachment, Content, Media, MediaType};

use super::blobs::Blobs;

/// Maximum size of a text in bytes.
const TEXT: u64 = 16 * 1024 * 1024;
/// Maximum size in bytes of all attachments of one message.
const TOGETHER: u64 = 64 * 1024 * 1024;
/// Number of bytes by which the type of a file is detected.
const BEGINNING: u64 = 16;

/// An attachment whose bytes no conversation keeps yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AttachedFile {
    /// The path that it was read from, or `stdin`.
    pub name: String,
    /// The text or the bytes.
    pub content: AttachedContent,
    /// Whether the text has replacement characters for bytes that are not UTF-8.
    pub is_lossy: bool,
}

/// The content of an attachment: text, or the bytes of an image or PDF.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AttachedContent {
    /// A text of any kind, in UTF-8.
    Text(String),
    /// An image or a PDF, with its bytes.
    Media(MediaType, Vec<u8>),
}

/// Treatment of bytes that are not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decoding {
    Strict,
    /// They are replaced in a text. Bytes with a zero among them are no text.
    Lossy,
}

/// Reason why a file cannot be attached.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// The file cannot be read.
    #[error("{name} cannot be attached: {source}; name a file that can be read")]
    Unreadable {
        /// Name of the attachment.
        name: String,
        /// The underlying I/O error.
        source: io::Error,
    },
    /// The file exceeds the limit for its kind.
    #[error(
        "{name} is {what} of more than {most} bytes, and larger ones are not sent; attach {instead}"
    )]
    TooLarge {
        /// Name of the attachment.
        name: String,
        /// Kind of the file.
        what: &'static str,
        /// Limit in bytes.
        most: u64,
        /// A better attachment.
        instead: &'static str,
    },
    /// The attachments together exceed the limit.
    #[error(
        "{name} makes the attachments more than {} MiB together; attach fewer",
        TOGETHER >> 20
    )]
    TooMuch {
        /// The first attachment beyond the limit.
        name: String,
    },
    /// No model accepts this type of file.
    #[error(
        "{name} is neither UTF-8 text nor a PNG, JPEG, GIF or WebP image nor a PDF; convert it first"
    )]
    Neither {
        /// Name of the attachment.
        name: String,
    },
    /// The requested part does not exist.
    #[error("{name} has no line {line}; attach lines that are there")]
    NoLine {
        /// Name of the attachment.
        name: String,
        /// The first line of the part, counted from 1.
        line: u32,
    },
    /// The file is a link to another one that may hold secrets.
    #[error(
        "{name} leads to {target}, which may hold secrets; attach that file itself if you mean it"
    )]
    Secret {
        /// Name of the attachment.
        name: String,
        /// The file that was opened.
        target: String,
    },
    /// A part was requested of a file without lines.
    #[error("{name} is {what}, which has no lines to choose from; attach it without a range")]
    NoLines {
        /// Name of the attachment.
        name: String,
        /// Kind of the file.
        what: &'static str,
    },
}

impl AttachedFile {
    /// Attaches a text.
    #[must_use]
    pub fn text(name: impl Into<String>, text: impl Into<String>) -> Self {
        let given = Self {
            name: name.into(),
            content: AttachedContent::Text(text.into()),
            is_lossy: false,
        };
        given.without_mark()
    }

    /// Takes the byte order mark away, which is of the file and not of its text.
    fn without_mark(mut self) -> Self {
        if let AttachedContent::Text(text) = &mut self.content
            && let Some(rest) = text.strip_prefix('\u{feff}')
        {
            *text = rest.to_owned();
        }
        self
    }

    /// Reads a file. Its content decides the type, not its name.
    ///
    /// # Errors
    /// [`AttachError`]. Reads at most as much as may be attached.
    pub fn read_file(name: &str, path: &Path) -> Result<Self, AttachError> {
        let open = || {
            let file = File::open(path)?;
            let about = file.metadata()?;
            // Only a regular file has a meaningful length.
            let size = about.is_file().then_some(about.len());
            Ok((file, size))
        };
        let (file, size) = open().map_err(unreadable(name))?;
        // Whoever names a secret means it; whoever names a link to one may not know.
        let real = real_path(&file, path).map_err(unreadable(name))?;
        let named = absolute(path).unwrap_or_else(|_| path.to_owned());
        if is_secret(&real) && !is_secret(&named) {
            return Err(AttachError::Secret {
                name: name.to_owned(),
                target: real.display().to_string(),
            });
        }
        Self::read_sized(name, file, size, Decoding::Strict)
    }

    /// Reads an attachment from another source, such as a pipe. Nobody can convert that first, so bytes of a text that
    /// are not UTF-8 are replaced.
    ///
    /// # Errors
    /// The same as for a file.
    pub fn read(name: &str, input: impl Read) -> Result<Self, AttachError> {
        Self::read_sized(name, input, None, Decoding::Lossy)
    }

    fn read_sized(
        name: &str,
        mut input: impl Read,
        size: Option<u64>,
        decoding: Decoding,
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
        let mut is_lossy = false;
        let content = match media {
            Some(media) => AttachedContent::Media(media, bytes),
            None => AttachedContent::Text(match String::from_utf8(bytes) {
                Ok(text) => text,
                Err(other) if decoding == Decoding::Lossy && !other.as_bytes().contains(&0) => {
                    is_lossy = true;
                    String::from_utf8_lossy(other.as_bytes()).into_owned()
                }
                Err(_) => {
                    let name = name.to_owned();
                    return Err(AttachError::Neither { name });
                }
            }),
        };
        let read = Self {
            name: name.to_owned(),
            content,
            is_lossy,
        };
        Ok(read.without_mark())
    }

    /// Reduces a text to a part.
    ///
    /// # Errors
    /// [`AttachError::NoLines`] for an image or a PDF.
    pub fn part(self, part: impl FnOnce(&str) -> String) -> Result<Self, AttachError> {
        match self.content {
            AttachedContent::Text(text) => Ok(Self::text(self.name, part(&text))),
            AttachedContent::Media(media, _) => Err(AttachError::NoLines {
                name: self.name,
                what: media.noun(),
            }),
        }
    }

    /// The lines from `from` to `to`, counted from 1, with their line ends. The name says which they are.
    ///
    /// # Errors
    /// [`AttachError::NoLines`], and [`AttachError::NoLine`] if there is no such line.
    pub fn lines(self, from: u32, to: u32) -> Result<Self, AttachError> {
        let name = self.name.clone();
        let part = self.part(|text| {
            let lines = text.split_inclusive('\n');
            let lines = lines.skip(from.saturating_sub(1) as usize);
            lines.take(to.saturating_sub(from) as usize + 1).collect()
        })?;
        if part.size() == 0 {
            return Err(AttachError::NoLine { name, line: from });
        }
        Ok(Self {
            name: format!("{name}:{from}-{to}"),
            ..part
        })
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        match &self.content {
            AttachedContent::Text(text) => text.len() as u64,
            AttachedContent::Media(_, bytes) => bytes.len() as u64,
        }
    }

    /// Whether this is an image or a PDF.
    #[must_use]
    pub fn is_media(&self) -> bool {
        matches!(self.content, AttachedContent::Media(..))
    }

    /// Stores the bytes of an image or PDF beside the log of a conversation.
    ///
    /// # Errors
    /// Fails if they cannot be written.
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

/// Collects the attachments of one message, in order. Stops reading at the first error or at the limit.
///
/// # Errors
/// The first error.
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
        Some(media) if media.is_image() => (media.noun(), "a smaller one"),
        Some(media) => (media.noun(), "fewer pages"),
    };
    AttachError::TooLarge {
        name: name.to_owned(),
        what,
        most,
        instead,
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
