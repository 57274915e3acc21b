//! The front end without an editor: a command line, a terminal to ask on where there is one, and output
//! for people or programs.
//!
//! Invariant: only an answer goes to standard output; what people see meanwhile goes to standard error,
//! and questions go to the terminal itself, so that pipes stay free.

pub mod approvals;
pub mod args;
pub mod ask;
pub mod config;
pub mod conversation;
pub mod demo;
pub mod doctor;
pub mod exit;
pub mod failure;
pub mod message;
pub mod model;
pub mod output;
pub mod paint;
pub mod place;
pub mod run;
pub mod show;
pub mod streams;
pub mod terminal;
pub mod trust;
pub mod watch;
