//! The client's files: unsaved changes are read from the client and edited through it. [`texts`](super::texts) says whose
//! a text is.

use std::{
    collections::HashMap,
    fs, io,
    path::{Path, PathBuf},
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime},
};

use agent_client_protocol_schema::v1::{
    ReadTextFileRequest, ReadTextFileResponse, SessionId, WriteTextFileRequest,
};
use aside_base::{lock, visible::short_line};
use aside_tool::{
    editor::{
        Applied, Buffer, BufferEdit, Doubt, EditError, Editor, EditorView, FileText, OpenDocument,
    },
    line_ends::{alike, with_ends_and_mark},
    workspace::{MAX_FILE, file_uri},
};
use serde_json::Value;
use tokio::{runtime::Handle, time::timeout};
use tokio_util::sync::CancellationToken;

use super::{
    client::AcpClient,
    root::SessionRoot,
    texts::{ClientText, HeldTexts, TextKind},
};

/// Time limit for a text of the client.
const READ: Duration = Duration::from_secs(2);
/// Time limit for a change by the client, which may format the text as it saves it.
const WRITTEN: Duration = Duration::from_secs(10);
/// Number of reads without an answer in time, one after another, after which the client is not asked again in the turn.
const PATIENCE: usize = 3;
/// Maximum length in characters of the client's reason.
const REASON: usize = 200;

/// The texts that files of a session held.
pub(super) type SessionTexts = Arc<Mutex<HashMap<PathBuf, HeldTexts>>>;

/// The client's files, for the tools of one turn.
pub(super) struct ClientFiles {
    client: AcpClient,
    session: SessionId,
    root: SessionRoot,
    /// Whether the client can change files.
    writes: bool,
    /// Start of the turn.
    since: SystemTime,
    texts: SessionTexts,
    /// Number of reads without an answer in time, since the last one with an answer.
    silences: AtomicUsize,
}

/// Reply of the client: the result or its reason, `None` without one in time.
type ClientReply = Option<Result<Value, String>>;

impl ClientFiles {
    /// Creates the view of the client's files for a turn that begins now.
    pub(super) fn new(
        client: AcpClient,
        session: SessionId,
        root: SessionRoot,
        texts: SessionTexts,
        writes: bool,
    ) -> Self {
        Self {
            client,
            session,
            root,
            writes,
            since: SystemTime::now(),
            texts,
            silences: AtomicUsize::new(0),
        }
    }

    /// The reply to a request. Blocks this thread.
    fn ask(&self, method: &str, params: impl serde::Serialize, most: Duration) -> ClientReply {
        let mut request = self.client.request(method, params);
        let answer = Handle::current().block_on(timeout(most, request.reply()));
        if answer.is_err() {
            request.withdraw();
        }
        answer.ok().flatten()
    }

    fn read(&self, path: &Path) -> ClientText {
        if self.silences.load(Ordering::Relaxed) >= PATIENCE {
            return ClientText::Silence;
        }
        let params = ReadTextFileRequest::new(self.session.clone(), self.root.called(path));
        let answer = self.ask("fs/read_text_file", params, READ);
        match answer {
            None => self.silences.fetch_add(1, Ordering::Relaxed),
            Some(_) => self.silences.swap(0, Ordering::Relaxed),
        };
        let read = answer.and_then(Result::ok);
        let read = read.and_then(|read| serde_json::from_value(read).ok());
        read.map_or(ClientText::Silence, |read: ReadTextFileResponse| {
            ClientText::Text(read.content)
        })
    }

