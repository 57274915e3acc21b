//! What the list shows of all conversations of a store: a cache of their own caches, in `index.json`, so that a long list
//! is one file to read. Whoever deletes or breaks it loses time alone.

use std::{
    collections::HashMap,
    fs::Metadata,
    io::{self, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

use serde::{Deserialize, Serialize};

use super::meta::{self, Meta};
use crate::regular;

/// The name of the file in the store's folder.
const INDEX: &str = "index.json";

/// Bytes of an index, at the most; a longer one is none of ours.
const MOST: u64 = 64 * 1024 * 1024;

/// Of this file's form; another one is made anew.
const VERSION: u32 = 1;

/// With fewer conversations that the index does not know as they are it is not written again.
const WORTH: usize = 16;

/// What was known of the conversations when it was written, and what was read since.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ConversationIndex {
    v: u32,
    conversations: HashMap<String, IndexedConversation>,
    /// Conversations that were not known as they are.
    #[serde(skip)]
    read: usize,
}

/// One conversation, and by what is seen whether its log is still the same.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct IndexedConversation {
    length: u64,
    file: u64,
    seconds: i64,
    nanoseconds: i64,
    meta: Meta,
}

impl ConversationIndex {
    /// The index of this store; an empty one where there is none.
    pub(super) fn load(store: &Path) -> Self {
        let bytes = regular::read(&store.join(INDEX), MOST).ok();
        let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.filter(|index: &Self| index.v == VERSION)
            .unwrap_or_default()
    }

    /// What the list shows of the conversation in this folder, whose log is this.
    ///
    /// # Errors
    /// Where its log cannot be read.
    pub(super) fn meta(&mut self, id: &str, folder: &Path, log: &Metadata) -> io::Result<Meta> {
        if let Some(known) = self.conversations.get(id).filter(|known| known.is(log)) {
            return Ok(known.meta.clone());
        }
        let meta = meta::read(folder)?;
        self.read += 1;
        let now = IndexedConversation {
            length: log.len(),
            file: log.ino(),
            seconds: log.mtime(),
            nanoseconds: log.mtime_nsec(),
            meta: meta.clone(),
        };
        self.conversations.insert(id.to_owned(), now);
        Ok(meta)
    }

    /// Writes it where that is worth while. Who may not write may still list.
    pub(super) fn save(mut self, store: &Path, ids: impl Iterator<Item = String>) {
        if self.read < WORTH {
            return;
        }
        let mut known = std::mem::take(&mut self.conversations);
        self.conversations = ids
            .filter_map(|id| known.remove(&id).map(|of| (id, of)))
            .collect();
        self.v = VERSION;
        let write = || -> io::Result<()> {
            let mut file = tempfile::Builder::new()
                .prefix(".index-")
                .tempfile_in(store)?;
            file.write_all(&serde_json::to_vec(&self)?)?;
            file.persist(store.join(INDEX))?;
            Ok(())
        };
        if let Err(error) = write() {
            tracing::debug!(%error, "the index of conversations is not kept");
        }
    }
}

impl IndexedConversation {
    fn is(&self, log: &Metadata) -> bool {
        (self.length, self.file) == (log.len(), log.ino())
            && (self.seconds, self.nanoseconds) == (log.mtime(), log.mtime_nsec())
    }
}
