//! The files of the workspace as tools reach them: through the path gate, or as the document that is open in an editor.
//!
//! Tools hold neither the gate nor the editor. A plan opens a file through [`Planning::open`](super::Planning::open), a
//! walk comes to files by itself, and a text is read against the permit of a run.

use std::{ffi::OsStr, path::Path, sync::Arc};

use tokio_util::sync::CancellationToken;

use crate::{
    editor::{Editor, EditorView, OpenDocument},
    walk::FileWalk,
    workspace::{Folder, MAX_FILE, OpenedFile, PathError, TextFile, Workspace},
};
use aside_base::{digest::sha256, system::folders::AsFolder};
use aside_turn::attachment::MediaType;

pub(super) mod known;

/// Advice where the file counts, and not the document.
const OLDER: &str = "the editor still shows an older text of this file";
const UNSAVED: &str =
    "this is the file on disk; the editor may have changes of the user's in it that are not saved";

/// The files of a workspace.
pub struct Files {
    workspace: Workspace,
    /// The editor that has some of the files open.
    editor: Option<Arc<dyn Editor>>,
}

/// A file that can be read, or the open document in its place.
#[derive(Debug)]
pub struct Readable {
    path: String,
    secret: bool,
    source: TextSource,
}

/// The files that a plan opened, by their real paths.
#[derive(Default)]
pub(super) struct OpenedFiles {
    pub(super) plain: Vec<String>,
    pub(super) secret: Vec<String>,
}

/// Permission to read the secret files that a plan opened. The plan was shown, and the call was allowed to run.
pub struct ReadPermit {
    secret: Vec<String>,
}

/// Place of a text.
#[derive(Debug)]
pub enum TextSource {
    /// The file on disk, and what is to be said of the editor's text.
    File(OpenedFile, Option<&'static str>),
    /// The document that is open in an editor.
    Document(OpenDocument),
}

impl Files {
    /// The files of this workspace, some of which are open in this editor.
    #[must_use]
    pub fn new(workspace: Workspace, editor: Option<Arc<dyn Editor>>) -> Self {
        Self { workspace, editor }
    }

    /// The real path of the root.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.workspace.root()
    }

    /// Finds a folder. The root is `.` or empty.
    ///
    /// # Errors
    /// Fails if the path does not lead to a folder of the workspace.
    pub fn folder(&self, path: &str) -> Result<Folder, PathError> {
        self.workspace.folder(path)
    }

