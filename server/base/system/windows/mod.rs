//! Windows.
//!
//! | module | what lives there |
//! |---|---|
//! | `calls` | the system's own functions, each behind a safe one |
//! | [`environment`] | what other processes are shown of the environment, and places that it names |
//! | [`files`] | files opened without waiting, the identity of a file, and its replacement while others read it |
//! | [`folders`] | open folders, whose content is reached by name without following links |
//! | [`locks`] | locks of files, which end with the process that has them |
//! | [`processes`] | processes that end together, the end of another process |
//! | [`programs`] | programs as files: which are some, and who may exchange them |
//! | [`shells`] | the shells that read command lines |
//! | [`signals`] | events of the console that end a command |
//! | [`streams`] | standard input and output, taken for a protocol or looked at |
//! | [`terminal`] | the console that the process belongs to |
//! | [`users`] | the home of this machine's user |

mod calls;
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
