//! Integration tests.

mod commands;
mod process;
