//! The base: small modules that every room may use. None of them knows a room.
//!
//! | module | what lives there |
//! |---|---|
//! | [`api`] | the APIs that providers speak, by name: words of `aside.toml` |
//! | [`digest`] | SHA-256 in hex: the names of files, blobs and approvals |
//! | [`environment`] | the environment of the process without its secrets, and the part that child processes get |
//! | [`folder`] | the identity of the folder that a path leads to |
//! | [`regular`] | regular files, opened without waiting for a FIFO or a device in their place |
//! | [`under_way`] | files on their way into a workspace, and the rest that a killed process left of them |
//! | [`visible`] | hidden characters, and text made safe to display |

pub mod api;
pub mod digest;
pub mod environment;
pub mod folder;
pub mod regular;
pub mod under_way;
pub mod visible;
