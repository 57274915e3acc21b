//! Integration tests.

mod commands;
mod kill;
mod process;
mod run;
mod world;
