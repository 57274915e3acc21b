//! Integration tests.

mod process;
mod run;
mod world;
