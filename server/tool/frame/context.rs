//! The means of a tool: its context.

use std::{
    collections::BTreeSet,
    fmt, io,
    ops::Range,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use aside_base::{digest::sha256, lock};
use aside_turn::{
    effect::Approval,
    history::passage::Passage,
    question::{Answer, Question},
    record::CallKey,
};
use futures_util::future::BoxFuture;
use indexmap::IndexMap;

use super::{files::Files, snapshots::FileSnapshots};
use crate::sandbox::Sandbox;

/// Default time for leftover processes after a command's end, so that their last output arrives.
pub(crate) const DRAIN: Duration = Duration::from_millis(200);

/// Asks a question while a call runs. The error is text for the model. Whoever asks may outlive the call, so the asking
/// holds nothing of the turn's context.
pub type AskLive =
    Arc<dyn Fn(CallKey, Question) -> BoxFuture<'static, Result<Answer, String>> + Send + Sync>;

/// Searches the log of the conversation: each passage, with its time in UTC, becomes a text or nothing. Returns the newest
/// of them, in the order in which they were said.
pub type SearchPassages =
    Box<dyn Fn(&dyn Fn(&Passage, &str) -> Option<String>) -> io::Result<Vec<String>> + Send + Sync>;

/// The means of a tool besides its arguments. The engine makes one for each turn and shares it among the calls.
#[expect(
    clippy::type_complexity,
    reason = "plain functions, boxed; each is named by its field"
)]
pub struct ToolContext {
    /// The files of the workspace, behind the path gate.
    pub files: Files,
    /// The files as the model last read or wrote them.
    pub seen: Mutex<FileSnapshots>,
    /// Puts an edit on record. Called, and returned, before the file changes.
    pub record_edit: Box<dyn Fn(&FileEdit) -> io::Result<()> + Send + Sync>,
    /// Keeps bytes for good and returns their SHA-256 in hex.
    pub keep_blob: Box<dyn Fn(&[u8]) -> io::Result<String> + Send + Sync>,
    /// Reads a range of what was kept, cut to what is there.
    pub read_blob: Box<dyn Fn(&str, Range<u64>) -> io::Result<Vec<u8>> + Send + Sync>,
    /// Searches what was said in the conversation.
    pub said: SearchPassages,
    /// Shows clients a piece of a running call's output.
    pub output: Box<dyn Fn(CallKey, &str) + Send + Sync>,
    /// Shows clients a line on the progress of a running call, which may take longer for it.
    pub progress: Box<dyn Fn(CallKey, &str) + Send + Sync>,
    /// Whether an approval is kept for a hash.
    pub approved: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// Keeps an approval for good.
    pub keep_approval: Box<dyn Fn(Approval) + Send + Sync>,
    /// Asks a question while a call runs on.
    pub ask_live: AskLive,
    /// Whether a person is there who could be asked.
    pub attended: Box<dyn Fn() -> bool + Send + Sync>,
    /// Names of tools that run outside of the sandbox and that the user lets run unasked.
    pub allowed: BTreeSet<String>,
    /// Confinement of commands.
    pub sandbox: Sandbox,
    /// Withdraws the trust in the `aside.toml` of a folder, which may be a workspace later, because a command made it. Returns
    /// whether that was kept.
    pub distrust: Box<dyn Fn(&Path) -> bool + Send + Sync>,
    /// Bounds of what a tool may return and how long it may take.
    pub limits: ToolLimits,
    /// All tools of the conversation: name and full description.
    pub tools: IndexMap<String, String>,
    /// The id of the conversation.
    pub conversation: String,
    /// The id of the turn.
    pub turn: String,
    /// The program that holds child processes: `aside` itself. See [`crate::supervisor`].
    pub supervisor: PathBuf,
}

/// Bounds of a tool's output and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// Bytes of an output's beginning that the model is shown.
    pub head: usize,
    /// Bytes of an output's end that the model is shown.
    pub tail: usize,
    /// Maximum duration of a command.
    pub time: Duration,
    /// Maximum time for which the processes that a command left behind go on, so that its last output comes through.
    pub drain: Duration,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The call that makes it.
    pub call: CallKey,
    /// The file, from the workspace's root, with `/`.
    pub path: String,
    /// The blob of the text before. `None` if there was no file.
    pub before: Option<String>,
    /// The blob of the text after. `None` if the file is removed.
    pub after: Option<String>,
}

impl ToolContext {
    /// Keeps that a call asks about this content of a file, also for a process that goes on with the turn.
    ///
    /// # Errors
    /// If that cannot be kept.
    pub fn keep_asked(&self, call: CallKey, hash: &str) -> io::Result<()> {
        (self.keep_blob)(self.asked_note(call, hash).as_bytes())?;
        self.seen().ask(call, hash);
        Ok(())
    }

    /// Whether a call asked about this content last.
    #[must_use]
    pub fn was_asked(&self, call: CallKey, hash: &str) -> bool {
        if let Some(asked) = self.seen().asked(call) {
            return asked == hash;
        }
        let note = sha256(self.asked_note(call, hash).as_bytes());
        (self.read_blob)(&note, 0..1).is_ok()
    }

    fn asked_note(&self, call: CallKey, hash: &str) -> String {
        format!("call {} of {} asked about {hash}\n", call.0, self.turn)
    }

    /// The files as the model knows them.
    pub fn seen(&self) -> MutexGuard<'_, FileSnapshots> {
        // A panic while it was held left a map that is whole: every change is one insert.
        lock(&self.seen)
    }

    /// Bytes of text that go to the model at once.
    #[must_use]
    pub fn room(&self) -> usize {
        self.limits.head + self.limits.tail
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolContext")
            .field("root", &self.files.root())
            .field("sandbox", &self.sandbox.rules)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl Default for ToolLimits {
    fn default() -> Self {
        Self {
            head: 16 << 10,
            tail: 16 << 10,
            time: Duration::from_secs(120),
            drain: DRAIN,
        }
    }
}
