//! Summaries while nobody writes: of which conversations, and after which time.

use std::time::Duration;

use aside_turn::{
    Event,
    history::fullness::Fullness,
    idle::summary_due,
    response::{Finish, Usage},
    rules::{CachePrices, CompactionRule, Rules},
};

use crate::play::PRICES;

/// A conversation of so many tokens.
fn holding(input: u64) -> Fullness {
    let mut fullness = Fullness::default();
    fullness.apply(&Event::ResponseEnd {
        finish: Some(Finish::Stop),
        usage: Usage {
            input,
            ..Usage::default()
        },
    });
    fullness
}

fn due(tokens: u64, set: impl Fn(&mut Rules)) -> Option<u64> {
    let mut rules = Rules::default();
    rules.model.id = "house/model".into();
    rules.model.compacts_at = Some(160_000);
    rules.model.cache_life = Some(Duration::from_secs(300));
    rules.model.cache_prices = Some(PRICES);
    set(&mut rules);
    summary_due(&holding(tokens), &rules).map(|due| due.as_secs())
}

#[test]
fn a_long_conversation_is_summarised_before_its_cache_expires_where_that_saves_money() {
    let as_is = |_: &mut Rules| {};
    assert_eq!(due(120_000, as_is), Some(240));
    let long = |rules: &mut Rules| rules.model.cache_life = Some(Duration::from_secs(3_600));
    assert_eq!(due(120_000, long), Some(2_880));
    // One that is less than half full is left alone.
    assert_eq!(due(80_000, as_is), None);
    assert_eq!(due(80_001, as_is), Some(240));
    // Nobody counted it.
    assert_eq!(due(0, as_is), None);
    // In a small window the summary costs as much as it saves.
    let small = |rules: &mut Rules| rules.model.compacts_at = Some(32_000);
    assert_eq!(due(17_000, small), None);
    assert_eq!(due(60_000, small), Some(240));
}

#[test]
fn nothing_is_summarised_unasked_that_costs_nothing_or_of_which_nobody_knows_how_long_it_is_kept() {
    let check = |why: &str, set: &dyn Fn(&mut Rules)| assert_eq!(due(120_000, set), None, "{why}");
    check("nobody sells the cache", &|rules| {
        rules.model.cache_prices = None
    });
    check("nobody knows for how long", &|rules| {
        rules.model.cache_life = None
    });
    check("nothing is kept", &|rules| {
        rules.model.cache_life = Some(Duration::ZERO)
    });
    check("the window is not known", &|rules| {
        rules.model.compacts_at = None
    });
    check("only when it is full", &|rules| {
        rules.compaction = CompactionRule::Full
    });
    check("never", &|rules| rules.compaction = CompactionRule::Off);
    let dear = CachePrices {
        read: PRICES.write,
        ..PRICES
    };
    check("reading costs as much", &|rules| {
        rules.model.cache_prices = Some(dear)
    });
    // What is left of a conversation has to be written to the cache again.
    let dear = CachePrices {
        read: PRICES.write * 65 / 100,
        ..PRICES
    };
    let set = |rules: &mut Rules| rules.model.cache_prices = Some(dear);
    assert_eq!(due(2_000_000, set), None);
}

#[test]
fn a_model_that_could_not_summarise_it_three_times_is_not_asked_while_nobody_writes() {
    let mut fullness = holding(120_000);
    let mut rules = Rules::default();
    rules.model.id = "house/model".into();
    rules.model.compacts_at = Some(160_000);
    rules.model.cache_life = Some(Duration::from_secs(300));
    rules.model.cache_prices = Some(PRICES);
    for failures in 0..3 {
        assert!(summary_due(&fullness, &rules).is_some(), "{failures}");
        fullness.apply(&Event::CompactionFailed {
            model: "house/model".into(),
            reason: "empty".into(),
        });
    }
    assert_eq!(summary_due(&fullness, &rules), None);
}
