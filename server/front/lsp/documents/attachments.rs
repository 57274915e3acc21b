//! Attachments of a message, as they are when the request arrives. Files are read on a blocking thread.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use aside_session::attach::{AttachError, AttachedContent, AttachedFile, together};
use tower_lsp::lsp_types::{Range, Url};

use super::{
    super::client::counting::Counting,
    Documents,
    positions::{is_doubtful, lsp_range, span},
    real,
};
use crate::front::uri::file_of;
use crate::front::{
    error::{Result, invalid},
    wire::requests::AttachmentParam,
};

/// Source of an attachment.
pub(in super::super) enum Source {
    /// The text is known, because the client sent it or the document is open.
    Known(AttachedFile),
    /// A file to read.
    File {
        /// Name of the attachment.
        name: String,
        /// Path of the attached file.
        path: PathBuf,
        /// Range of the text to attach; `None` for everything.
        range: Option<Range>,
        /// How the client counts.
        counting: Counting,
    },
}

/// Finds the source of an attachment without reading files. An open document is taken as it is now.
///
/// # Errors
/// Fails if the URI names nothing that could be read.
pub(in super::super) fn source(
    documents: &Documents,
    counting: Counting,
    given: &AttachmentParam,
) -> Result<Source> {
    let uri = Url::parse(&given.uri)
        .map_err(|why| invalid(format!("attachments: {:?} is not a URI: {why}", given.uri)))?;
    let path = file_of(&uri);
    let name = path
        .as_ref()
        .map_or_else(|| given.uri.clone(), |path| path.display().to_string());
    let range = given.range.map(lsp_range);
    if range.is_some_and(|range| range.end < range.start) {
        return Err(invalid(format!(
            "attachments: the range of {name} ends before it starts"
        )));
    }
    if let Some(text) = &given.text {
        return Ok(Source::Known(named(AttachedFile::text(name, text), range)));
    }
    // Else one of another name of the file, which may have what was not saved.
    let other = || documents.get(&documents.uri_of(&real(path.as_ref()?))?);
    if let Some(document) = documents.get(&uri).or_else(other) {
        let text = part(&document.text, range, counting)
            .map_err(|why| invalid(format!("attachments: {name} {why}")))?;
        return Ok(Source::Known(named(AttachedFile::text(name, text), range)));
    }
    let path = path.ok_or_else(|| {
        invalid(format!(
            "attachments: {name} is neither open nor a file; give its text"
        ))
    })?;
    Ok(Source::File {
        name,
        path,
        range,
        counting,
    })
}

/// Reads the files. Blocks.
///
/// # Errors
/// Fails if a file cannot be read or the attachments are too large.
pub(in super::super) fn read(sources: Vec<Source>) -> Result<Vec<AttachedFile>> {
    together(sources.into_iter().map(Source::read))
        .map_err(|why| invalid(format!("attachments: {why}")))
}

impl Source {
    fn read(self) -> Result<AttachedFile, AttachError> {
        match self {
            Self::Known(given) => Ok(given),
            Self::File {
                name,
                path,
                range,
                counting,
            } => {
                regular(&name, &path)?;
                let given = AttachedFile::read_file(&name, &path)?;
                if range.is_none() {
                    return Ok(given);
                }
                let AttachedContent::Text(text) = &given.content else {
                    return given.part(|text| text.to_owned());
                };
                let part = part(text, range, counting);
                let part = part.map_err(|why| unreadable(&name, io::Error::other(why)))?;
                let given = AttachedFile::text(name, part);
                Ok(named(given, range))
            }
        }
    }
}

/// Refuses anything but a regular file, because opening it might block for ever.
fn regular(name: &str, path: &Path) -> Result<(), AttachError> {
    let about = fs::metadata(path).map_err(|source| unreadable(name, source))?;
    match about.is_file() {
        true => Ok(()),
        false => Err(unreadable(name, io::Error::other("it is no regular file"))),
    }
}

fn unreadable(name: &str, source: io::Error) -> AttachError {
    AttachError::Unreadable {
        name: name.to_owned(),
        source,
    }
}

/// The text of a range; an error if nobody knows which lines it means.
fn part(text: &str, range: Option<Range>, counting: Counting) -> Result<String, &'static str> {
    match range {
        None => Ok(text.to_owned()),
        Some(_) if is_doubtful(text, counting) => Err(
            "has carriage returns within lines, and it is not known how this editor counts such lines; attach the whole file",
        ),
        Some(range) => Ok(text[span(text, range, counting)].to_owned()),
    }
}

/// Adds the lines of a range to the name, so that the model can refer to line numbers.
fn named(given: AttachedFile, range: Option<Range>) -> AttachedFile {
    let (AttachedContent::Text(text), Some(range)) = (&given.content, range) else {
        return given;
    };
    let first = range.start.line as usize + 1;
    let last = first + text.lines().count().saturating_sub(1);
    AttachedFile {
        name: format!("{}:{first}-{last}", given.name),
        ..given
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_file_is_named_with_its_lines() {
        for (first, part, expected) in [
            (0, "one", "a.rs:1-1"),
            (1, "two\nthree\n", "a.rs:2-3"),
            (1, "two\nth", "a.rs:2-3"),
            (9, "", "a.rs:10-10"),
        ] {
            let mut range = Range::default();
            range.start.line = first;
            let given = named(AttachedFile::text("a.rs", part), Some(range));
            assert_eq!(given, AttachedFile::text(expected, part), "{part:?}");
        }
        let whole = named(AttachedFile::text("a.rs", "one"), None);
        assert_eq!(whole.name, "a.rs");
    }
}
