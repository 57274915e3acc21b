//! The exchange between a turn and a model, in a form that is independent of the API.

pub mod attachment;
pub mod response;
pub mod retry;
