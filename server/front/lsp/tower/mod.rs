//! Adapters for tower-lsp: headers, input and errors.
//!
//! | module | contents |
//! |---|---|
//! | [`content_length`] | headers, and whether tower-lsp can parse a body |
//! | [`reader`] | the client's messages as input for tower-lsp |
//! | [`error`] | codes and texts of the errors of requests |

pub(super) mod content_length;
pub(super) mod error;
pub(super) mod reader;
#[cfg(test)]
mod tests;
