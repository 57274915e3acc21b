//! What a tool may use: its host.

use std::{
    collections::{BTreeSet, HashMap},
    fmt, io,
    ops::Range,
    path::PathBuf,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aside_turn::{
    effect::Approval,
    question::{Answer, Question},
    record::CallKey,
};
use futures_util::future::BoxFuture;
use indexmap::IndexMap;
use serde_json::{Value, json};

use super::{editor::Editor, sandbox::Sandbox, supervisor::DRAIN, workspace::Workspace};

/// Asks a question while a call runs; the words for the model where there is no answer.
pub type AskLive =
    Box<dyn Fn(CallKey, Question) -> BoxFuture<'static, Result<Answer, String>> + Send + Sync>;

/// What a tool may use besides its arguments. The engine makes one for a conversation and shares it among its
/// calls.
#[expect(
    clippy::type_complexity,
    reason = "plain functions, boxed; each is named by its field"
)]
pub struct ToolContext {
    /// The files of the workspace, behind the path gate.
    pub workspace: Workspace,
    /// The editor that has some of them open.
    pub editor: Option<Arc<dyn Editor>>,
    /// The files as the model last read or wrote them.
    pub seen: Mutex<FileSnapshots>,
    /// Puts an edit on record. Called, and returned, before the file changes.
    pub record_edit: Box<dyn Fn(&FileEdit) -> io::Result<()> + Send + Sync>,
    /// Keeps bytes for good and returns their SHA-256 in hex.
    pub keep_blob: Box<dyn Fn(&[u8]) -> io::Result<String> + Send + Sync>,
    /// Reads a range of what was kept, cut to what is there.
    pub read_blob: Box<dyn Fn(&str, Range<u64>) -> io::Result<Vec<u8>> + Send + Sync>,
    /// Shows clients a piece of a running call's output.
    pub output: Box<dyn Fn(CallKey, &str) + Send + Sync>,
    /// Whether an approval that was kept stands for a hash.
    pub approved: Box<dyn Fn(&str) -> bool + Send + Sync>,
    /// Keeps an approval for good.
    pub keep_approval: Box<dyn Fn(Approval) + Send + Sync>,
    /// Asks a question while a call runs on.
    pub ask_live: AskLive,
    /// Whether a person is there who could be asked.
    pub attended: Box<dyn Fn() -> bool + Send + Sync>,
    /// Names of tools that run outside of the sandbox and that the user lets run unasked.
    pub allowed: BTreeSet<String>,
    /// What commands run inside of.
    pub sandbox: Sandbox,
    /// A command made the workspace's `aside.toml`: it counts for nothing before a person looked at it.
    pub distrust: Box<dyn Fn() + Send + Sync>,
    /// Bounds of what a tool may return and how long it may take.
    pub limits: ToolLimits,
    /// All tools of the conversation: name and full description.
    pub tools: IndexMap<String, String>,
    /// The id of the conversation.
    pub conversation: String,
    /// The id of the turn.
    pub turn: String,
    /// The program that holds child processes: `aside` itself. See [`super::supervisor`].
    pub supervisor: PathBuf,
}

/// Bounds of a tool's output and time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ToolLimits {
    /// Bytes of an output's beginning that the model is shown.
    pub head: usize,
    /// Bytes of an output's end that the model is shown.
    pub tail: usize,
    /// How long a command may run.
    pub time: Duration,
    /// How long what a command leaves behind may go on after it, so that its last output comes through.
    pub drain: Duration,
}

/// A change of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileEdit {
    /// The call that makes it.
    pub call: CallKey,
    /// The file, from the workspace's root, with `/`.
    pub path: String,
    /// The blob of the text before; none where there was no file.
    pub before: Option<String>,
    /// The SHA-256 of the text after; none where the file goes.
    pub after: Option<String>,
}

/// Hashes of the files as the model last saw them, and what was prepared for its calls.
#[derive(Debug, Default)]
pub struct FileSnapshots {
    /// The SHA-256 of each file as the model last read or wrote it, by path from the root.
    read: HashMap<String, String>,
    /// What each call was last prepared as. A run that would do something else is refused: what it names
    /// changed after a person looked.
    prepared: HashMap<CallKey, PreparedCall>,
    /// Content that came about by an edit of a tool: path and hash after, hash before.
    edited: HashMap<(String, String), String>,
}

/// What a call was prepared as.
#[derive(Clone, Debug, Default)]
pub struct PreparedCall {
    /// The hash of all that was shown.
    pub hash: String,
    /// For an edit, the content that it starts from.
    pub base: Option<String>,
    /// It means the same after other edits of the same file: what it replaces was there once.
    pub follows: bool,
}

