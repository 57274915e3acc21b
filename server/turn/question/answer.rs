//! What answers a question, and why a value does not.

use std::fmt;

use serde_json::Value;

/// An answer that fits its question. [`accept`](super::Question::accept) is the only way to one.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// What may be recorded and shown.
    Value(Value),
    /// What may not.
    Secret(Secret),
}

/// Text that cannot be printed, recorded or serialised: it has no `Display` and no `Serialize`, and its
/// `Debug` says `[secret]`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

/// Why a value is not an answer to a question, in words for the one who gave it.
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
    /// Takes a text out of sight.
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
