//! The client's files: unsaved changes are read from the client and edited through it.
//!
//! The client's text counts as unsaved changes only if it differs from the file and nobody changed the file since the
//! turn began. Clients return an empty text for files that they do not have, and a stale one for files that a command
//! changed.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, SystemTime},
};

use agent_client_protocol_schema::v1::{
    ReadTextFileRequest, ReadTextFileResponse, SessionId, WriteTextFileRequest,
};
use aside_base::visible::short_line;
use aside_tool::{
    editor::{Buffer, BufferEdit, EditError, Editor, FileText, OpenDocument},
    workspace::file_uri,
};
use serde_json::Value;
use tokio::{runtime::Handle, time::timeout};
use tokio_util::sync::CancellationToken;

use super::client::AcpClient;

/// Time limit for the client's answer.
const ANSWER: Duration = Duration::from_secs(2);
/// Maximum size in bytes of a file that the client is asked for.
const LARGE: u64 = 4 * 1024 * 1024;
/// Maximum length in characters of the client's reason.
const REASON: usize = 200;

/// The client's files, for the tools of one turn.
pub(super) struct ClientFiles {
    client: AcpClient,
    session: SessionId,
    /// Whether the client can change files.
    writes: bool,
    /// Start of the turn.
    since: SystemTime,
    /// Whether the client failed to answer once. It is not asked again then.
    silent: AtomicBool,
}

impl ClientFiles {
    /// Creates the view of the client's files for a turn that begins now.
    pub(super) fn new(client: AcpClient, session: SessionId, writes: bool) -> Self {
        Self {
            client,
            session,
            writes,
            since: SystemTime::now(),
            silent: AtomicBool::new(false),
        }
    }

    /// The result of a request; `None` without an answer in time. Blocks this thread.
    fn ask(&self, method: &str, params: impl serde::Serialize) -> Option<Result<Value, String>> {
        if self.silent.load(Ordering::Relaxed) {
            return None;
        }
        let mut request = self.client.request(method, params);
        let answer = Handle::current().block_on(timeout(ANSWER, request.reply()));
        if answer.is_err() {
            request.withdraw();
            self.silent.store(true, Ordering::Relaxed);
        }
        answer.ok().flatten()
    }

    fn read(&self, path: &Path) -> Option<String> {
        let params = ReadTextFileRequest::new(self.session.clone(), path);
        let answer = self.ask("fs/read_text_file", params)?.ok()?;
        let read: ReadTextFileResponse = serde_json::from_value(answer).ok()?;
        Some(read.content)
    }
}

impl Editor for ClientFiles {
    fn document(&self, path: &Path) -> Option<OpenDocument> {
        let about = fs::metadata(path).ok()?;
        let is_older = about.modified().is_ok_and(|at| at < self.since);
        if !about.is_file() || about.len() > LARGE || !is_older {
            return None;
        }
        let disk = fs::read_to_string(path).ok()?;
        let text = self.read(path)?;
        let is_unsaved = !text.is_empty() && text.trim_end() != disk.trim_end();
        is_unsaved.then(|| OpenDocument {
            buffer: Buffer {
                uri: file_uri(path),
                version: version(&text),
                dirty: true,
                users: true,
                file: FileText::Older,
            },
            text,
        })
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

    fn apply(&self, edit: &BufferEdit<'_>, cancelled: &CancellationToken) -> Result<(), EditError> {
        if !self.writes {
            return Err(EditError::Incapable);
        }
        if cancelled.is_cancelled() {
            return Err(EditError::Cancelled);
        }
        if self.read(edit.path).as_deref() != Some(edit.base) {
            return Err(EditError::Stale);
        }
        let session = self.session.clone();
        let params = WriteTextFileRequest::new(session, edit.path, edit.new);
        match self.ask("fs/write_text_file", params) {
            Some(Ok(_)) => {}
            Some(Err(why)) => return Err(EditError::Refused(Some(short_line(&why, REASON)))),
            None => return Err(EditError::Unconfirmed),
        }
        // The client's text counts, not its answer.
        match self.read(edit.path).as_deref() == Some(edit.new) {
            true => Ok(()),
            false => Err(EditError::Unconfirmed),
        }
    }

    fn save(&self, path: &Path, _: &CancellationToken) -> Result<(), String> {
        let disk = fs::read_to_string(path).ok();
        match disk.is_some() && disk == self.read(path) {
            true => Ok(()),
            false => Err("the client did not save it".into()),
        }
    }
}

/// A version number for a text, derived from its content.
fn version(text: &str) -> i32 {
    i32::from_ne_bytes(crc32fast::hash(text.as_bytes()).to_ne_bytes())
}