    /// What the client has of a file, and its text.
    fn judge(&self, path: &Path) -> (TextKind, ClientText) {
        let disk = match fs::metadata(path) {
            // No tool changes or holds such a file.
            Ok(about) if !about.is_file() || about.len() > MAX_FILE => {
                return (TextKind::Files, ClientText::Silence);
            }
            Ok(about) => fs::read_to_string(path).map(|text| Some((about, text))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        };
        // What is no text, or cannot be read, no tool changes either.
        let Ok(disk) = disk else {
            return (TextKind::Files, ClientText::Silence);
        };
        let client = self.read(path);
        if disk.is_none() && client == ClientText::Silence {
            // Clients have an error for a file that is not there.
            return (TextKind::Files, client);
        }
        let is_older = |about: &fs::Metadata| about.modified().is_ok_and(|at| at < self.since);
        let untouched = disk.as_ref().is_none_or(|(about, _)| is_older(about));
        let disk = disk.as_ref().map(|(_, text)| text.as_str());
        let mut texts = lock(&self.texts);
        let held = texts.entry(path.to_owned()).or_default();
        (held.judge(&client, disk, untouched), client)
    }

    fn write(&self, path: &Path, text: &str) -> Result<(), EditError> {
        let params = WriteTextFileRequest::new(self.session.clone(), self.root.called(path), text);
        match self.ask("fs/write_text_file", params, WRITTEN) {
            Some(Ok(_)) => Ok(()),
            Some(Err(why)) => Err(EditError::Refused(Some(short_line(&why, REASON)))),
            None => Err(EditError::Unconfirmed),
        }
    }
}

impl Editor for ClientFiles {
    fn look(&self, path: &Path) -> EditorView {
        match self.judge(path) {
            (TextKind::Users, ClientText::Text(text)) => EditorView::Document(OpenDocument {
                buffer: Buffer {
                    uri: file_uri(path),
                    version: version(&text),
                    dirty: true,
                    users: true,
                    file: FileText::Older,
                },
                text,
            }),
            (TextKind::Older, _) => EditorView::Older,
            (TextKind::Unsaid, _) => EditorView::Doubtful(Doubt::Silent),
            (TextKind::Empty, _) => EditorView::Doubtful(Doubt::Empty),
            (TextKind::Either, _) => EditorView::Doubtful(Doubt::Either),
            (TextKind::Files | TextKind::Users, _) => EditorView::Closed,
        }
    }

    fn written(&self, path: &Path, text: &str) {
        lock(&self.texts)
            .entry(path.to_owned())
            .or_default()
            .wrote(text);
    }

    /// ACP does not report unsaved files.
    fn unsaved(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    fn answers_for_each_file(&self) -> bool {
        false
    }

    fn applies_edits(&self) -> bool {
        self.writes
    }

    fn apply(
        &self,
        edit: &BufferEdit<'_>,
        cancelled: &CancellationToken,
    ) -> Result<Applied, EditError> {
        if !self.writes {
            return Err(EditError::Incapable);
        }
        if cancelled.is_cancelled() {
            return Err(EditError::Cancelled);
        }
        let is_base = |text: &ClientText| *text == ClientText::Text(edit.base.to_owned());
        if !is_base(&self.read(edit.path)) {
            return Err(EditError::Stale);
        }
        let before = fs::read_to_string(edit.path).unwrap_or_default();
        let written = self.write(edit.path, edit.new);
        if let Err(EditError::Refused(why)) = written {
            return Err(EditError::Refused(why));
        }
        // The client's text counts, not its answer.
        let ClientText::Text(now) = self.read(edit.path) else {
            return Err(EditError::Unconfirmed);
        };
        if alike(&now, edit.base) {
            return Err(EditError::Unconfirmed);
        }
        if written.is_err() && !alike(&now, edit.new) {
            return Err(EditError::Unconfirmed);
        }
        let disk = || fs::read_to_string(edit.path).unwrap_or_default();
        let there = disk();
        if !alike(&there, &now) {
            return Ok(Applied::InDocument);
        }
        self.written(edit.path, &there);
        if !alike(&now, edit.new) {
            return Ok(Applied::SavedOtherwise);
        }
        // Clients that keep line ends and the mark aside put them there; others write what they are given.
        let whole = with_ends_and_mark(&before, &there);
        if !before.is_empty() && there != whole {
            let _ = self.write(edit.path, &whole);
            let again = disk();
            self.written(edit.path, &again);
            if again != whole {
                return Ok(Applied::SavedOtherwise);
            }
        }
        Ok(Applied::Saved)
    }

    /// A client that saves has saved by now.
    fn save(&self, _: &Path, _: &CancellationToken) -> Result<(), String> {
        Err("the client did not save it".into())
    }
}

/// A version number for a text, derived from its content.
fn version(text: &str) -> i32 {
    i32::from_ne_bytes(crc32fast::hash(text.as_bytes()).to_ne_bytes())
}
