//! The author of an answer: a person, a model or the configuration.

use serde::{Deserialize, Serialize};

/// Answerer of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A person, at the prompt.
    User,
    /// A model, in an inquiry.
    Assistant,
    /// The answer that is configured for the question.
    Config,
    /// A person, earlier in this turn.
    Remembered,
    /// The question's default.
    Default,
}
