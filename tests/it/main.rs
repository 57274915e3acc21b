//! Integration tests.

mod kill;
mod process;
mod run;
mod world;
