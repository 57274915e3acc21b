//! Aside as clients of the Agent Client Protocol see it. Each message that passes is checked against the protocol's schema.

mod client;
mod floods;
mod frames;
mod questions;
mod sessions;
mod turns;
