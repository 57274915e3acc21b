//! The working folder of a session, by its real path and as the client calls it. Pure.
//!
//! Aside knows files by their real paths. A client that reached the folder by a link has its buffers under the names
//! behind that link, so whatever path goes to it begins as it called the folder.

use std::path::{Path, PathBuf};

/// The working folder of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SessionRoot {
    /// The real path.
    pub(super) real: PathBuf,
    /// The path as the client gave it.
    called: PathBuf,
}

impl SessionRoot {
    /// The folder with this real path, as the client called it.
    pub(super) fn new(real: PathBuf, called: &Path) -> Self {
        Self {
            real,
            // Without a slash at the end.
            called: called.components().collect(),
        }
    }

    /// A path as the client calls it.
    pub(super) fn called(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.real) {
            Ok(inside) => self.called.iter().chain(inside).collect(),
            Err(_) => path.to_owned(),
        }
    }

    /// A path or another text that names a folder, as the client calls it.
    pub(super) fn called_text(&self, path: &str) -> String {
        self.called(Path::new(path)).display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_begins_as_the_client_called_the_folder() {
        let root = SessionRoot::new("/real/ws".into(), Path::new("/home/link/"));
        for (path, expected) in [
            ("/real/ws", "/home/link"),
            ("/real/ws/a/b.txt", "/home/link/a/b.txt"),
            ("/real/wspace/b.txt", "/real/wspace/b.txt"),
            ("/etc/passwd", "/etc/passwd"),
        ] {
            assert_eq!(root.called_text(path), expected);
        }
    }
}
