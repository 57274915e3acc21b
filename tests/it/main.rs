//! Integration tests.

mod process;
mod run;
mod terminal;
mod world;
