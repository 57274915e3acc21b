//! What was written, until when it can be read, and what a request finds.

use std::collections::HashMap;
use std::time::Duration;

use super::{CachePlan, CachedTokens, Retention};

/// One prefix that was written.
#[derive(Clone, Debug)]
pub(super) struct CacheEntry {
    group: u64,
    hash: u64,
    /// Its place among all that were ever written.
    order: u64,
    lifetime: Duration,
    expires: Duration,
}

/// All that can be read, by the hash of the prefix.
#[derive(Debug, Default)]
pub(super) struct Entries {
    all: HashMap<u64, CacheEntry>,
    written: u64,
}

impl Entries {
    /// What a request reads, and what it will have written once its response starts. Every entry that one of its
    /// marks finds lives on from now.
    pub(super) fn ask(
        &mut self,
        plan: &CachePlan,
        now: Duration,
    ) -> (CachedTokens, Vec<CacheEntry>) {
        self.all.retain(|_, entry| entry.expires > now);
        let total = plan.ends.last().copied().unwrap_or_default();
        let mut found = None;
        for mark in &plan.marks {
            let first = (mark.at + 1).saturating_sub(plan.lookback);
            let hit = (first..=mark.at)
                .rev()
                .find(|at| self.refresh(plan.hashes[*at], now));
            found = found.max(hit);
        }
        let read = found.map_or(0, |at| plan.ends[at] / plan.step * plan.step);
        let writes = plan.marks.iter().filter(|mark| {
            found.is_none_or(|found| mark.at > found) && plan.ends[mark.at] >= plan.least
        });
        let mut cached = CachedTokens {
            read,
            ..CachedTokens::default()
        };
        let mut written = Vec::new();
        for mark in writes {
            if plan.billed {
                cached.written = plan.ends[mark.at] - read;
                if mark.long {
                    cached.long = cached.written;
                }
            }
            let expires = now.saturating_add(mark.lifetime);
            let (group, hash) = (plan.group, plan.hashes[mark.at]);
            written.push(CacheEntry {
                group,
                hash,
                order: 0,
                lifetime: mark.lifetime,
                expires,
            });
        }
        cached.new = total - cached.read - cached.written;
        (cached, written)
    }

    /// Whether there is such an entry; then its lifetime starts anew.
    fn refresh(&mut self, hash: u64, now: Duration) -> bool {
        let Some(entry) = self.all.get_mut(&hash) else {
            return false;
        };
        entry.expires = now.saturating_add(entry.lifetime);
        true
    }

    /// Makes entries readable and lets go of those that the plan does not keep.
    pub(super) fn write(&mut self, plan: &CachePlan, written: Vec<CacheEntry>) {
        if plan.keep == Retention::OneRequest {
            let hashes = &plan.hashes;
            self.all
                .retain(|hash, entry| entry.group != plan.group || hashes.contains(hash));
        }
        for mut entry in written {
            self.written += 1;
            entry.order = self.written;
            let old = self
                .all
                .get(&entry.hash)
                .map_or(Duration::ZERO, |old| old.expires);
            entry.expires = entry.expires.max(old);
            self.all.insert(entry.hash, entry);
        }
        if let Retention::Latest(most) = plan.keep {
            let own = self.all.values().filter(|entry| entry.group == plan.group);
            let mut orders: Vec<_> = own.map(|entry| entry.order).collect();
            orders.sort_unstable_by(|one, other| other.cmp(one));
            let oldest = orders
                .get(most.saturating_sub(1))
                .copied()
                .unwrap_or_default();
            self.all
                .retain(|_, entry| entry.group != plan.group || entry.order >= oldest);
        }
    }
}
