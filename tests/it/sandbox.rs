//! The walls around commands: what breaks out of a command that runs without them stays in one that runs inside.

mod attacks;
mod builds;
mod decided;
mod escape;
mod git;
pub(crate) mod ground;
mod guards;
mod homes;
mod hostile;
mod identity;
mod job;
mod led;
mod local;
mod network;
mod planted;
mod sockets;
pub(crate) mod survive;
