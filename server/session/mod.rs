//! The log on disk: what a conversation is when no process runs.
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
//! | module | what lives there |
//! |---|---|
//! | [`store`], `store_error` | the conversations of one workspace: create, find, list, rename, fork, delete |
//! | [`conversation`] | one of them: its log, blobs and status |
//! | [`log`], `lock` | one conversation, open for writing: lock, repair, append |
//! | [`lines`] | one conversation, read: whole, with every fault, or its last turn alone |
//! | [`record`], [`codec`] | one line: what it says, its frame and checksum |
//! | [`replay`] | records → turns, the transcript, what is frozen, what was learned |
//! | [`meta`], `index` | records → what the list shows, of one conversation and of all |
//! | [`undo`] | records → which files a turn changed, and back |
//! | [`export`] | turns → markdown for people |
//! | [`attach`] | what a user attaches: read with a bound, told apart, kept |
//! | [`blobs`], [`approvals`] | what is kept beside the log: bytes by their hash, "always" by its hash |
//!
//! Invariant: nothing here reads a clock; the time is an input. Nothing here knows a provider, a tool or a
//! front end.

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
pub mod record;
pub mod replay;
pub mod store;
mod store_error;
pub mod undo;
