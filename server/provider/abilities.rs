//! What models can do and cost: data, never a comparison of names in the code.
//!
//! The built-in table is `models.toml`. A provider's own list, and then the user's configuration, say more; what a
//! model refuses in a conversation counts last.

use aside_turn::response::Usage;
use serde::{Deserialize, Serialize};

/// What a model can do.
#[derive(Clone, Debug, PartialEq)]
pub struct Abilities {
    /// Tokens, input and output together.
    pub context_window: Option<u64>,
    /// Tokens of one answer, reasoning included.
    pub max_output: Option<u64>,
    /// It can call tools.
    pub tools: bool,
    /// It takes a forced tool.
    pub forced_tools: ForcedToolSupport,
    /// It holds the arguments of tools to their schema where it is asked to.
    pub strict: bool,
    /// It holds an answer to a schema where it is asked to.
    pub schema: bool,
    /// It sees images.
    pub images: bool,
    /// It reads PDF.
    pub documents: bool,
    /// It takes a system message in the middle of a conversation.
    pub system_messages: bool,
    /// How it is told to reason.
    pub reasoning: ReasoningKind,
    /// Its reasoning can be turned off.
    pub reasoning_off: bool,
    /// It reasons between its calls only where that is asked for by itself.
    pub interleaves: bool,
    /// The words for how much it reasons, from little to much.
    pub efforts: Vec<String>,
    /// US dollars, where they are known.
    pub prices: Option<Prices>,
}

/// What a provider's list or the user's configuration says of a model. Each field is that of the same name in
/// [`Abilities`]; `None` says nothing of it.
#[expect(missing_docs, reason = "the fields are those of `Abilities`")]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StatedAbilities {
    pub context_window: Option<u64>,
    pub max_output: Option<u64>,
    pub tools: Option<bool>,
    pub forced_tools: Option<ForcedToolSupport>,
    pub strict: Option<bool>,
    pub schema: Option<bool>,
    pub images: Option<bool>,
    pub documents: Option<bool>,
    pub system_messages: Option<bool>,
    pub reasoning: Option<ReasoningKind>,
    pub reasoning_off: Option<bool>,
    pub interleaves: Option<bool>,
    pub efforts: Option<Vec<String>>,
    pub prices: Option<Prices>,
}

/// Whether a model takes a forced tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ForcedToolSupport {
    /// A tool can be forced in any request.
    Yes,
    /// Only while it does not reason.
    WithoutReasoning,
    /// No tool can be forced.
    No,
}

/// How a model is told to reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
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

/// US dollars for a million tokens. Where nothing is said of the cache, what goes through it costs as any input.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "PriceRow")]
pub struct Prices {
    /// Input that is neither read from the cache nor written to it.
    pub input: f64,
    /// Output, reasoning included.
    pub output: f64,
    /// Input that is read from the cache.
    pub cache_read: f64,
    /// Input that is written to the cache for some minutes.
    pub cache_write: f64,
    /// Input that is written to it for an hour or more.
    pub cache_write_long: f64,
    /// Requests with more input tokens than this, cached ones included, cost `beyond` throughout.
    pub up_to: Option<u64>,
    /// The prices of requests with more input tokens than `up_to`.
    pub beyond: Option<Box<Prices>>,
}

/// [`Prices`] as they are written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PriceRow {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
    cache_write_long: Option<f64>,
    up_to: Option<u64>,
    beyond: Option<Box<Prices>>,
}

impl From<PriceRow> for Prices {
    fn from(given: PriceRow) -> Self {
        let cache_write = given.cache_write.unwrap_or(given.input);
        Self {
            input: given.input,
            output: given.output,
            cache_read: given.cache_read.unwrap_or(given.input),
            cache_write,
            cache_write_long: given.cache_write_long.unwrap_or(cache_write),
            up_to: given.up_to,
            beyond: given.beyond,
        }
    }
}

/// Tokens of one request, as they are charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Neither read from the cache nor written to it.
    pub input: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache for some minutes.
    pub cache_write: u64,
    /// Written to it for an hour or more.
    pub cache_write_long: u64,
    /// Output, reasoning included.
    pub output: u64,
}

impl Tokens {
    /// What is told of them, with what they cost where that is known.
    pub(super) fn usage(&self, prices: Option<&Prices>) -> Usage {
        Usage {
            input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write.saturating_add(self.cache_write_long),
            output: self.output,
            cost: prices.map(|prices| prices.cost(self)),
        }
    }
}

impl Default for Abilities {
    /// Of a model that nobody knows anything about: it is asked for what is usual, and learns by what is refused.
    fn default() -> Self {
        Self {
            context_window: None,
            max_output: None,
            tools: true,
            forced_tools: ForcedToolSupport::Yes,
            strict: true,
            schema: true,
            images: false,
            documents: false,
            system_messages: false,
            reasoning: ReasoningKind::None,
            reasoning_off: true,
            interleaves: false,
            efforts: Vec::new(),
            prices: None,
        }
    }
}

impl Abilities {
    /// Takes in what somebody says.
    pub fn take(&mut self, stated: &StatedAbilities) {
        fn set<T: Clone>(field: &mut T, stated: Option<&T>) {
            if let Some(stated) = stated {
                field.clone_from(stated);
            }
        }
        self.context_window = stated.context_window.or(self.context_window);
        self.max_output = stated.max_output.or(self.max_output);
        set(&mut self.tools, stated.tools.as_ref());
        set(&mut self.forced_tools, stated.forced_tools.as_ref());
        set(&mut self.strict, stated.strict.as_ref());
        set(&mut self.schema, stated.schema.as_ref());
        set(&mut self.images, stated.images.as_ref());
        set(&mut self.documents, stated.documents.as_ref());
        set(&mut self.system_messages, stated.system_messages.as_ref());
        set(&mut self.reasoning, stated.reasoning.as_ref());
        set(&mut self.reasoning_off, stated.reasoning_off.as_ref());
        set(&mut self.interleaves, stated.interleaves.as_ref());
        set(&mut self.efforts, stated.efforts.as_ref());
        if stated.prices.is_some() {
            self.prices.clone_from(&stated.prices);
        }
    }
}

impl Prices {
    /// What a million tokens of input cost that no cache has yet, in millionths of a US dollar.
    #[must_use]
    pub fn uncached(&self) -> u64 {
        (self.input.max(self.cache_write) * 1e6).round() as u64
    }

    /// What a request costs, in US dollars.
    #[must_use]
    pub fn cost(&self, tokens: &Tokens) -> f64 {
        let Tokens {
            input,
            cache_read,
            cache_write,
            cache_write_long,
            output,
        } = *tokens;
        let all = [cache_read, cache_write, cache_write_long]
            .into_iter()
            .fold(input, u64::saturating_add);
        if let (Some(up_to), Some(beyond)) = (self.up_to, &self.beyond)
            && all > up_to
        {
            return beyond.cost(tokens);
        }
        let million = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        million(input, self.input)
            + million(cache_read, self.cache_read)
            + million(cache_write, self.cache_write)
            + million(cache_write_long, self.cache_write_long)
            + million(output, self.output)
    }
}
