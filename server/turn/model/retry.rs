//! Retries of failed requests: one policy for the turn's requests and its inquiries.

use std::time::Duration;

use crate::{
    model::response::{Failure, FailureClass},
    rules::Time,
    rules::limits::Limits,
};

/// The retries of one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Retries {
    attempts: u32,
    since: Option<Time>,
}

impl Retries {
    /// The delay before the next retry and its number; `None` to give up.
    pub fn next(
        &mut self,
        failure: &Failure,
        limits: &Limits,
        now: Time,
    ) -> Option<(u32, Duration)> {
        let first = match failure.class {
            FailureClass::Rate | FailureClass::Transient | FailureClass::Broken => {
                Duration::from_millis(500)
            }
            FailureClass::Overload => Duration::from_secs(2),
            _ => return None,
        };
        if self.attempts >= limits.retries {
            return None;
        }
        let backoff = (first * 2u32.pow(self.attempts.min(5))).min(Duration::from_secs(16));
        let wait = backoff.max(failure.retry_after.unwrap_or_default());
        let since = *self.since.get_or_insert(now);
        if now.saturating_sub(since) + wait > limits.retry_time {
            return None;
        }
        self.attempts += 1;
        Some((self.attempts, wait))
    }
}
