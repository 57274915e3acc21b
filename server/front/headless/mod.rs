//! The front end without an editor: a command line, prompts on a terminal if there is one, and output for people or
//! programs.
//!
//! Invariant: standard output receives only the answer. Progress goes to standard error and prompts go to the terminal
//! itself, so that pipes stay usable.
//!
//! | module | contents |
//! |---|---|
//! | [`args`], [`place`] | the command line; the workspace and the engine of a command |
//! | [`run`], [`demo`], [`message`] | commands that start a turn; the user's message |
//! | [`early`] | waits before a turn |
//! | [`watch`], [`exit`] | a turn from its start to its exit code |
//! | [`hints`] | suggested command lines for continuing a turn |
//! | [`show`], [`refused`], [`output`] | a turn on the terminal and explanations of refusals (both pure); its answer on standard output |
//! | [`markdown`], [`live`] | text while it arrives, and running activities (both pure) |
//! | [`ask`], [`barred`], [`line`] | prompts as text and the meaning of replies; foreign text inside prompts; the line being typed (all pure) |
//! | [`terminal`] | the terminal on which prompts are asked |
//! | `long_line` | long lines of a change (pure) |
//! | [`lines`], [`drawn`] | its other output; its status lines (pure) |
//! | [`pager`] | long changes in the user's pager |
//! | [`approvals`], [`config`], [`conversation`], [`doctor`], [`mcp`], [`model`], [`trust`] | one command each |
//! | [`failure`], [`streams`], [`paint`], [`wrap`] | failures of commands; their output streams; colours; line wrapping |

pub mod approvals;
pub mod args;
pub mod ask;
mod barred;
pub mod config;
pub mod conversation;
pub mod demo;
pub mod doctor;
pub mod drawn;
pub mod early;
pub mod exit;
pub mod failure;
pub mod hints;
pub mod line;
mod lines;
pub mod live;
mod long_line;
pub mod markdown;
pub mod mcp;
pub mod message;
pub mod model;
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
