//! How full a conversation is for its model, and whether summaries still help, folded from its events.

use crate::{
    model::response::{Feature, Usage},
    record::Event,
};

/// Compactions of a conversation that may fail in a row, or save too little, before no more are tried unasked.
pub(crate) const FAILURES: u8 = 3;
/// Bytes of text that count as one token, where no provider has counted it. Code has about this many.
pub(crate) const BYTES_A_TOKEN: u64 = 3;
/// Share of the conversation, in per cent, that may be left after a compaction. One that saves less is dropped.
const MOST_LEFT: u64 = 70;

/// Tokens of a conversation, and the summaries that failed in a row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fullness {
    /// Tokens as of the last response; 0 if that is not known.
    tokens: u64,
    /// Bytes on the user's side that no response has counted yet, also those of turns that were interrupted.
    waiting: u64,
    /// Those of them that the last request has.
    sent: u64,
    /// Bytes that were sent, and that the provider did not count with its response.
    uncounted: u64,
    /// Summaries that were not taken back, from the oldest to the newest.
    summaries: Vec<Summarised>,
    /// Number of the summary that was made last, also if it was taken back.
    made: u32,
    /// The model that could not summarise it, and how often in a row.
    failed: Option<(String, u8)>,
    /// The model that did not take back a summary in its provider's own form.
    unread_by: Option<String>,
}

/// A summary of the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Summarised {
    /// Its number, as it is on record.
    number: u32,
    /// Whether it is in a provider's own form.
    is_native: bool,
    /// Whether the user asked for it, so that it may save little.
    is_asked: bool,
    /// Tokens before it; 0 if that is not known.
    before: u64,
    /// Tokens with it, as of the first response; none until then.
    after: Option<u64>,
}

impl Fullness {
    /// Applies an event of the conversation.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::CompactionFailed { model, .. } => {
                let failures = self.failures(model).saturating_add(1);
                self.failed = Some((model.clone(), failures));
                // A summary that saved too little is counted once, also where Aside is killed before the response that
                // showed it is on record.
                if let Some(last) = self.summaries.last_mut() {
                    last.after.get_or_insert(last.before);
                }
            }
            Event::Compacted {
                number,
                asked,
                native,
                before,
                ..
            } => {
                // What was sent in vain is part of what the summary stands for.
                self.waiting -= std::mem::take(&mut self.sent);
                self.uncounted = 0;
                self.made = self.made.max(*number);
                self.summaries.push(Summarised {
                    number: *number,
                    is_native: native.is_some(),
                    is_asked: *asked,
                    before: *before,
                    after: None,
                });
            }
            Event::CompactionUndone { number, .. } => {
                self.summaries.retain(|summary| summary.number != *number);
            }
            Event::Learned { model, refuses }
                if refuses.known() == Some(Feature::History)
                    && self.summaries.last().is_some_and(|last| last.is_native) =>
            {
                self.unread_by = Some(model.clone());
            }
            Event::RequestSent { .. } => self.sent = self.waiting,
            Event::ResponseEnd { usage, .. } => {
                let left = self.left(usage);
                let sent = std::mem::take(&mut self.sent);
                self.waiting -= sent;
                self.uncounted = match usage.context() {
                    Some(_) => 0,
                    None => self.uncounted.saturating_add(sent),
                };
                if let (Some(after), Some(left)) = (usage.context(), left)
                    && let Some(last) = self.summaries.last_mut()
                    && last.after.is_none()
                {
                    last.after = Some(after);
                    if saves_enough(left, last.before) {
                        self.failed = None;
                    }
                }
            }
            _ => {}
        }
        self.waiting = self.waiting.saturating_add(event.waits_for_request());
        self.tokens = event.context().unwrap_or(self.tokens);
    }

    /// Tokens of the conversation without what the last request added and the response to it: what a summary has left of
    /// it, in the first response after that.
    pub(crate) fn left(&self, usage: &Usage) -> Option<u64> {
        let new = (self.sent / BYTES_A_TOKEN).saturating_add(usage.output);
        Some(usage.context()?.saturating_sub(new))
    }

    /// Bytes that wait for the next request.
    #[must_use]
    pub fn waiting(&self) -> u64 {
        self.waiting
    }

    /// Tokens of the conversation with what waits for the next request, where nobody has counted that by a rule of thumb; 0
    /// while there is nothing that could be summarised.
    pub(crate) fn with_waiting(&self) -> u64 {
        match (self.tokens, self.uncounted) {
            (0, 0) => 0,
            (tokens, uncounted) => {
                let bytes = self.waiting.saturating_add(uncounted);
                tokens.saturating_add(bytes / BYTES_A_TOKEN)
            }
        }
    }

    /// Bytes that were sent, and that no response has counted.
    pub(crate) fn sent(&self) -> u64 {
        self.sent
    }

    /// Tokens of the conversation as of its last response; 0 if that is not known.
    #[must_use]
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// Whether the next response shows how much the last summary has left.
    #[must_use]
    pub fn awaits_response(&self) -> bool {
        self.before().is_some()
    }

    /// Whether the user asked for the last summary, so that it may save little.
    pub(crate) fn is_asked(&self) -> bool {
        self.summaries.last().is_some_and(|last| last.is_asked)
    }

    /// Tokens before the last summary, until a response shows how many are left.
    pub(crate) fn before(&self) -> Option<u64> {
        let last = self.summaries.last()?;
        last.after.is_none().then_some(last.before)
    }

    /// Number of the next summary.
    pub(crate) fn next_summary(&self) -> u32 {
        self.made.saturating_add(1)
    }

    /// Number of the last summary that stands; 0 if there is none, or its log does not number them.
    pub(crate) fn last_summary(&self) -> u32 {
        self.summaries.last().map_or(0, |last| last.number)
    }

    /// Tokens that the conversation has without its last summary, 0 if that is not known; none where it has no summary.
    #[must_use]
    pub fn without_summary(&self) -> Option<u64> {
        let last = self.summaries.last()?;
        let since = last
            .after
            .map_or(0, |after| self.tokens.saturating_sub(after));
        Some(match last.before {
            0 => 0,
            before => before.saturating_add(since),
        })
    }

    /// Whether so many summaries of this model failed in a row, or saved too little, that no more are made unasked.
    #[must_use]
    pub fn is_given_up(&self, model: &str) -> bool {
        self.failures(model) >= FAILURES
    }

    /// Whether this model takes back summaries in its provider's own form, as far as is known.
    #[must_use]
    pub fn reads_native(&self, model: &str) -> bool {
        self.unread_by.as_deref() != Some(model)
    }

    fn failures(&self, model: &str) -> u8 {
        match &self.failed {
            Some((of, failures)) if of == model => *failures,
            _ => 0,
        }
    }
}

/// Tokens that a summary of a conversation may have; where nobody counted those, any number.
pub(crate) fn most_left(tokens: u64) -> u64 {
    match tokens {
        0 => u64::MAX,
        tokens => tokens.saturating_mul(MOST_LEFT) / 100,
    }
}

/// Whether a summary is worth it, of a conversation that had `before` tokens, of which the summary has left so many.
pub(crate) fn saves_enough(left: u64, before: u64) -> bool {
    left <= most_left(before)
}
