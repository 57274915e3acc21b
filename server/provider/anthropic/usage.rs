//! Tokens of a response.

use aside_turn::response::Usage;
use serde_json::Value;

use super::super::abilities::{Prices, Tokens};

/// What a response said of tokens so far.
#[derive(Debug)]
pub(super) struct Tally {
    prices: Option<Prices>,
    input: u64,
    cache_read: u64,
    /// Written to the cache, for however long.
    cache_write: u64,
    /// The part of it that was written for an hour.
    cache_write_long: u64,
    output: u64,
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
        }
    }

    /// Takes in a member `usage`. What is absent in it, or null, stays as it was; the rest is what it has come to.
    pub(super) fn take(&mut self, usage: &Value) -> Usage {
        let set = |field: &mut u64, tokens: &Value| *field = tokens.as_u64().unwrap_or(*field);
        set(&mut self.input, &usage["input_tokens"]);
        set(&mut self.cache_read, &usage["cache_read_input_tokens"]);
        set(&mut self.cache_write, &usage["cache_creation_input_tokens"]);
        let long = &usage["cache_creation"]["ephemeral_1h_input_tokens"];
        set(&mut self.cache_write_long, long);
        set(&mut self.output, &usage["output_tokens"]);
        let long = self.cache_write_long.min(self.cache_write);
        let tokens = Tokens {
            input: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write - long,
            cache_write_long: long,
            output: self.output,
        };
        tokens.usage(self.prices.as_ref())
    }
}
