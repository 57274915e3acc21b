//! Token counts of a response.

use aside_turn::response::Usage;
use serde_json::Value;

use super::super::abilities::{Prices, Tokens};

/// Token counts of a response, summed over its events.
#[derive(Debug)]
pub(super) struct Tally {
    prices: Option<Prices>,
    input: u64,
    cache_read: u64,
    /// All tokens written to the cache.
    cache_write: u64,
    /// The part of `cache_write` that is kept for an hour.
    cache_write_long: u64,
    output: u64,
    /// Tokens of a summary, which the other counts leave out.
    summary: Tokens,
}

impl Tally {
    pub(super) fn new(prices: Option<Prices>) -> Self {
        Self {
            prices,
            input: 0,
            cache_read: 0,
            cache_write: 0,
            cache_write_long: 0,
            output: 0,
            summary: Tokens::default(),
        }
    }

    /// Applies a `usage` member. Its counts are totals; absent or null ones leave the earlier value.
    pub(super) fn take(&mut self, usage: &Value) -> Usage {
        let set = |field: &mut u64, tokens: &Value| *field = tokens.as_u64().unwrap_or(*field);
        set(&mut self.input, &usage["input_tokens"]);
        set(&mut self.cache_read, &usage["cache_read_input_tokens"]);
        set(&mut self.cache_write, &usage["cache_creation_input_tokens"]);
        let long = &usage["cache_creation"]["ephemeral_1h_input_tokens"];
        set(&mut self.cache_write_long, long);
        set(&mut self.output, &usage["output_tokens"]);
        if let Some(summary) = summary(usage) {
            self.summary = summary;
        }
        let long = self.cache_write_long.min(self.cache_write);
        let tokens = Tokens {
            input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write - long,
            cache_write_long: long,
            output: self.output,
        };
        tokens.plus(&self.summary).usage(self.prices.as_ref())
    }
}

/// Tokens of the summaries that a `usage` member tells of apart.
fn summary(usage: &Value) -> Option<Tokens> {
    let parts = usage["iterations"].as_array()?;
    let summaries = parts.iter().filter(|one| one["type"] == "compaction");
    let tokens = |one: &Value| {
        let count = |value: &Value| value.as_u64().unwrap_or(0);
        let written = count(&one["cache_creation_input_tokens"]);
        let long = count(&one["cache_creation"]["ephemeral_1h_input_tokens"]).min(written);
        Tokens {
            input: count(&one["input_tokens"]),
            cache_read: count(&one["cache_read_input_tokens"]),
            cache_write: written - long,
            cache_write_long: long,
            output: count(&one["output_tokens"]),
        }
    };
    Some(summaries.fold(Tokens::default(), |sum, one| sum.plus(&tokens(one))))
}
