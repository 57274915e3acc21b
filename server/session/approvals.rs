//! Kept approvals of a workspace: hashes of what was shown, with a description.
//!
//! Only the hash approves. The description is for people who review their approvals.

use aside_base::digest::is_sha256;
use std::{
    collections::HashSet,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use aside_base::{
    private, regular,
    system::{files::write_once, locks},
};
use aside_turn::{effect::Approval, input::Preview};
use serde::{Deserialize, Serialize};

use super::record::time_text;

/// Maximum size in bytes of the file of approvals.
const BYTES: u64 = 64 * 1024 * 1024;

/// The approvals of one workspace.
#[derive(Clone, Debug)]
pub struct Approvals {
    path: PathBuf,
    /// Identity of the workspace's folder; see [`folder::identity`].
    folder: String,
}

/// A kept approval; one line of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KeptApproval {
    /// SHA-256 in hex of everything that the approval covers.
    pub hash: String,
    /// The tool that may run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// Title of the call, as it was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The whole command, or other text that was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The folder in which the command runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// Identity of the workspace's folder. The approval does not apply to another folder at the same path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Time of the approval, in RFC 3339.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

impl Approvals {
    /// The approvals in the state folder of a workspace; `folder` is the identity of the workspace's own folder.
    #[must_use]
    pub fn of(workspace: &Path, folder: impl Into<String>) -> Self {
        Self {
            path: workspace.join("approvals"),
            folder: folder.into(),
        }
    }

    /// Keeps an approval that was given at this time since the Unix epoch. Safe for several processes at once.
    ///
    /// # Errors
    /// Fails if its hash is not a SHA-256 in hex or it cannot be written.
    pub fn keep(&self, approval: Approval, at: Duration) -> io::Result<()> {
        if !is_sha256(&approval.hash) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not the hash of an approval",
            ));
        }
        let lock = self.lock_file()?;
        locks::lock_shared(&lock)?;
        let file = private::open(&self.path, File::options().append(true).create(true))?;
        // One write, so that lines of two processes never mix. The leading newline ends a torn line.
        let kept = KeptApproval {
            folder: Some(self.folder.clone()),
            ..KeptApproval::new(approval, at)
        };
        let kept = serde_json::to_string(&kept)?;
        let line = format!("\n{kept}\n");
        let written = write_once(&file, line.as_bytes())?;
        if written == line.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }

    /// The approved hashes.
    ///
    /// # Errors
    /// Fails if the file exists and cannot be read.
    pub fn read(&self) -> io::Result<HashSet<String>> {
        Ok(self.list()?.into_iter().map(|kept| kept.hash).collect())
    }

    /// All approvals, the oldest first, each hash once. Invalid lines are ignored.
    ///
    /// # Errors
    /// Fails if the file exists and cannot be read.
    pub fn list(&self) -> io::Result<Vec<KeptApproval>> {
        let text = match regular::read(&self.path, BYTES) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut seen = HashSet::new();
        let kept = text.lines().filter_map(KeptApproval::of_line);
        let kept = kept.filter(|kept| kept.folder.as_ref() == Some(&self.folder));
        Ok(kept.filter(|kept| seen.insert(kept.hash.clone())).collect())
    }

    /// Revokes an approval. Returns false if there is no such approval.
    ///
    /// # Errors
    /// Fails if the file cannot be read or replaced.
    pub fn revoke(&self, hash: &str) -> io::Result<bool> {
        let lock = self.lock_file()?;
        locks::lock(&lock)?;
        let mut kept = self.list()?;
        let before = kept.len();
        kept.retain(|kept| kept.hash != hash);
        if kept.len() == before {
            return Ok(false);
        }
        let mut lines = Vec::new();
        for kept in kept {
            serde_json::to_writer(&mut lines, &kept)?;
            lines.push(b'\n');
        }
        private::replace(&self.path, &lines)?;
        Ok(true)
    }

    /// Revokes all approvals.
    ///
    /// # Errors
    /// Fails if the file cannot be removed.
    pub fn revoke_all(&self) -> io::Result<()> {
        let lock = self.lock_file()?;
        locks::lock(&lock)?;
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    /// File of the lock, held so that an appended approval is not lost when the file is replaced.
    fn lock_file(&self) -> io::Result<File> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        private::make_folder(folder)?;
        private::lock_file(&self.path.with_extension("lock"))
    }
}

