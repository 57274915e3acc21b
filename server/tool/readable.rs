//! What tools read: a file behind the path gate, or the open document in its place.

use std::{ffi::OsStr, os::fd::AsFd};

use aside_base::digest::sha256;

use super::{
    ToolContext,
    editor::OpenDocument,
    workspace::{MAX_FILE, OpenedFile, PathError, TextFile},
};

/// Something that may be read: a file, or the open document in its place.
#[derive(Debug)]
pub(super) struct Readable {
    /// Its real path from the root, with `/`.
    pub(super) path: String,
    /// Reading it must be asked for: it may hold secrets.
    pub(super) secret: bool,
    /// Where its text is.
    pub(super) source: TextSource,
}

/// Where a text is.
#[derive(Debug)]
pub(super) enum TextSource {
    File(OpenedFile),
    Document(OpenDocument),
}

impl ToolContext {
    /// Opens a file for reading, or the document that stands for it.
    ///
    /// # Errors
    /// A path that leads to no regular file of the workspace, in whatever way.
    pub(super) fn readable(&self, path: &str) -> Result<Readable, PathError> {
        match self.workspace.file(path) {
            Ok(opened) => Ok(Readable {
                path: opened.path.clone(),
                secret: opened.secret,
                source: match self.document(&opened.path) {
                    Some(document) => TextSource::Document(document),
                    None => TextSource::File(opened),
                },
            }),
            // A document whose file was never saved.
            Err(PathError::Missing(missing)) => {
                let unsaved = self.workspace.absent_file(path).ok();
                let document = unsaved.and_then(|(path, secret)| {
                    let source = TextSource::Document(self.document(&path)?);
                    Some(Readable {
                        path,
                        secret,
                        source,
                    })
                });
                document.ok_or(PathError::Missing(missing))
            }
            Err(refusal) => Err(refusal),
        }
    }

    /// Opens a file that a walk came to, or the document that stands for it.
    ///
    /// # Errors
    /// Where it is no regular file any more.
    pub(super) fn readable_in(
        &self,
        folder: &impl AsFd,
        name: &OsStr,
        path: &str,
    ) -> Result<Readable, PathError> {
        let opened = self.workspace.file_in(folder, name, path)?;
        Ok(Readable {
            path: path.to_owned(),
            secret: opened.secret,
            source: match self.document_at_once(path) {
                Some(document) => TextSource::Document(document),
                None => TextSource::File(opened),
            },
        })
    }

    /// The same without a question to anybody: what a walk over many files can bear.
    fn document_at_once(&self, path: &str) -> Option<OpenDocument> {
        let answers = self.editor.as_ref()?.answers_for_each_file();
        answers.then(|| self.document(path)).flatten()
    }

    /// The open document of a file, by its real path from the root.
    pub(super) fn document(&self, path: &str) -> Option<OpenDocument> {
        let editor = self.editor.as_ref()?;
        editor.document(&self.workspace.root().join(path))
    }

    /// Paths from the root of documents with changes that are not saved.
    pub(super) fn unsaved(&self) -> Vec<String> {
        let unsaved = self.editor.as_ref().map(|editor| editor.unsaved());
        let inside = unsaved.into_iter().flatten().filter_map(|path| {
            let path = path.strip_prefix(self.workspace.root()).ok()?;
            path.to_str().map(str::to_owned)
        });
        inside.collect()
    }
}

impl Readable {
    /// Whether it is a file that is too large to be held.
    pub(super) fn is_large(&self) -> bool {
        matches!(&self.source, TextSource::File(file) if file.is_large())
    }

    /// The whole text.
    ///
    /// # Errors
    /// Where it is too large, or not text.
    pub(super) fn text(self) -> Result<TextFile, PathError> {
        self.source.text(self.path)
    }
}

impl TextSource {
    /// The whole text, as that of the file with this real path.
    ///
    /// # Errors
    /// Where it is too large, or not text.
    pub(super) fn text(self, path: String) -> Result<TextFile, PathError> {
        let OpenDocument { text, buffer } = match self {
            Self::File(opened) => return opened.text(),
            Self::Document(document) => document,
        };
        if text.len() as u64 > MAX_FILE {
            return Err(PathError::TooLarge(path));
        }
        Ok(TextFile {
            path,
            hash: sha256(text.as_bytes()),
            text,
            buffer: Some(buffer),
        })
    }
}
