//! Integration tests.

mod commands;
mod process;
mod run;
mod structure;
mod world;
