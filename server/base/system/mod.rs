//! The operating system: all that differs between systems, as plain functions and types.
//!
//! A system is a folder here that offers the same modules. The sandboxes of commands, one of Linux and one of macOS,
//! stay in the room of tools.
//!
//! | module | what lives there |
//! |---|---|
//! | [`environment`] | what other processes are shown of the environment, and places that it names |
//! | [`files`] | files opened without waiting, their identity, and what takes their place |
//! | [`folders`] | open folders, whose content is reached by name without following links |
//! | [`locks`] | locks of files, which end with the process that has them |
//! | [`names`] | names of files that mean something else than they say |
//! | [`processes`] | the end of other processes; the memory of this one, hidden from others |
//! | [`programs`] | programs as files: which are some, and who may exchange them |
//! | [`shells`] | the shells that read command lines |
//! | [`signals`] | signals that end a command, and the one that continues it |
//! | [`streams`] | standard input and output, taken for a protocol or looked at |
//! | [`terminal`] | the modes of a terminal, its size, and what is typed |
//! | [`users`] | the user database |

pub mod names;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub use unix::{
    environment, files, folders, locks, processes, programs, shells, signals, streams, terminal,
    users,
};
#[cfg(windows)]
pub use windows::{
    environment, files, folders, locks, processes, programs, shells, signals, streams, terminal,
    users,
};
