//! Token counts of servers.

use aside_turn::response::Usage;
use serde_json::Value;

use crate::abilities::{Prices, Tokens};

/// Token counts so far; a later value replaces an earlier one, member by member.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ChatUsage {
    /// Prompt tokens, including those read from the cache and written to it.
    prompt: Option<u64>,
    cached: Option<u64>,
    written: Option<u64>,
    output: Option<u64>,
    cost: Option<f64>,
    /// llama.cpp: prompt tokens that it computed, and those that it found in its cache.
    computed: Option<u64>,
    found: Option<u64>,
    predicted: Option<u64>,
}

impl ChatUsage {
    pub(super) fn take(&mut self, usage: &Value, timings: &Value) {
        let details = &usage["prompt_tokens_details"];
        let set = |field: &mut Option<u64>, value: &Value| *field = value.as_u64().or(*field);
        set(&mut self.prompt, &usage["prompt_tokens"]);
        set(&mut self.cached, &usage["prompt_cache_hit_tokens"]);
        set(&mut self.cached, &details["cached_tokens"]);
        set(&mut self.written, &details["cache_write_tokens"]);
        set(&mut self.output, &usage["completion_tokens"]);
        set(&mut self.computed, &timings["prompt_n"]);
        set(&mut self.found, &timings["cache_n"]);
        set(&mut self.predicted, &timings["predicted_n"]);
        self.cost = usage["cost"].as_f64().or(self.cost);
    }

    /// The counts as [`Usage`]; `None` if the server sent none.
    pub(super) fn usage(&self, prices: Option<&Prices>) -> Option<Usage> {
        let output = self.output.or(self.predicted);
        let prompt = self.prompt.or(self.computed);
        if prompt.is_none() && output.is_none() {
            return None;
        }
        let cache_read = self.cached.or(self.found).unwrap_or(0);
        let cache_write = self.written.unwrap_or(0);
        let input = match self.prompt {
            Some(all) => all.saturating_sub(cache_read).saturating_sub(cache_write),
            None => self.computed.unwrap_or(0),
        };
        let output = output.unwrap_or(0);
        let tokens = Tokens {
            input,
            cache_read,
            cache_write,
            cache_write_long: 0,
            output,
        };
        let usage = tokens.usage(prices);
        Some(Usage {
            cost: self.cost.or(usage.cost),
            ..usage
        })
    }
}
