//! Identity of a file, by which a protected place is known to be the one that was found before.

use std::{
    fs::{self, FileType},
    io,
    path::{Path, PathBuf},
    time::SystemTime,
};

use aside_base::system::files::{FileFacts, born, number};

/// Identity of a file, which no file has that takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FileMark {
    pub(crate) number: u64,
    kind: FileType,
    born: Option<SystemTime>,
    /// The text of a link.
    pub(super) target: Option<PathBuf>,
}

impl FileMark {
    /// The identity of what lies at a path; a link is not followed.
    pub(super) fn at(path: &Path) -> io::Result<Self> {
        let about = FileFacts::itself(path)?;
        Ok(Self {
            number: number(&about),
            kind: about.file_type(),
            born: born(&about),
            target: match about.is_symlink() {
                true => Some(fs::read_link(path)?),
                false => None,
            },
        })
    }

    pub(crate) fn is_link(&self) -> bool {
        self.target.is_some()
    }
}
