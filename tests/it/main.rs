//! Integration tests.

mod commands;
mod process;
mod run;
mod world;