    /// A walk through a folder, limited to the files that match the glob.
    #[must_use]
    pub fn walk<'a>(
        &'a self,
        folder: &'a str,
        glob: Option<&'a str>,
        cancelled: &'a CancellationToken,
    ) -> FileWalk<'a> {
        FileWalk::new(&self.workspace, folder, glob, cancelled)
    }

    /// Opens a file or the document that stands for it, and notes that the plan opened it.
    ///
    /// # Errors
    /// Fails if the path does not lead to a regular file of the workspace.
    pub(super) fn open(&self, path: &str, opened: &mut OpenedFiles) -> Result<Readable, PathError> {
        let file = self.readable(path)?;
        let files = match file.secret {
            true => &mut opened.secret,
            false => &mut opened.plain,
        };
        files.push(file.path.clone());
        Ok(file)
    }

    /// Opens a file that a walk came to, or the document that stands for it.
    ///
    /// # Errors
    /// Fails if it is no longer a regular file.
    pub fn walked(
        &self,
        folder: &impl AsFolder,
        name: &OsStr,
        path: &str,
    ) -> Result<Readable, PathError> {
        let opened = self.workspace.file_in(folder, name, path)?;
        Ok(Readable {
            path: path.to_owned(),
            secret: opened.secret,
            source: TextSource::of(opened, self.look_at_once(path)),
        })
    }

    /// Paths from the root of documents with unsaved changes.
    #[must_use]
    pub fn unsaved(&self) -> Vec<String> {
        let unsaved = self.editor.as_ref().map(|editor| editor.unsaved());
        let inside = unsaved.into_iter().flatten().filter_map(|path| {
            let path = path.strip_prefix(self.root()).ok()?;
            path.to_str().map(str::to_owned)
        });
        inside.collect()
    }

    /// Opens the documents that were never saved, which a walk does not come to.
    pub fn never_saved(&self) -> impl Iterator<Item = (String, Result<Readable, PathError>)> {
        let unsaved = self.unsaved().into_iter();
        let without_file = unsaved.filter(|path| self.workspace.file(path).is_err());
        without_file.map(|path| {
            let document = self.readable(&path);
            (path, document)
        })
    }

    fn readable(&self, path: &str) -> Result<Readable, PathError> {
        match self.workspace.file(path) {
            Ok(opened) => Ok(Readable {
                path: opened.path.clone(),
                secret: opened.secret,
                source: {
                    let view = self.look(&opened.path);
                    TextSource::of(opened, view)
                },
            }),
            // The file of this document was never saved.
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

    /// What the editor has of a file, without asking a client. A walk over many files cannot wait for one.
    fn look_at_once(&self, path: &str) -> EditorView {
        let editor = self.editor.as_ref();
        match editor.is_some_and(|editor| editor.answers_for_each_file()) {
            true => self.look(path),
            false => EditorView::Closed,
        }
    }

    /// What the editor has of a file, by its real path from the root.
    fn look(&self, path: &str) -> EditorView {
        let look = |editor: &Arc<dyn Editor>| editor.look(&self.root().join(path));
        self.editor.as_ref().map_or(EditorView::Closed, look)
    }

    /// The open document that counts as the text of a file.
    fn document(&self, path: &str) -> Option<OpenDocument> {
        self.editor.as_ref()?.document(&self.root().join(path))
    }
}

impl Readable {
    /// The real path from the root, with `/`.
    #[must_use]
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Whether it is a file that is too large to be held.
    #[must_use]
    pub fn is_large(&self) -> bool {
        matches!(&self.source, TextSource::File(file, _) if file.is_large())
    }

    /// The image or PDF that the file is, with its bytes; `None` if it is neither, or too large for a model.
    ///
    /// # Errors
    /// Fails if the permit does not cover the file, or the file cannot be read.
    pub fn media(
        &mut self,
        permit: &ReadPermit,
    ) -> Result<Option<(MediaType, Vec<u8>)>, PathError> {
        self.is_permitted(permit)?;
        match &mut self.source {
            TextSource::File(file, _) => file.media(),
            TextSource::Document(_) => Ok(None),
        }
    }

    /// The whole text.
    ///
    /// # Errors
    /// Fails if the permit does not cover the file, the file is too large, or it is not text.
    pub fn text(self, permit: &ReadPermit) -> Result<TextFile, PathError> {
        let path = self.path.clone();
        self.source(permit)?.text(path)
    }

    /// The place of the text.
    ///
    /// # Errors
    /// Fails if the permit does not cover the file.
    pub fn source(self, permit: &ReadPermit) -> Result<TextSource, PathError> {
        self.is_permitted(permit)?;
        Ok(self.source)
    }

    fn is_permitted(&self, permit: &ReadPermit) -> Result<(), PathError> {
        match self.secret && !permit.secret.contains(&self.path) {
            true => Err(PathError::Secret(self.path.clone())),
            false => Ok(()),
        }
    }
}

impl OpenedFiles {
    /// The permit of a run that was allowed.
    pub(super) fn permit(self) -> ReadPermit {
        ReadPermit {
            secret: self.secret,
        }
    }
}

impl TextSource {
    /// The text that counts of a file.
    fn of(file: OpenedFile, view: EditorView) -> Self {
        match view {
            EditorView::Closed => Self::File(file, None),
            EditorView::Document(document) => Self::Document(document),
            EditorView::Older => Self::File(file, Some(OLDER)),
            EditorView::Doubtful(_) => Self::File(file, Some(UNSAVED)),
        }
    }

    /// The whole text, as that of the file with this real path.
    fn text(self, path: String) -> Result<TextFile, PathError> {
        let OpenDocument { text, buffer } = match self {
            Self::File(opened, note) => {
                let text = opened.text()?;
                return Ok(TextFile { note, ..text });
            }
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
            note: None,
        })
    }
}
