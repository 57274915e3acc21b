//! What the user approved for good in a workspace: the hashes of what was shown.

use std::{
    collections::HashSet,
    fs::{self, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use super::log::make_folder;

/// The approvals of one workspace.
#[derive(Clone, Debug)]
pub struct Approvals {
    path: PathBuf,
}

impl Approvals {
    /// The approvals that are kept in the state folder of a workspace.
    #[must_use]
    pub fn of(workspace: &Path) -> Self {
        Self {
            path: workspace.join("approvals"),
        }
    }

    /// Keeps the approval of a hash. Several processes may do so at once.
    ///
    /// # Errors
    /// Where the hash is no SHA-256 in hex, or cannot be written.
    pub fn keep(&self, hash: &str) -> io::Result<()> {
        if !is_hash(hash) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "not the hash of an approval",
            ));
        }
        if let Some(folder) = self.path.parent() {
            make_folder(folder)?;
        }
        let file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        // One write, so that lines of two processes never mix. The newline before it ends a torn line.
        let line = format!("\n{hash}\n");
        let written = rustix::io::retry_on_intr(|| rustix::io::write(&file, line.as_bytes()))?;
        if written == line.len() {
            Ok(())
        } else {
            Err(io::ErrorKind::WriteZero.into())
        }
    }

    /// All that stand. Lines that are no hash approve nothing.
    ///
    /// # Errors
    /// Where the file is there and cannot be read.
    pub fn read(&self) -> io::Result<HashSet<String>> {
        match fs::read_to_string(&self.path) {
            Ok(text) => Ok(text
                .lines()
                .filter(|line| is_hash(line))
                .map(str::to_owned)
                .collect()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(HashSet::new()),
            Err(error) => Err(error),
        }
    }
}

fn is_hash(text: &str) -> bool {
    text.len() == 64
        && text
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn what_was_kept_stands_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let approvals = Approvals::of(&folder.path().join("workspace"));
        assert!(approvals.read().unwrap().is_empty());
        let (first, second) = ("a".repeat(64), "b".repeat(64));
        approvals.keep(&first).unwrap();
        let mut file = OpenOptions::new()
            .append(true)
            .open(&approvals.path)
            .unwrap();
        file.write_all(b"cccc").unwrap();
        approvals.keep(&second).unwrap();
        assert_eq!(approvals.read().unwrap(), HashSet::from([first, second]));
        assert!(approvals.keep("b").is_err());
    }
}
