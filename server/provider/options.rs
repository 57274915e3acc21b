//! One model, where it is, and how it is configured.

use aside_turn::rules::Model;
use http::HeaderName;
use reqwest::Url;

use super::{
    abilities::{Abilities, ForcedToolSupport, ReasoningKind},
    key::Key,
};

/// One model, where it is, and how it is configured.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// The provider's name, as users write it.
    pub provider: String,
    /// The model, as the provider calls it.
    pub model: String,
    /// Where the API is.
    pub base: Url,
    /// Where the key comes from, in words for a person: `ANTHROPIC_API_KEY`.
    pub key_source: String,
    /// The key goes after `Bearer` into `authorization`, whatever the API does with keys.
    pub bearer: bool,
    /// Headers that the user wants in every request, whatever the API sends under their names. Their values may be
    /// secrets.
    pub headers: Vec<(HeaderName, Key)>,
    /// What the model can do.
    pub abilities: Abilities,
    /// How much it reasons; unset is its own default.
    pub reasoning: Option<ReasoningEffort>,
    /// Tokens that an answer may have, reasoning included; unset is a default for the model.
    pub max_output: Option<u64>,
    /// How long the provider is asked to keep what was sent.
    pub cache: CacheRetention,
}

/// How much a model reasons; an API takes the nearest that it knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReasoningEffort {
    /// Not at all, or as little as it can.
    Off,
    /// It reasons a little.
    Low,
    /// A moderate amount of reasoning.
    Medium,
    /// It reasons much.
    High,
    /// As much as it can.
    Max,
}

/// How long a provider is asked to keep what was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CacheRetention {
    /// It is not asked.
    Off,
    /// The provider keeps it for some minutes after each use.
    #[default]
    Short,
    /// An hour or more.
    Long,
}

/// Tokens that an answer may have where nobody says.
const OUTPUT: u64 = 32_000;

impl ModelOptions {
    /// The model's full name, `provider/model`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// What the turn decides by.
    #[must_use]
    pub fn to_model(&self) -> Model {
        let Abilities {
            forced_tools,
            reasoning_off,
            images,
            documents,
            context_window,
            ..
        } = self.abilities;
        Model {
            id: self.id(),
            forces_tools: forced_tools != ForcedToolSupport::No,
            forces_while_reasoning: forced_tools == ForcedToolSupport::Yes,
            reasoning: self.reasons(),
            reasoning_switches: reasoning_off,
            images,
            documents,
            context_window,
        }
    }

    /// The model reasons, as it is configured.
    #[must_use]
    pub fn reasons(&self) -> bool {
        match self.abilities.reasoning {
            ReasoningKind::None => false,
            // It has to be asked for: it costs what it is given.
            ReasoningKind::Budget => self
                .reasoning
                .is_some_and(|effort| effort != ReasoningEffort::Off),
            _ => self.reasoning != Some(ReasoningEffort::Off) || !self.abilities.reasoning_off,
        }
    }

    /// Tokens that an answer may have.
    #[must_use]
    pub fn output(&self) -> u64 {
        let most = self.abilities.max_output.unwrap_or(OUTPUT);
        self.max_output.unwrap_or(OUTPUT).min(most)
    }
}
