//! Conversations on disk.
//!
//! One folder a conversation, `<state>/aside/<workspace>/<id>/`:
//!
//! ```text
//! events.jsonl          append only, one event a line, each with a checksum
//! meta.json             for the list; a cache of the log, rebuilt when missing, older or broken
//! lock                  held while the conversation is open for writing; names the holder
//! blobs/                large outputs, what files were before an edit, images and PDFs, named by SHA-256
//! events.torn-<n>       a torn last line that was set aside, cut from byte <n> of the log
//! ```
//!
//! `index.json` beside these folders is a cache of all `meta.json`, and `.under-way/` notes which files of the workspace
//! are being written.
//!
//! | module | contents |
//! |---|---|
//! | [`store`], `store_error` | the conversations of one workspace: create, find, list, rename, fork, delete |
//! | [`conversation`] | one conversation: its log, blobs and activity |
//! | [`log`], `lock` | a conversation that is open for writing: lock, repair, append |
//! | [`lines`] | reading a log: whole, with every fault, or only its last turn |
//! | [`page`] | reading some turns of a log |
//! | [`record`], [`codec`] | one line: its content, its frame and checksum |
//! | [`replay`] | records → turns, the transcript, the frozen prefix, learned refusals |
//! | [`meta`], `index` | records → summaries for the list, of one conversation and of all |
//! | [`undo`] | records → the file changes of a turn, and their undo |
//! | [`export`] | turns → markdown for people |
//! | [`attach`] | attachments of the user: read within a bound, classified, kept |
//! | [`blobs`], [`approvals`] | data beside the log: bytes by their hash, kept approvals by their hash |
//!
//! Invariant: nothing here reads a clock; the time is an input. Nothing here depends on a provider, a tool or a front
//! end.

pub mod approvals;
pub mod attach;
pub mod blobs;
pub mod codec;
pub mod conversation;
pub mod export;
mod index;
pub mod lines;
mod lock;
pub mod log;
pub mod meta;
pub mod page;
pub mod record;
pub mod replay;
pub mod store;
mod store_error;
pub mod undo;
