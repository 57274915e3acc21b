//! Answers to questions, and the reason why a value is not one.

use std::fmt;

use serde_json::Value;

/// An answer that fits its question. Only [`accept`](super::Question::accept) makes one.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A value that may be recorded and shown.
    Value(Value),
    /// A secret: never recorded or shown.
    Secret(Secret),
}

/// Text that cannot be printed, recorded or serialised: it has no `Display` and no `Serialize`, and its
/// `Debug` says `[secret]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// The reason why a value does not answer a question, in words for whoever gave it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Misfit(pub String);

impl Answer {
    /// The value, for everything but a secret.
    #[must_use]
    pub fn value(&self) -> Option<&Value> {
        match self {
            Self::Value(value) => Some(value),
            Self::Secret(_) => None,
        }
    }
}

impl Secret {
    /// Wraps a text so that it cannot be printed.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(text)
    }

    /// The text itself, for the one tool that asked.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}
