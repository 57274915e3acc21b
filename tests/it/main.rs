//! Integration tests.

mod process;
