//! What a prompt cache reads and writes, from the bodies alone.
//!
//! | module | what lives there |
//! |---|---|
//! | `entries` | what was written, until when it can be read, and what a request finds |
//! | `anthropic` | breakpoints set by the client, and what changes lose which part |
//! | `openai` | exact prefixes (Responses, and Chat Completions on OpenAI's models) |
//! | `implicit` | prefixes that servers keep unasked (Gemini, older OpenAI models, llama.cpp, Ollama) |
//!
//! A token is four bytes of the compact JSON of a block, rounded up for each block; markers of the cache are not
//! counted. Real tokenizers differ, the proportions hold. Nothing is looked up below the size of a block: a prefix
//! that ends inside of one counts up to the block before.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

use serde_json::Value;

use crate::ServedApi;
use crate::check::prefix::PromptBlock;
use entries::{CacheEntry, Entries};

mod anthropic;
mod entries;
mod implicit;
mod openai;
#[cfg(test)]
mod tests;

/// The prompt cache of a provider's workspace.
#[derive(Debug, Default)]
pub struct PromptCache {
    entries: Entries,
    /// What requests write whose responses have not started.
    pending: HashMap<Ticket, (CachePlan, Vec<CacheEntry>)>,
    tickets: u64,
}

/// Names a request until its response starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ticket(u64);

/// The tokens of one request: all of its input is the sum of `read`, `written` and `new`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CachedTokens {
    /// Read from the cache.
    pub read: u64,
    /// Written to it, at the price of a write. 0 where writing is free.
    pub written: u64,
    /// The part of `written` that is kept for the longer of the provider's two lifetimes.
    pub long: u64,
    /// Neither read nor written.
    pub new: u64,
}

/// US dollars for a million tokens of each kind.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CachePrices {
    /// Input that is neither read from the cache nor written to it.
    pub input: f64,
    /// Output, thinking included.
    pub output: f64,
    /// Input read from the cache.
    pub read: f64,
    /// Input written for the shorter lifetime.
    pub write: f64,
    /// Input written for the longer lifetime.
    pub write_long: f64,
}

/// What a request costs in US dollars, with so many tokens of output.
#[expect(clippy::cast_precision_loss, reason = "no request has 2^53 tokens")]
pub fn dollars(cached: &CachedTokens, output: u64, prices: CachePrices) -> f64 {
    let short = cached.written.saturating_sub(cached.long);
    let priced = [
        (cached.new, prices.input),
        (output, prices.output),
        (cached.read, prices.read),
        (short, prices.write),
        (cached.long, prices.write_long),
    ];
    priced
        .into_iter()
        .map(|(tokens, price)| tokens as f64 * price)
        .sum::<f64>()
        / 1e6
}

impl PromptCache {
    /// What a request reads and writes that arrives `now`, the time since any fixed moment. What it writes can be
    /// read from [`PromptCache::started`] on, for as long as its lifetime, counted from `now`.
    pub fn request(
        &mut self,
        api: ServedApi,
        model: &str,
        body: &Value,
        now: Duration,
    ) -> (Ticket, CachedTokens) {
        let plan = match api {
            ServedApi::Anthropic => anthropic::plan(model, body),
            ServedApi::OpenaiResponses => openai::plan(api, model, body),
            ServedApi::OpenaiChat if crate::check::of_openai(model) => {
                openai::plan(api, model, body)
            }
            ServedApi::OpenaiChat | ServedApi::Gemini | ServedApi::Ollama => {
                implicit::plan(api, model, body)
            }
        };
        let (cached, written) = self.entries.ask(&plan, now);
        self.tickets += 1;
        let ticket = Ticket(self.tickets);
        self.pending.insert(ticket, (plan, written));
        (ticket, cached)
    }

    /// The response to a request has started, and what it wrote can be read. A request that failed before is never
    /// told of here and leaves nothing behind. A ticket counts once.
    pub fn started(&mut self, ticket: Ticket) {
        if let Some((plan, written)) = self.pending.remove(&ticket) {
            self.entries.write(&plan, written);
        }
    }
}

/// What a request looks for and what it leaves.
#[derive(Clone, Debug)]
struct CachePlan {
    /// Whose entries it shares; hashes of other groups never match.
    group: u64,
    /// For each block, the hash of the prefix that it ends.
    hashes: Vec<u64>,
    /// For each block, the tokens of the prefix that it ends.
    ends: Vec<u64>,
    /// Where prefixes are written, and looked for backwards, in the order of the blocks.
    marks: Vec<Mark>,
    /// How many blocks back from a mark an entry is looked for, the mark's own included.
    lookback: usize,
    /// Tokens below which nothing is cached.
    least: u64,
    /// What is read is rounded down to a multiple of this.
    step: u64,
    /// Whether writing costs anything.
    billed: bool,
    /// How many entries of its group survive it.
    keep: Retention,
}

/// A place where a prefix is written.
#[derive(Clone, Copy, Debug)]
struct Mark {
    /// The index of the last block of the prefix.
    at: usize,
    lifetime: Duration,
    /// Whether this is the longer of the provider's two lifetimes.
    long: bool,
}

/// How many entries of a group are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Retention {
    All,
    /// The latest ones.
    Latest(usize),
    /// Those of the last request.
    OneRequest,
}

/// Hashes of prefixes and their tokens, for blocks whose parts begin with what else they depend on: `salts` of
/// tools, system and messages.
fn prefixes(group: u64, blocks: &[PromptBlock], salts: [&Value; 3]) -> (Vec<u64>, Vec<u64>) {
    let (mut hash, mut end) = (group, 0);
    let salts = salts.map(|salt| digest(salt.to_string()));
    let mut row = (Vec::new(), Vec::new());
    for block in blocks {
        let depends_on = salts.get(..=block.part as usize);
        hash = block.link(digest((hash, depends_on)));
        end += u64::try_from(block.value.to_string().len())
            .unwrap_or(u64::MAX)
            .div_ceil(4);
        row.0.push(hash);
        row.1.push(end);
    }
    row
}

fn digest(value: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}
