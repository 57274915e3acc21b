//! Summaries while nobody writes: shortly before the provider's cache forgets a long conversation, one that reads it
//! from the cache costs little, and the next message then pays for the summary in place of all that was said.

use std::time::Duration;

use crate::{
    history::fullness::Fullness,
    rules::{CompactionRule, Rules},
};

/// Share of the cache's life, in per cent, for which a person may think and write.
const WAIT: u32 = 80;
/// Share of the size at which a conversation is summarised anyway, in per cent, that it has to have.
const LEAST_FULL: u64 = 50;
/// Tokens that a summary is reckoned to have.
const SUMMARY: u64 = 4_000;
/// Share of the conversation, in per cent, that is reckoned to be left with it.
const LEFT: u64 = 35;
/// Share of the price of the next message, in per cent, that may be left with the summary, its own price included.
const MOST_PRICE: u64 = 70;

/// Time since the last request after which the conversation is summarised, if nobody wrote until then; none where that
/// would not save enough money. Only a cache that the provider sells for that time counts: what another one still knows
/// then, nobody can say.
#[must_use]
pub fn summary_due(fullness: &Fullness, rules: &Rules) -> Option<Duration> {
    let model = &rules.model;
    if rules.compaction != CompactionRule::Auto || fullness.is_given_up(&model.id) {
        return None;
    }
    let (life, prices) = (model.cache_life?, model.cache_prices.as_ref()?);
    let tokens = fullness.tokens();
    let is_long = tokens > model.compacts_at?.saturating_mul(LEAST_FULL) / 100;
    let without = tokens.saturating_mul(prices.write);
    let with = [
        tokens.saturating_mul(prices.read),
        SUMMARY.saturating_mul(prices.output),
        without.saturating_mul(LEFT) / 100,
    ];
    let with = with.into_iter().fold(0, u64::saturating_add);
    let saves = with <= without.saturating_mul(MOST_PRICE) / 100;
    (is_long && saves && !life.is_zero()).then(|| life * WAIT / 100)
}
