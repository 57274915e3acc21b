//! The operating system: all that differs between systems, as plain functions and types.
//!
//! A system is a folder here that offers the same modules. The sandbox of commands is Linux's own, and stays in the room
//! of tools.
//!
//! | module | what lives there |
//! |---|---|
//! | [`files`] | files opened without waiting, and the identity of a file |
//! | [`folders`] | open folders, whose content is reached by name without following links |
//! | [`processes`] | the end of another process; the memory of this one, hidden from others |
//! | [`signals`] | signals that end a command, and the one that continues it |
//! | [`streams`] | standard input and output, taken for a protocol or looked at |
//! | [`terminal`] | the modes of a terminal, its size, and what is typed |
//! | [`users`] | the user database |

#[cfg(unix)]
mod unix;

#[cfg(unix)]
pub use unix::{files, folders, processes, signals, streams, terminal, users};
