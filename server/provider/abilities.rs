//! Abilities and prices of models: data, never a comparison of names in the code.
//!
//! The built-in table is `models.toml`. A provider's own list overrides it, and the user's configuration overrides
//! both. Features that a model refuses during a conversation are left out last.

pub use aside_base::model::{ForcedToolSupport, Prices, Rates, ReasoningKind, StatedAbilities};
use aside_turn::response::Usage;

/// Abilities of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct Abilities {
    /// Size of the context window in tokens, input and output together.
    pub context_window: Option<u64>,
    /// Maximum number of tokens in one answer, reasoning included.
    pub max_output: Option<u64>,
    /// Whether the model can call tools.
    pub tools: bool,
    /// Whether a request can force a tool.
    pub forced_tools: ForcedToolSupport,
    /// Whether the model can be made to follow the schema of a tool's arguments (`strict`).
    pub strict: bool,
    /// Whether the model supports structured output.
    pub schema: bool,
    /// Whether the model accepts images.
    pub images: bool,
    /// Bytes of the largest image that the model accepts, in base64; `None` for no known limit.
    pub image_bytes: Option<u64>,
    /// Whether the model accepts PDF documents.
    pub documents: bool,
    /// Whether the model accepts a system message in the middle of a conversation.
    pub system_messages: bool,
    /// The way in which a request controls reasoning.
    pub reasoning: ReasoningKind,
    /// Whether reasoning can be turned off.
    pub reasoning_off: bool,
    /// Whether reasoning between calls needs a header of its own (Anthropic's interleaved thinking).
    pub interleaves: bool,
    /// Whether the provider makes summaries of conversations in a form of its own.
    pub compaction: bool,
    /// Supported reasoning efforts, from least to most.
    pub efforts: Vec<String>,
    /// Seconds after the last request for which the provider's cache may still know a conversation; `None` where nobody
    /// says.
    pub cache_seconds: Option<u64>,
    /// The same where the cache is asked for a long time.
    pub cache_seconds_long: Option<u64>,
    /// Prices in US dollars, if known.
    pub prices: Option<Prices>,
}

/// Tokens of one request, as they are charged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Input that is neither read from the cache nor written to it.
    pub input: u64,
    /// Input that is read from the cache.
    pub cache_read: u64,
    /// Input that is written to the cache for some minutes.
    pub cache_write: u64,
    /// Input that is written to the cache for an hour or more.
    pub cache_write_long: u64,
    /// Output, reasoning included.
    pub output: u64,
}

impl Tokens {
    /// The sum with the counts of another request.
    pub(super) fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            cache_read: self.cache_read.saturating_add(other.cache_read),
            cache_write: self.cache_write.saturating_add(other.cache_write),
            cache_write_long: self.cache_write_long.saturating_add(other.cache_write_long),
            output: self.output.saturating_add(other.output),
        }
    }

    /// Converts the counts to [`Usage`], with the cost if prices are known.
    pub(super) fn usage(&self, prices: Option<&Prices>) -> Usage {
        Usage {
            input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write.saturating_add(self.cache_write_long),
            output: self.output,
            cost: prices.map(|prices| self.cost(prices)),
            partial: false,
        }
    }

    /// Cost of a request in US dollars.
    #[must_use]
    pub fn cost(&self, prices: &Prices) -> f64 {
        let all = [self.cache_read, self.cache_write, self.cache_write_long]
            .into_iter()
            .fold(self.input, u64::saturating_add);
        let rates = match &prices.beyond {
            Some(beyond) if prices.up_to.is_some_and(|up_to| all > up_to) => beyond,
            _ => &prices.rates,
        };
        let million = |tokens: u64, price: f64| tokens as f64 * price / 1e6;
        million(self.input, rates.input)
            + million(self.cache_read, rates.cache_read())
            + million(self.cache_write, rates.cache_write())
            + million(self.cache_write_long, rates.cache_write_long())
            + million(self.output, rates.output)
    }
}

impl Default for Abilities {
    /// Abilities assumed of an unknown model: the usual features are requested, and left out once the model refuses
    /// them.
    fn default() -> Self {
        Self {
            context_window: None,
            max_output: None,
            tools: true,
            forced_tools: ForcedToolSupport::Yes,
            strict: true,
            schema: true,
            images: false,
            image_bytes: None,
            documents: false,
            system_messages: false,
            reasoning: ReasoningKind::None,
            reasoning_off: true,
            interleaves: false,
            compaction: false,
            efforts: Vec::new(),
            cache_seconds: None,
            cache_seconds_long: None,
            prices: None,
        }
    }
}

impl Abilities {
    /// Overrides each ability that is stated.
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
        self.image_bytes = stated.image_bytes.or(self.image_bytes);
        set(&mut self.documents, stated.documents.as_ref());
        set(&mut self.system_messages, stated.system_messages.as_ref());
        set(&mut self.reasoning, stated.reasoning.as_ref());
        set(&mut self.reasoning_off, stated.reasoning_off.as_ref());
        set(&mut self.interleaves, stated.interleaves.as_ref());
        set(&mut self.compaction, stated.compaction.as_ref());
        set(&mut self.efforts, stated.efforts.as_ref());
        self.cache_seconds = stated.cache_seconds.or(self.cache_seconds);
        self.cache_seconds_long = stated.cache_seconds_long.or(self.cache_seconds_long);
        if stated.prices.is_some() {
            self.prices.clone_from(&stated.prices);
        }
    }
}
