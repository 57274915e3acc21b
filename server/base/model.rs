//! Abilities and prices of models, and the wishes that a user may have of one. Configuration, the lists of providers and
//! the built-in table use these types; `provider` acts on them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Abilities and prices of a model, from its provider or the user. A member that is unset keeps its known value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct StatedAbilities {
    /// Tokens of its context, input and output together. Ollama is asked to hold as much in memory.
    #[schemars(range(min = 1))]
    pub context_window: Option<u64>,
    /// Tokens that an answer can have, reasoning included.
    #[schemars(range(min = 1))]
    pub max_output: Option<u64>,
    /// Whether the model supports tools.
    pub tools: Option<bool>,
    /// Whether it can be made to call a tool.
    pub forced_tools: Option<ForcedToolSupport>,
    /// Whether the model enforces the schema of tool arguments.
    pub strict: Option<bool>,
    /// Whether the model supports structured output.
    pub schema: Option<bool>,
    /// Whether the model accepts images.
    pub images: Option<bool>,
    /// Bytes of the largest image that the model accepts, in base64.
    #[schemars(range(min = 1))]
    pub image_bytes: Option<u64>,
    /// Whether the model accepts PDF documents.
    pub documents: Option<bool>,
    /// Whether the model accepts a system message in the middle of a conversation.
    pub system_messages: Option<bool>,
    /// Way in which the model is told to reason.
    pub reasoning: Option<ReasoningKind>,
    /// Whether reasoning can be turned off.
    pub reasoning_off: Option<bool>,
    /// Whether reasoning between calls has to be requested.
    pub interleaves: Option<bool>,
    /// Whether its provider is asked for summaries of long conversations in a form of its own.
    pub compaction: Option<bool>,
    /// Words for its reasoning effort, from little to much.
    pub efforts: Option<Vec<String>>,
    /// Seconds after the last request for which the provider's cache may still know a conversation.
    pub cache_seconds: Option<u64>,
    /// The same where the cache is asked for a long time.
    pub cache_seconds_long: Option<u64>,
    /// Prices of the model.
    pub prices: Option<Prices>,
}

/// Whether a model takes a forced tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForcedToolSupport {
    /// A tool can be forced in any request.
    Yes,
    /// Only while it does not reason.
    WithoutReasoning,
    /// No tool can be forced.
    No,
}

/// Way in which a model is told to reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningKind {
    /// The model does not reason.
    None,
    /// The model decides by itself, guided by an effort.
    Adaptive,
    /// By a number of tokens.
    Budget,
    /// By an effort.
    Effort,
    /// Reasoning is on or off.
    Switch,
}

/// US dollars for a million tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct Prices {
    /// The prices of a request, or of one with at most `up_to` input tokens.
    #[serde(flatten)]
    pub rates: Rates,
    /// Input tokens up to which these prices count; where there are more, `beyond` counts for the whole request.
    pub up_to: Option<u64>,
    /// The prices of requests with more input tokens than `up_to`.
    pub beyond: Option<Rates>,
}

/// US dollars for a million tokens of one kind each.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Rates {
    /// Input that does not go through the cache.
    #[schemars(range(min = 0.0))]
    pub input: f64,
    /// Output, reasoning included.
    #[schemars(range(min = 0.0))]
    pub output: f64,
    /// Input that is read from the cache; unset is as any input.
    #[schemars(range(min = 0.0))]
    pub cache_read: Option<f64>,
    /// Input that is written to the cache for some minutes; unset is as any input.
    #[schemars(range(min = 0.0))]
    pub cache_write: Option<f64>,
    /// Input that is written to it for an hour or more; unset is as for some minutes.
    #[schemars(range(min = 0.0))]
    pub cache_write_long: Option<f64>,
}

/// Reasoning effort; an API gets the nearest value that it knows.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum ReasoningEffort {
    /// Not at all, or as little as it can.
    Off,
    /// A little reasoning.
    Low,
    /// A moderate amount of reasoning.
    Medium,
    /// Much reasoning.
    High,
    /// The most reasoning that the model supports.
    Max,
}

/// Time for which a provider is asked to cache the prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CacheRetention {
    /// No caching is requested.
    Off,
    /// The provider keeps it for some minutes after each use.
    #[default]
    Short,
    /// An hour or more; writing costs more then.
    Long,
}

impl Prices {
    /// Price of a million uncached input tokens, in millionths of a US dollar.
    #[must_use]
    pub fn uncached(&self) -> u64 {
        let rates = &self.rates;
        (rates.input.max(rates.cache_write()) * 1e6).round() as u64
    }
}

impl Rates {
    /// The price of input that is read from the cache.
    #[must_use]
    pub fn cache_read(&self) -> f64 {
        self.cache_read.unwrap_or(self.input)
    }

    /// The price of input that is written to the cache for some minutes.
    #[must_use]
    pub fn cache_write(&self) -> f64 {
        self.cache_write.unwrap_or(self.input)
    }

    /// The price of input that is written to the cache for an hour or more.
    #[must_use]
    pub fn cache_write_long(&self) -> f64 {
        self.cache_write_long.unwrap_or_else(|| self.cache_write())
    }
}
