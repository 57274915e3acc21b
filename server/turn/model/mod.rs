//! The neutral form of what goes between a turn and a model, whichever API carries it.

pub mod attachment;
pub mod response;
pub mod retry;