impl KeptApproval {
    fn new(approval: Approval, at: Duration) -> Self {
        let (text, cwd) = match approval.preview {
            Some(Preview::Command { text, cwd }) => (Some(text), Some(cwd)),
            Some(Preview::Text { text }) => (Some(text), None),
            // A change of a file is never approved for good.
            Some(Preview::Diff { .. }) | None => (None, None),
        };
        Self {
            hash: approval.hash,
            tool: Some(approval.tool),
            title: Some(approval.title),
            text,
            cwd,
            folder: None,
            at: Some(time_text(at)),
        }
    }

    fn of_line(line: &str) -> Option<Self> {
        let kept: Option<Self> = serde_json::from_str(line).ok();
        kept.filter(|kept| is_sha256(&kept.hash))
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::OpenOptions, io::Write};

    use super::*;

    const AT: Duration = Duration::from_millis(1_700_000_000_000);

    fn approval(hash: &str) -> Approval {
        Approval {
            hash: hash.to_owned(),
            tool: "run_command".into(),
            title: "Run cargo test".into(),
            preview: Some(Preview::Command {
                text: "cargo test\n".into(),
                cwd: "/w".into(),
            }),
        }
    }

    #[test]
    fn what_was_kept_stands_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::of(&folder.path().join("workspace"), "7-1");
        assert!(approvals.read().unwrap().is_empty());
        let (first, second) = ("a".repeat(64), "b".repeat(64));
        approvals.keep(approval(&first), AT).unwrap();
        let mut file = OpenOptions::new()
            .append(true)
            .open(&approvals.path)
            .unwrap();
        file.write_all(b"cccc\xff{\"hash\":\"").unwrap();
        approvals.keep(approval(&second), AT).unwrap();
        assert_eq!(approvals.read().unwrap(), HashSet::from([first, second]));
        assert!(approvals.keep(approval("b"), AT).is_err());
    }

    #[test]
    fn an_approval_says_what_was_shown_and_can_be_taken_back() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::of(folder.path(), "7-1");
        let (first, second) = ("a".repeat(64), "b".repeat(64));
        for hash in [&first, &second, &first] {
            approvals.keep(approval(hash), AT).unwrap();
        }
        let listed = approvals.list().unwrap();
        let hashes: Vec<&String> = listed.iter().map(|kept| &kept.hash).collect();
        assert_eq!(hashes, [&first, &second], "each once");
        let shown = &listed[0];
        assert_eq!(shown.tool.as_deref(), Some("run_command"));
        assert_eq!(shown.text.as_deref(), Some("cargo test\n"));
        assert_eq!(shown.cwd.as_deref(), Some("/w"));
        assert_eq!(shown.at.as_deref(), Some("2023-11-14T22:13:20.000Z"));

        assert!(approvals.revoke(&first).unwrap());
        assert!(!approvals.revoke(&first).unwrap());
        assert_eq!(approvals.list().unwrap(), listed[1..]);
        approvals.keep(approval(&first), AT).unwrap();
        assert_eq!(approvals.list().unwrap().len(), 2);
    }

    #[test]
    fn an_approval_stands_in_the_folder_that_it_was_given_in_alone() {
        let state = tempfile::tempdir().unwrap();
        let (first, other) = (
            Approvals::of(state.path(), "7-1"),
            Approvals::of(state.path(), "7-2"),
        );
        first.keep(approval(&"a".repeat(64)), AT).unwrap();
        assert!(other.list().unwrap().is_empty());
        assert_eq!(first.list().unwrap().len(), 1);
        // One that does not say where it was given stands nowhere.
        let mut file = OpenOptions::new().append(true).open(&first.path).unwrap();
        writeln!(file, "{}", "b".repeat(64)).unwrap();
        writeln!(file, "{{\"hash\":\"{}\"}}", "c".repeat(64)).unwrap();
        assert_eq!(first.list().unwrap().len(), 1);
    }

    #[test]
    fn all_can_be_taken_back() {
        let state = tempfile::tempdir().unwrap();
        let approvals = Approvals::of(state.path(), "7-1");
        approvals.revoke_all().unwrap();
        approvals.keep(approval(&"a".repeat(64)), AT).unwrap();
        approvals.revoke_all().unwrap();
        assert!(approvals.list().unwrap().is_empty());
    }
}
