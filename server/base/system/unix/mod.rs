//! Linux and macOS.
//!
//! | module | what lives there |
//! |---|---|
//! | [`environment`] | what other processes are shown of the environment, and places that it names |
//! | [`files`] | files opened without waiting, and the identity of a file |
//! | [`folders`] | open folders, whose content is reached by name without following links |
//! | [`locks`] | locks of files, which end with the process that has them |
//! | [`processes`] | the end of another process; the memory of this one, hidden from others |
//! | [`programs`] | programs as files: which are some, and who may exchange them |
//! | [`shells`] | the shells that read command lines |
//! | [`signals`] | signals that end a command, and the one that continues it |
//! | [`streams`] | standard input and output, taken for a protocol or looked at |
//! | [`terminal`] | the terminal that the process belongs to |
//! | [`users`] | the homes of this machine's users |

pub mod environment;
pub mod files;
pub mod folders;
pub mod locks;
pub mod processes;
pub mod programs;
pub mod shells;
pub mod signals;
pub mod streams;
pub mod terminal;
pub mod users;
