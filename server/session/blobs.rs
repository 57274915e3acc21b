//! Bytes beside the log, named by their SHA-256: large outputs, files before and after an edit, attached images and PDFs.

use std::{
    fs::{self, File},
    io,
    ops::Range,
    path::{Path, PathBuf},
};

use aside_base::{private, regular, system::files::read_exact_at};

/// The blobs of one conversation.
#[derive(Clone, Debug)]
pub struct Blobs {
    folder: PathBuf,
}

impl Blobs {
    /// The blobs in the folder of a conversation.
    #[must_use]
    pub fn of(conversation: &Path) -> Self {
        Self {
            folder: conversation.join("blobs"),
        }
    }

    /// Stores bytes and returns their name. A blob is stored completely or not at all.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    pub fn keep(&self, bytes: &[u8]) -> io::Result<String> {
        let name = aside_base::digest::sha256(bytes);
        let path = self.folder.join(&name);
        if !path.exists() {
            private::replace(&path, bytes)?;
        }
        Ok(name)
    }

    /// Reads a part of a blob, as far as the range lies within it.
    ///
    /// # Errors
    /// Fails if the blob does not exist or cannot be read.
    pub fn read(&self, name: &str, range: Range<u64>) -> io::Result<Vec<u8>> {
        let file = self.open(name)?;
        let end = range.end.min(file.metadata()?.len());
        let size = usize::try_from(end.saturating_sub(range.start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; size];
        read_exact_at(&file, &mut bytes, range.start)?;
        Ok(bytes)
    }

    /// Reads a whole blob and verifies its size and its hash.
    ///
    /// # Errors
    /// Fails if the blob does not exist, cannot be read, or has another size or hash.
    pub fn read_whole(&self, name: &str, size: u64) -> io::Result<Vec<u8>> {
        let damaged = || io::Error::new(io::ErrorKind::InvalidData, "the bytes were changed");
        if self.size(name)? != size {
            return Err(damaged());
        }
        let bytes = self.read(name, 0..size)?;
        if aside_base::digest::sha256(&bytes) != name {
            return Err(damaged());
        }
        Ok(bytes)
    }

    /// Size of a blob in bytes.
    ///
    /// # Errors
    /// Fails if the blob does not exist.
    pub fn size(&self, name: &str) -> io::Result<u64> {
        Ok(self.open(name)?.metadata()?.len())
    }

    /// Copies to another conversation the blobs whose names occur in these bytes.
    pub(super) fn share(&self, named_in: &[u8], with: &Self) -> io::Result<()> {
        for name in names_in(named_in) {
            let (from, to) = (self.folder.join(name), with.folder.join(name));
            if from.exists() && !to.exists() {
                private::make_folder(&with.folder)?;
                // A blob never changes, so a hard link is as good as a copy.
                fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(|_| ()))?;
            }
        }
        Ok(())
    }

    fn open(&self, name: &str) -> io::Result<File> {
        // The name comes from a log or a model and must not lead elsewhere.
        if names_in(name.as_bytes()).next() != Some(name) {
            return Err(io::Error::new(
                io::ErrorKind::NotFound,
                "there is no output of that name",
            ));
        }
        regular::open(&self.folder.join(name))
    }
}

/// The names of blobs in a text: runs of exactly 64 hex digits.
fn names_in(text: &[u8]) -> impl Iterator<Item = &str> {
    text.split(|byte| !matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        .filter(|run| run.len() == 64)
        .filter_map(|run| std::str::from_utf8(run).ok())
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_kept_by_their_hash_and_read_in_parts() {
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::of(folder.path());
        let name = blobs.keep(b"hello world").unwrap();
        assert_eq!(
            name,
            "b94d27b9934d3e08a52e52d7da7dabfac484efe37a5380ee9088f7ace2efcde9"
        );
        assert_eq!(blobs.keep(b"hello world").unwrap(), name);
        assert_eq!(blobs.size(&name).unwrap(), 11);
        for (range, expected) in [
            (0..5, "hello"),
            (6..99, "world"),
            (11..20, ""),
            (50..60, ""),
        ] {
            let range: Range<u64> = range;
            assert_eq!(
                blobs.read(&name, range.clone()).unwrap(),
                expected.as_bytes(),
                "{range:?}"
            );
        }
    }

    #[test]
    fn a_whole_blob_is_as_it_was_kept_or_is_an_error() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let blobs = Blobs::of(folder.path());
        let name = blobs.keep(b"hello world").unwrap();
        assert_eq!(blobs.read_whole(&name, 11).unwrap(), b"hello world");
        let path = folder.path().join("blobs").join(&name);
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let kind = |size| blobs.read_whole(&name, size).unwrap_err().kind();
        assert_eq!(kind(12), io::ErrorKind::InvalidData, "another size");
        fs::write(&path, "hello worlD").unwrap();
        assert_eq!(kind(11), io::ErrorKind::InvalidData, "other bytes");
        fs::remove_file(&path).unwrap();
        assert_eq!(kind(11), io::ErrorKind::NotFound);
    }

    #[test]
    fn a_name_leads_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("secret"), "s").unwrap();
        let blobs = Blobs::of(folder.path());
        for name in [
            "../secret",
            "",
            "/etc/passwd",
            &"0".repeat(64),
            &"0".repeat(65),
        ] {
            let error = blobs.read(name, 0..1).unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::NotFound, "{name}");
        }
    }
}
