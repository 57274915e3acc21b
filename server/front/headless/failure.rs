//! Why a command could not do what it was asked.

use super::exit;
use crate::engine::assemble::AssembleError;

/// An exit code and the sentence that goes with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The exit code.
    pub code: u8,
    /// What happened, to what, and what to do next.
    pub text: String,
}

impl Failure {
    /// The command line or the configuration is wrong.
    #[must_use]
    pub fn usage(text: impl Into<String>) -> Self {
        Self {
            code: exit::USAGE,
            text: text.into(),
        }
    }

    /// It could not be done.
    #[must_use]
    pub fn internal(text: impl Into<String>) -> Self {
        Self {
            code: 1,
            text: text.into(),
        }
    }
}

impl From<AssembleError> for Failure {
    fn from(error: AssembleError) -> Self {
        match error {
            AssembleError::Usage(text) => Self::usage(text),
            AssembleError::NoProvider(text) => Self {
                code: exit::NO_PROVIDER,
                text,
            },
        }
    }
}
