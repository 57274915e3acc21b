//! The front end without an editor: a command line, a terminal to ask on where there is one, and output
//! for people or programs.
//!
//! Invariant: only an answer goes to standard output; what people see meanwhile goes to standard error,
//! and questions go to the terminal itself, so that pipes stay free.
//!
//! | module | what lives there |
//! |---|---|
//! | [`args`], [`place`] | the command line; the workspace and the engine that a command works with |
//! | [`run`], [`demo`], [`message`] | the commands that begin a turn; the user's message |
//! | [`watch`], [`exit`] | a turn from its beginning to its exit code |
//! | [`hints`] | the command lines that go on with a turn |
//! | [`show`], [`refused`], [`output`] | a turn on the terminal, and why a call was refused (both pure); its answer on standard output |
//! | [`markdown`], [`live`] | text as it comes, and what is going on (both pure) |
//! | [`ask`], [`barred`], [`line`] | a prompt as text, and what a typed line says; text of others in it; the line while it is typed (all pure) |
//! | [`terminal`] | the terminal that a prompt is asked on |
//! | [`lines`], [`drawn`] | what is written on it besides prompts; its last lines (pure) |
//! | [`modes`], [`pager`] | the modes of a terminal; a long change, shown by the person's own pager |
//! | [`approvals`], [`config`], [`conversation`], [`doctor`], [`mcp`], [`model`], [`trust`] | a command each |
//! | [`failure`], [`streams`], [`paint`], [`wrap`] | why a command failed; where it writes; colours; lines that fit |

pub mod approvals;
pub mod args;
pub mod ask;
mod barred;
pub mod config;
pub mod conversation;
pub mod demo;
pub mod doctor;
pub mod drawn;
pub mod exit;
pub mod failure;
pub mod hints;
pub mod line;
mod lines;
pub mod live;
pub mod markdown;
pub mod mcp;
pub mod message;
pub mod model;
pub mod modes;
pub mod output;
pub mod pager;
pub mod paint;
pub mod place;
mod refused;
pub mod run;
pub mod show;
pub mod streams;
pub mod terminal;
pub mod trust;
pub mod watch;
mod wrap;
