//! Integration tests: the real program, on real files, pipes, terminals and processes.

mod commands;
mod keys;
mod kill;
mod lsp;
mod process;
mod run;
mod structure;
mod terminal;
mod world;
