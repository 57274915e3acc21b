//! The APIs that providers speak. Configuration names them; `provider` speaks them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An API that a provider speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ApiKind {
    /// Anthropic's Messages API.
    #[serde(rename = "anthropic")]
    Anthropic,
    /// OpenAI's Responses API.
    #[serde(rename = "openai-responses")]
    OpenaiResponses,
    /// OpenAI's Chat Completions API, which many servers offer.
    #[serde(rename = "openai-chat")]
    OpenaiChat,
    /// Google's Generative Language API.
    #[serde(rename = "google")]
    Google,
    /// The API of Ollama itself.
    #[serde(rename = "ollama")]
    Ollama,
    /// A script instead of a model.
    #[serde(rename = "rehearsal")]
    Rehearsal,
}

impl ApiKind {
    /// The address of a provider that is configured without one. For the other APIs an address is required.
    #[must_use]
    pub const fn base_url(self) -> Option<&'static str> {
        match self {
            Self::Anthropic => Some("https://api.anthropic.com"),
            Self::OpenaiResponses => Some("https://api.openai.com/v1"),
            Self::Google => Some("https://generativelanguage.googleapis.com"),
            Self::Ollama => Some("http://127.0.0.1:11434"),
            Self::OpenaiChat | Self::Rehearsal => None,
        }
    }

    /// Whether a script plays the model, so that there is no server.
    #[must_use]
    pub fn is_script(self) -> bool {
        self == Self::Rehearsal
    }
}
