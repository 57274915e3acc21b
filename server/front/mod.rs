//! What people see: the protocol's messages, and the front ends that speak them.

pub mod headless;
pub mod lsp;
pub mod wire;
