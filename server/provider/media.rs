//! Access to the bytes of images and PDFs.

use std::{fmt, sync::Arc};

use aside_turn::attachment::Media;

/// Reads the bytes of one conversation's images and PDFs.
#[derive(Clone)]
pub struct ReadMedia(Arc<ReadBlob>);

type ReadBlob = dyn Fn(&Media) -> Option<Vec<u8>> + Send + Sync;

impl ReadMedia {
    /// Creates a reader. `read` returns `None` if the bytes are missing or changed; it may block on disk.
    pub fn new(read: impl Fn(&Media) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(super) fn read(&self, media: &Media) -> Option<Vec<u8>> {
        (self.0)(media)
    }
}

impl Default for ReadMedia {
    /// A reader for a conversation without images and PDFs.
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl fmt::Debug for ReadMedia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadMedia")
    }
}
