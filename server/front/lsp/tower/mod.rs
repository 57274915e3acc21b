//! What tower-lsp needs around it: headers, bytes to read, and errors as it sends them.
//!
//! | module | what lives there |
//! |---|---|
//! | [`content_length`] | headers, and whether tower-lsp can parse a body |
//! | [`reader`] | the client's messages as the bytes that tower-lsp reads |
//! | [`error`] | codes and texts of the errors of requests |

pub(super) mod content_length;
pub(super) mod error;
pub(super) mod reader;
#[cfg(test)]
mod tests;