impl ToolContext {
    /// What the model knows of the files.
    pub fn seen(&self) -> MutexGuard<'_, FileSnapshots> {
        // A panic while it was held left a map that is whole: every change is one insert.
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How much text of any kind goes to the model at once, in bytes.
    pub(super) fn room(&self) -> usize {
        self.limits.head + self.limits.tail
    }
}

impl fmt::Debug for ToolContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Host")
            .field("root", &self.workspace.root())
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

impl FileSnapshots {
    /// The model knows this content of a file. Returns what goes on record, so that a resume knows it too.
    pub fn note(&mut self, path: &str, hash: &str) -> Value {
        self.read.insert(path.to_owned(), hash.to_owned());
        json!({ "read": { path: hash } })
    }

    /// Takes in the details of a recorded result.
    pub fn restore(&mut self, details: &Value) {
        for (path, hash) in details["read"].as_object().into_iter().flatten() {
            if let Some(hash) = hash.as_str() {
                self.read.insert(path.clone(), hash.to_owned());
            }
        }
    }

    /// What stays of it after the turn: calls are others then.
    #[must_use]
    pub fn after_turn(&self) -> Self {
        Self {
            read: self.read.clone(),
            ..Self::default()
        }
    }

    /// The content that the model knows.
    #[must_use]
    pub fn hash(&self, path: &str) -> Option<&str> {
        self.read.get(path).map(String::as_str)
    }

    /// Keeps what a call was prepared as.
    pub fn prepared(&mut self, call: CallKey, prepared: PreparedCall) {
        self.prepared.insert(call, prepared);
    }

    /// Keeps that a tool's edit led from one content to another.
    pub(super) fn edited(&mut self, path: &str, before: &str, after: &str) {
        self.edited
            .insert((path.to_owned(), after.to_owned()), before.to_owned());
    }

    /// Whether a call is still what it was prepared as. (A resume may run what an earlier process prepared.)
    pub(super) fn is_as_prepared(&self, call: CallKey, hash: &str) -> bool {
        self.prepared
            .get(&call)
            .is_none_or(|prepared| prepared.hash == hash)
    }

    /// Whether an edit may go on from a content that is not the one it was prepared for: it means the same
    /// there, and nothing but edits of tools lies between. Calls of one message edit a file one after another.
    pub(super) fn follows(&self, call: CallKey, path: &str, now: &str) -> bool {
        let Some(prepared) = self.prepared.get(&call).filter(|prepared| prepared.follows) else {
            return false;
        };
        let mut at = now;
        // An edit and its undoing make a circle; no chain is longer than all edits.
        for _ in 0..=self.edited.len() {
            if prepared.base.as_deref() == Some(at) {
                return true;
            }
            let Some(before) = self.edited.get(&(path.to_owned(), at.to_owned())) else {
                return false;
            };
            at = before;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_recorded_restores_what_was_seen() {
        let details = FileSnapshots::default().note("src/a.rs", "abc");
        let mut seen = FileSnapshots::default();
        seen.restore(&details);
        seen.restore(&json!({"read": {"b": 7}, "other": 1}));
        seen.restore(&Value::Null);
        assert_eq!(seen.hash("src/a.rs"), Some("abc"));
        assert_eq!(seen.hash("b"), None);
    }

    #[test]
    fn a_run_is_what_was_prepared() {
        let mut seen = FileSnapshots::default();
        assert!(
            seen.is_as_prepared(CallKey(1), "x"),
            "another process prepared it"
        );
        seen.prepared(
            CallKey(1),
            PreparedCall {
                hash: "x".into(),
                ..PreparedCall::default()
            },
        );
        assert!(seen.is_as_prepared(CallKey(1), "x"));
        assert!(!seen.is_as_prepared(CallKey(1), "y"));
    }

    #[test]
    fn an_edit_follows_the_edits_of_tools_alone() {
        let mut seen = FileSnapshots::default();
        let base = Some("a".to_owned());
        seen.prepared(
            CallKey(1),
            PreparedCall {
                hash: "x".into(),
                base,
                follows: true,
            },
        );
        seen.edited("f", "a", "b");
        seen.edited("f", "b", "c");
        seen.edited("f", "p", "q");
        seen.edited("f", "q", "p");
        assert!(seen.follows(CallKey(1), "f", "c"));
        assert!(!seen.follows(CallKey(1), "f", "d"), "somebody else's text");
        assert!(!seen.follows(CallKey(1), "g", "c"), "another file");
        assert!(!seen.follows(CallKey(1), "f", "p"), "a circle");
    }
}
