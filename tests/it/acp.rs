//! Aside as clients of the Agent Client Protocol see it. Each message that passes is checked against the protocol's schema.

mod buffers;
mod client;
mod floods;
mod outlives;
mod questions;
mod servers;
mod sessions;
mod turns;
