//! What people see: the protocol's messages, and the front ends that speak them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`wire`] | the protocol's messages as they are on the wire |
//! | [`error`] | why a request cannot be done, as data |
//! | [`transport`] | bytes in and out over pipes, bounded and in order, for any protocol |
//! | [`headless`] | the front end for terminals and CI |
//! | [`lsp`] | the front end for editors: a Language Server |

pub mod error;
pub mod headless;
pub mod lsp;
pub mod transport;
pub mod wire;
