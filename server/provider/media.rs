//! Where the bytes of images and PDFs come from.

use std::{fmt, sync::Arc};

use aside_turn::attachment::Media;

/// Reads the bytes of the images and PDFs of one conversation.
#[derive(Clone)]
pub struct ReadMedia(Arc<ReadBlob>);

type ReadBlob = dyn Fn(&Media) -> Option<Vec<u8>> + Send + Sync;

impl ReadMedia {
    /// `read` gives nothing where the bytes are gone, or are not what they were; it may wait for a disk.
    pub fn new(read: impl Fn(&Media) -> Option<Vec<u8>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    pub(super) fn read(&self, media: &Media) -> Option<Vec<u8>> {
        (self.0)(media)
    }
}

impl Default for ReadMedia {
    /// There are none.
    fn default() -> Self {
        Self::new(|_| None)
    }
}

impl fmt::Debug for ReadMedia {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ReadMedia")
    }
}
