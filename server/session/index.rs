//! `index.json`: a cache of the summaries of all conversations of a store, so that a long list is one file to read.
//! Without it, or if it is damaged, the list only takes longer.

use std::{
    collections::HashMap,
    path::Path,
    thread::{self, available_parallelism},
};

use aside_base::{
    private, regular,
    system::files::{FileFacts, changed, number},
};
use serde::{Deserialize, Serialize};

use super::meta::{self, Meta, ReadMeta};

/// The name of the file in the store's folder.
const INDEX: &str = "index.json";

/// Maximum size of an index in bytes; a longer file is ignored.
const MOST: u64 = 64 * 1024 * 1024;

/// Version of the file format; a file of another version is rebuilt.
const VERSION: u32 = 3;

/// Number of changed conversations from which the index is written again; each also has a cache of its own.
const WORTH: usize = 16;

/// Number of conversations from which several threads read.
const MANY: usize = 128;

/// Maximum number of threads that read conversations.
const THREADS: usize = 4;

/// Summaries of the conversations as of the last write.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct ConversationIndex {
    v: u32,
    conversations: HashMap<String, IndexedConversation>,
}

/// A conversation, with the properties that show whether its log has changed.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct IndexedConversation {
    length: u64,
    file: u64,
    seconds: i64,
    nanoseconds: i64,
    meta: Meta,
}

/// A conversation that changed since the index was written.
struct ReadConversation {
    id: String,
    read: ReadMeta,
}

impl ConversationIndex {
    /// Loads the index of a store; empty if there is none.
    pub(super) fn load(store: &Path) -> Self {
        let bytes = regular::read(&store.join(INDEX), MOST).ok();
        let read = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
        read.filter(|index: &Self| index.v == VERSION)
            .unwrap_or_default()
    }

    /// The summaries of these conversations, whose logs are given. One that cannot be read is left out. New summaries are
    /// cached in the index if there are many, or else in each conversation.
    pub(super) fn listed(
        mut self,
        store: &Path,
        logs: &[(String, FileFacts)],
    ) -> Vec<(String, Meta)> {
        let unknown = logs.iter().filter(|(id, log)| {
            let known = self.conversations.get(id);
            !known.is_some_and(|known| known.is(log))
        });
        let unknown: Vec<&String> = unknown.map(|(id, _)| id).collect();
        let read = self.read(store, &unknown);
        let keeps = read.len() >= WORTH;
        for ReadConversation { id, read } in read {
            if read.is_news && !keeps {
                read.meta.keep(&store.join(&id));
            }
            let known = IndexedConversation::new(&read.log, read.meta);
            self.conversations.insert(id, known);
        }
        let mut known = std::mem::take(&mut self.conversations);
        let here = logs.iter();
        let here = here.filter_map(|(id, _)| Some((id.clone(), known.remove(id)?)));
        self.conversations = here.collect();
        if keeps {
            self.save(store);
        }
        let listed = logs.iter().filter_map(|(id, log)| {
            let known = self.conversations.remove(id)?;
            Some((id.clone(), known.meta.dated(log)))
        });
        listed.collect()
    }

    /// Reads these conversations, many of them in parallel. One that cannot be read is dropped from the index.
    fn read(&mut self, store: &Path, ids: &[&String]) -> Vec<ReadConversation> {
        let known = &self.conversations;
        let read = |id: &&String| {
            let known = known.get(*id).map(|known| known.meta.clone());
            let read = meta::read_since(&store.join(id), known).ok()?;
            Some(ReadConversation {
                id: (*id).clone(),
                read,
            })
        };
        let threads = match ids.len() {
            ..MANY => 1,
            _ => available_parallelism().map_or(1, usize::from).min(THREADS),
        };
        let all: Vec<ReadConversation> = thread::scope(|scope| {
            let (first, rest) = ids.split_at(ids.len().div_ceil(threads));
            let parts = rest.chunks(first.len().max(1)).map(|part| {
                let work = move || part.iter().filter_map(read).collect::<Vec<_>>();
                // Without further threads, this one reads all.
                let thread = thread::Builder::new().spawn_scoped(scope, work).ok();
                (part, thread)
            });
            let parts: Vec<_> = parts.collect();
            let mut all: Vec<_> = first.iter().filter_map(read).collect();
            for (part, thread) in parts {
                let read_there = thread.and_then(|thread| thread.join().ok());
                all.extend(read_there.unwrap_or_else(|| part.iter().filter_map(read).collect()));
            }
            all
        });
        for id in ids {
            self.conversations.remove(*id);
        }
        all
    }

    /// Writes the index. A failure is ignored, because the list works without it.
    fn save(&mut self, store: &Path) {
        self.v = VERSION;
        let write = || private::replace_cache(&store.join(INDEX), &serde_json::to_vec(self)?);
        if let Err(error) = write() {
            tracing::debug!(target: "aside::session", %error, "the index of conversations is not kept");
        }
    }
}

impl IndexedConversation {
    fn new(log: &FileFacts, meta: Meta) -> Self {
        let (seconds, nanoseconds) = changed(log);
        Self {
            length: log.len(),
            file: number(log),
            seconds,
            nanoseconds,
            meta,
        }
    }

    fn is(&self, log: &FileFacts) -> bool {
        (self.length, self.file) == (log.len(), number(log))
            && (self.seconds, self.nanoseconds) == changed(log)
    }
}
