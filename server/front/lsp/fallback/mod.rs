//! Prompts, turns and commands for a fallback client: one without the `aside` capability, in what LSP has.
//!
//! | module | what lives there |
//! |---|---|
//! | [`state`] | what is open in the client |
//! | [`prompts`] | prompts as messages, from the first showing to the answer |
//! | `messages` | a prompt as a message with actions, and what a reply means (pure) |
//! | `shown` | whose a prompt is, and files by their paths (pure) |
//! | `gate` | one message at a time, and how long it holds up the next |
//! | `pages` | files that the client is shown |
//! | `written` | pages to write an answer or a message in |
//! | [`progress`] | a turn's progress while it runs |
//! | [`transcript`] | a turn's notices, its end, and the transcript |
//! | `sentence` | whatever is shown to a person is a sentence |
//! | `undone` | the report of a turn that was taken back (pure) |
//! | [`waiting`] | what waits for an answer since an earlier session |
//! | [`commands`] | `aside.server.…` |
//! | [`actions`] | code actions |
//!
//! Invariant: nothing but a title that was offered, a text that was written, or the command `aside.server.answer`
//! answers a prompt, and none of them says yes to what was not shown whole.

pub(super) mod actions;
pub(super) mod commands;
mod gate;
mod messages;
mod pages;
pub(super) mod progress;
pub(super) mod prompts;
mod sentence;
mod shown;
pub(super) mod state;
pub(super) mod transcript;
mod undone;
pub(super) mod waiting;
mod written;
