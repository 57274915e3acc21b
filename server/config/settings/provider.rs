//! What can be set of a provider and of its models.

use std::collections::BTreeMap;

use aside_base::api::ApiKind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A model provider.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ProviderSettings {
    /// Which API it speaks; a provider that Aside knows by name needs none.
    pub api: Option<ApiKind>,
    /// Where its API is.
    pub base_url: Option<String>,
    /// The environment variable that holds the key.
    pub api_key_env: Option<String>,
    /// The program that prints the key, and its arguments.
    #[schemars(length(min = 1))]
    pub api_key_command: Option<Vec<String>>,
    /// Headers that every request to it has besides its own, by their names; they win over its own. What stands in
    /// them is not repeated, but this file is no place for a key.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// What is to be believed of its models, by their ids, instead of what is known of them.
    pub models: BTreeMap<String, ModelSettings>,
}

/// What a model can do and costs; what is unset is as it is known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSettings {
    /// Tokens of its context, input and output together. Ollama is asked to hold as much in memory.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_window: Option<u64>,
    /// Tokens that an answer can have, reasoning included.
    #[schemars(range(min = 1))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_output: Option<u64>,
    /// It can call tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tools: Option<bool>,
    /// Whether it can be made to call a tool.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forced_tools: Option<ForcedTools>,
    /// It can hold the arguments of tools to their schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub strict: Option<bool>,
    /// It can hold an answer to a schema.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<bool>,
    /// It sees images.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub images: Option<bool>,
    /// It reads PDF.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub documents: Option<bool>,
    /// It takes a system message in the middle of a conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub system_messages: Option<bool>,
    /// How it is told to reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<ReasoningKind>,
    /// Its reasoning can be turned off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning_off: Option<bool>,
    /// It reasons between its calls only where that is asked for by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interleaves: Option<bool>,
    /// Its words for how much it reasons, from little to much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub efforts: Option<Vec<String>>,
    /// What it costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prices: Option<ModelPrices>,
}

/// Whether a model can be made to call a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ForcedTools {
    /// The model can always be made to call a tool.
    Yes,
    /// Only while it does not reason.
    WithoutReasoning,
    /// The model cannot be made to call a tool.
    No,
}

/// How a model is told to reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasoningKind {
    /// It does not reason.
    None,
    /// It decides by itself, guided by an effort.
    Adaptive,
    /// By a number of tokens.
    Budget,
    /// By an effort.
    Effort,
    /// It is on or off.
    Switch,
}

/// US dollars for a million tokens.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ModelPrices {
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
    /// Input tokens up to which these prices count; where there are more, `beyond` counts for the whole request.
    pub up_to: Option<u64>,
    /// The prices of requests with more input tokens than `up_to`.
    pub beyond: Option<PricesBeyond>,
}

/// US dollars for a million tokens of a request with more input than `up_to`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PricesBeyond {
    /// As [`ModelPrices::input`], beyond the bound.
    #[schemars(range(min = 0.0), description = "As above.")]
    pub input: f64,
    /// As [`ModelPrices::output`], beyond the bound.
    #[schemars(range(min = 0.0), description = "As above.")]
    pub output: f64,
    /// As [`ModelPrices::cache_read`], beyond the bound.
    #[schemars(range(min = 0.0), description = "As above.")]
    pub cache_read: Option<f64>,
    /// As [`ModelPrices::cache_write`], beyond the bound.
    #[schemars(range(min = 0.0), description = "As above.")]
    pub cache_write: Option<f64>,
    /// As [`ModelPrices::cache_write_long`], beyond the bound.
    #[schemars(range(min = 0.0), description = "As above.")]
    pub cache_write_long: Option<f64>,
}
