//! The configuration of one model.

use std::time::Duration;

pub use aside_base::model::{CacheRetention, ReasoningEffort};
use aside_turn::rules::{CachePrices, Model};
use http::HeaderName;
use reqwest::Url;

use super::{
    abilities::{Abilities, ForcedToolSupport, ReasoningKind},
    key::Key,
};

/// The configuration of one model.
#[derive(Clone, Debug)]
pub struct ModelOptions {
    /// Name of the provider in the configuration.
    pub provider: String,
    /// Name of the model at the provider.
    pub model: String,
    /// Base URL of the API.
    pub base: Url,
    /// Source of the key for messages, such as `ANTHROPIC_API_KEY`.
    pub key_source: String,
    /// Whether the key is sent as `Authorization: Bearer`, whatever the API's own header is.
    pub bearer: bool,
    /// Additional headers for every request, which override the API's own. Values may be secrets.
    pub headers: Vec<(HeaderName, Key)>,
    /// Abilities of the model.
    pub abilities: Abilities,
    /// Reasoning effort; `None` for the model's default.
    pub reasoning: Option<ReasoningEffort>,
    /// Maximum number of tokens in an answer, reasoning included; `None` for a default.
    pub max_output: Option<u64>,
    /// Time for which the provider should cache the prompt.
    pub cache: CacheRetention,
}

/// Tokens that an answer may have where nobody says.
const DEFAULT_OUTPUT: u64 = 32_000;

impl ModelOptions {
    /// The model's full name, `provider/model`.
    #[must_use]
    pub fn id(&self) -> String {
        format!("{}/{}", self.provider, self.model)
    }

    /// The properties of the model that the turn needs.
    #[must_use]
    pub fn to_model(&self) -> Model {
        let Abilities {
            forced_tools,
            reasoning_off,
            images,
            image_bytes,
            documents,
            context_window,
            compaction,
            ..
        } = self.abilities;
        Model {
            id: self.id(),
            forces_tools: forced_tools != ForcedToolSupport::No,
            forces_while_reasoning: forced_tools == ForcedToolSupport::Yes,
            reasoning: self.reasons(),
            reasoning_switches: reasoning_off,
            images,
            image_bytes,
            documents,
            context_window,
            compacts_at: self.compacts_at(),
            compacts_natively: compaction,
            cache_life: self.cache_life(),
            cache_prices: self.cache_prices(),
        }
    }

    /// Time after the last request for which the provider's cache may still know a conversation. Where the user wants no
    /// cache it is as usual: some providers keep one all the same.
    fn cache_life(&self) -> Option<Duration> {
        let Abilities {
            cache_seconds,
            cache_seconds_long,
            ..
        } = self.abilities;
        let long = cache_seconds_long.filter(|_| self.cache == CacheRetention::Long);
        long.or(cache_seconds).map(Duration::from_secs)
    }

    /// Prices of a cache that the provider sells and that the user wants.
    fn cache_prices(&self) -> Option<CachePrices> {
        let rates = &self.abilities.prices.as_ref()?.rates;
        let write = match self.cache {
            CacheRetention::Off => return None,
            CacheRetention::Short => rates.cache_write?,
            CacheRetention::Long => rates.cache_write_long.or(rates.cache_write)?,
        };
        let millionths = |dollars: f64| (dollars * 1e6).round() as u64;
        Some(CachePrices {
            read: millionths(rates.cache_read()),
            write: millionths(write),
            output: millionths(rates.output),
        })
    }

    /// Tokens beyond which a conversation is summarised: room for an answer is left in the context window, and the
    /// price step of the model is not passed.
    fn compacts_at(&self) -> Option<u64> {
        let window = self.abilities.context_window?;
        let answer = self.output().min(window / 4);
        let room = window - answer - window / 50;
        let prices = self.abilities.prices.as_ref();
        let step = prices.and_then(|prices| prices.beyond.as_ref().and(prices.up_to));
        Some(step.map_or(room, |step| room.min(step - step / 20)))
    }

    /// Whether the model reasons with this configuration.
    #[must_use]
    pub fn reasons(&self) -> bool {
        match self.abilities.reasoning {
            ReasoningKind::None => false,
            // A budget costs money, so it must be configured.
            ReasoningKind::Budget => self
                .reasoning
                .is_some_and(|effort| effort != ReasoningEffort::Off),
            _ => self.reasoning != Some(ReasoningEffort::Off) || !self.abilities.reasoning_off,
        }
    }

    /// Maximum number of tokens in an answer.
    #[must_use]
    pub fn output(&self) -> u64 {
        let most = self.abilities.max_output.unwrap_or(DEFAULT_OUTPUT);
        self.max_output.unwrap_or(DEFAULT_OUTPUT).min(most)
    }
}
