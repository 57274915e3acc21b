//! Linux, and what other systems share with it.

pub mod files;
pub mod folders;
pub mod processes;
pub mod signals;
pub mod streams;
pub mod terminal;
