//! Linux, and what other systems share with it.
//!
//! | module | what lives there |
//! |---|---|
//! | [`files`] | files opened without waiting, and the identity of a file |
//! | [`folders`] | open folders, whose content is reached by name without following links |
//! | [`processes`] | the end of another process; the memory of this one, hidden from others |
//! | [`signals`] | signals that end a command, and the one that continues it |
//! | [`streams`] | standard input and output, taken for a protocol or looked at |
//! | [`terminal`] | the terminal that the process belongs to |
//! | [`users`] | the homes of this machine's users |

pub mod files;
pub mod folders;
pub mod processes;
pub mod signals;
pub mod streams;
pub mod terminal;
pub mod users;
