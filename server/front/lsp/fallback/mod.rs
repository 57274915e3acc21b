//! Prompts and turns for a fallback client: one without the `aside` capability, in what LSP has.
//!
//! | module | what lives there |
//! |---|---|
//! | [`state`] | what is open in the client, and the parts of the connection that are used |
//! | [`prompts`] | prompts as messages, from the first showing to the answer |
//! | [`messages`] | a prompt as a message, and what a reply means (pure) |
//! | [`actions`] | what can be chosen in a message and on a page, and what each choice does (pure) |
//! | [`shown`] | whose a prompt is, and files by their paths (pure) |
//! | `gate` | one message at a time, and how long it holds up the next |
//! | [`pages`] | files that the client is shown |
//! | [`written`] | pages to write an answer or a message in |
//! | [`transcript`] | a turn's notices, its end, and the transcript |
//! | `sentence` | whatever is shown to a person is a sentence |
//! | [`undone`] | the report of a turn that was taken back (pure) |
//! | [`waiting`] | what waits for an answer since an earlier session |
//! | `titles` | titles of conversations, where turns run in several |
//!
//! Invariant: nothing but a title that was offered, a text that was written, or the command `aside.server.answer`
//! answers a prompt, and none of them says yes to what was not shown whole.

pub(super) mod actions;
mod gate;
pub(super) mod messages;
pub(super) mod pages;
pub(super) mod prompts;
mod sentence;
pub(super) mod shown;
pub(super) mod state;
mod titles;
pub(super) mod transcript;
pub(super) mod undone;
pub(super) mod waiting;
pub(super) mod written;
