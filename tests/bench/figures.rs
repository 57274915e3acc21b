//! Medians and lines of figures.

use std::time::Duration;

/// The value below which this share of the values lies; `0.5` is the median. Microseconds.
pub(crate) fn share(values: &[Duration], share: f64) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index of a few thousand values"
    )]
    let at = ((sorted.len() - 1) as f64 * share).round() as usize;
    sorted[at].as_secs_f64() * 1e6
}

/// The median, in microseconds.
pub(crate) fn median(values: &[Duration]) -> f64 {
    share(values, 0.5)
}
