//! Integration tests: the real program, on real files, pipes, terminals and processes.

mod commands;
mod grown;
mod keys;
mod kill;
mod process;
mod run;
mod structure;
mod terminal;
mod world;
