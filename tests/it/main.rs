//! Integration tests.

mod commands;
mod process;
mod run;
mod terminal;
mod world;
