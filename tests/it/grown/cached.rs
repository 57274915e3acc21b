//! What a provider's prompt cache makes of the long loop: all that requests share is read, never paid for again.

use std::time::Duration;

use aside_model_server::cache::{Cache, Cached};

use super::{
    body::Kind,
    long::{Exchange, play},
    side::{SIDES, Side},
};

const MINUTE: Duration = Duration::from_secs(60);

/// What each request reads and writes, so much time apart.
fn cached(side: Side, exchanges: &[Exchange], pace: Duration) -> Vec<Cached> {
    let mut cache = Cache::default();
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
fn check_reads(side: Side, settings: &str, pace: Duration) -> Cached {
    let exchanges = play(side, settings);
    let mut sum = Cached::default();
    let mut before: Option<u64> = None;
    for (at, (exchange, cached)) in exchanges
        .iter()
        .zip(cached(side, &exchanges, pace))
        .enumerate()
    {
        let Cached {
            read,
            written,
            long,
            new,
        } = cached;
        if let Some(before) = before {
            assert!(
                read >= before,
                "{} {at}: {cached:?}, before it {before}",
                side.model
            );
        }
        if exchange.kind == Kind::Turn {
            before = Some(read + written + new);
        }
        sum.read += read;
        sum.written += written;
        sum.long += long;
        sum.new += new;
    }
    sum
}

/// Two requests of an inquiry may stand between two of the turn, and only what is read lives on.
#[test]
fn everything_shared_is_read_within_a_short_life() {
    for (side, pace) in [(SIDES[0], 4 * MINUTE), (SIDES[1], 14 * MINUTE)] {
        let sum = check_reads(side, "", pace);
        assert_eq!(sum.long, 0, "{sum:?}");
        // Sixty-six requests, and hardly more is written than the last of them has.
        assert!(
            sum.written * 10 < sum.read && sum.new * 50 < sum.read,
            "{sum:?}"
        );
    }
}

#[test]
fn everything_shared_is_read_within_a_long_life() {
    for (side, pace) in [(SIDES[0], 55 * MINUTE), (SIDES[1], 350 * MINUTE)] {
        let sum = check_reads(side, "assistant.request.cache = \"long\"", pace);
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

/// Servers that keep the last request alone: what the turn's next request shares with it is read.
#[test]
fn servers_that_cache_unasked_read_everything_shared() {
    for side in [SIDES[2], SIDES[3], SIDES[4]] {
        let exchanges = play(side, "");
        let all = cached(side, &exchanges, Duration::from_secs(1));
        let mut before = 0;
        for (at, (exchange, cached)) in exchanges.iter().zip(all).enumerate() {
            // Gemini keeps nothing of less.
            let least = before < 4096;
            assert!(
                least || cached.read >= before,
                "{} {at}: {cached:?} {before}",
                side.model
            );
            if exchange.kind == Kind::Turn {
                before = cached.read + cached.written + cached.new;
            }
        }
        assert!(before > 4096, "{} {before}", side.model);
    }
}
