//! What a provider's prompt cache makes of the long loop: all that requests share is read, never paid for again.

use std::time::Duration;

use aside_model_server::{
    ServedApi,
    cache::{CachedTokens, PromptCache},
};

use super::{
    body::RequestPurpose,
    long::{Exchange, play},
    side::{SIDES, Side},
};

const MINUTE: Duration = Duration::from_secs(60);

/// What each request reads and writes, so much time apart.
fn cached(side: Side, exchanges: &[Exchange], pace: Duration) -> Vec<CachedTokens> {
    let mut cache = PromptCache::default();
    let mut now = Duration::ZERO;
    let mut ask = |exchange: &Exchange| {
        now += pace;
        let body = &exchange.received.json;
        let (ticket, cached) = cache.request(side.api, side.wire(), body, now);
        cache.started(ticket);
        cached
    };
    exchanges.iter().map(&mut ask).collect()
}

/// From the second request on, everything that the turn's request before had is read. Returns how many tokens were
/// read, written, written for long, and neither.
fn check_reads(side: Side, exchanges: &[Exchange], pace: Duration) -> CachedTokens {
    let least = if side.api == ServedApi::Gemini {
        4096
    } else {
        0
    };
    let mut sum = CachedTokens::default();
    let mut before: Option<u64> = None;
    for (at, (exchange, cached)) in exchanges
        .iter()
        .zip(cached(side, exchanges, pace))
        .enumerate()
    {
        let CachedTokens {
            read,
            written,
            long,
            new,
        } = cached;
        if let Some(before) = before.filter(|before| *before >= least) {
            assert!(
                read >= before,
                "{} {at}: {cached:?}, before it {before}",
                side.model
            );
        }
        if exchange.kind == RequestPurpose::Turn {
            before = Some(read + written + new);
        }
        sum.read += read;
        sum.written += written;
        sum.long += long;
        sum.new += new;
    }
    assert!(sum.read > 100 * least, "{sum:?}");
    sum
}

/// The loop as it is played where nobody says how long to keep it. Two requests of an inquiry may stand between two of
/// the turn, and what is not read meanwhile ages.
pub(super) fn check_short(side: Side, exchanges: &[Exchange]) {
    let pace = match side.api {
        ServedApi::Anthropic => 4 * MINUTE,
        ServedApi::OpenaiResponses => 14 * MINUTE,
        _ => Duration::from_secs(1),
    };
    let sum = check_reads(side, exchanges, pace);
    assert_eq!(sum.long, 0, "{sum:?}");
    // Sixty-six requests, and hardly more is paid for than the last of them has.
    assert!(
        (sum.written + sum.new) * 10 < sum.read,
        "{} {sum:?}",
        side.model
    );
}

#[test]
fn everything_shared_is_read_within_a_long_life() {
    for (side, pace) in [(SIDES[0], 55 * MINUTE), (SIDES[1], 350 * MINUTE)] {
        let exchanges = play(side, "assistant.request.cache = \"long\"");
        let sum = check_reads(side, &exchanges, pace);
        assert_eq!(sum.long, sum.written, "{sum:?}");
    }
}

#[test]
fn nothing_is_written_where_the_user_wants_no_cache() {
    for side in [SIDES[0], SIDES[1]] {
        let exchanges = play(side, "assistant.request.cache = \"off\"");
        for cached in cached(side, &exchanges, Duration::from_secs(1)) {
            assert_eq!([cached.read, cached.written], [0, 0], "{}", side.model);
        }
    }
}
