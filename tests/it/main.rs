//! Integration tests: the real program, on real files, pipes, terminals and processes.

mod acp;
mod asker;
mod commands;
mod cost;
mod english;
mod grown;
mod keys;
mod kill;
mod local;
mod logs;
mod lsp;
mod mcp;
mod models;
mod open;
mod outlives;
mod process;
mod readme;
mod run;
mod sandbox;
mod starts;
mod streaming;
mod structure;
mod terminal;
mod traced;
mod vocabulary;
mod world;
