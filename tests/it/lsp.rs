//! The Language Server over standard input and output, as an editor sees it.

mod client;
mod edits;
mod flood;
mod plain;
mod errors;
mod people;
mod trust;
mod turns;
