//! The Language Server over standard input and output, as an editor sees it.

mod attached;
pub(crate) mod client;
mod editor_tools;
mod edits;
mod errors;
mod facts;
mod fallback;
mod flood;
mod folders;
mod full;
mod gone;
mod keys;
mod lived;
mod long;
mod memory;
mod models;
mod outlives;
mod overtaking;
mod people;
mod returns;
mod threads;
mod trust;
mod turns;
mod undo;
