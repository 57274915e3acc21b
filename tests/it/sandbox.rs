//! The walls around commands: what breaks out of a command that runs without them stays in one that runs inside.

mod attacks;
mod decided;
mod escape;
mod git;
pub(crate) mod ground;
mod hostile;
mod job;
mod local;
mod network;
mod planted;
pub(crate) mod survive;
