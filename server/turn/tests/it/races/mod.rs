//! Races are permutations: random worlds around a turn, in which everything that may happen happens in any order,
//! and a watcher that knows the rules and not the machine.
//!
//! `ASIDE_RACES` sets how many sequences are played (200,000), `ASIDE_RACE_SEED` plays one of them alone.

mod between;
mod checker;
mod count;
mod ends;
mod history;
mod model;
mod person;
mod questions;
mod record;
mod rules;
mod seen;
mod tape;
mod text;
mod tools;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use count::Counts;
use tape::Tape;
use world::World;

/// What one sequence came to.
struct Played {
    failure: Option<String>,
    counts: Counts,
    text: String,
    tape: Vec<u16>,
}

#[test]
fn races() {
    if let Some(seed) = number("ASIDE_RACE_SEED") {
        return explain(seed, &play(Tape::of_seed(seed), false));
    }
    let sequences = number("ASIDE_RACES").unwrap_or(200_000);
    let half = sequences / 2;
    let counts = std::thread::scope(|scope| {
        let first = scope.spawn(|| play_all(0..half));
        let mut counts = play_all(half..sequences);
        match first.join() {
            Ok(others) => counts.merge(others),
            Err(panic) => std::panic::resume_unwind(panic),
        }
        counts
    });
    // 200 times in 200,000; fewer sequences are for a quick look, and chance weighs more there.
    let missing = counts.missing(if sequences < 200_000 { 1 } else { 200 });
    assert!(
        missing.is_empty(),
        "seldom reached:\n{}",
        missing.join("\n")
    );
}

/// Looked for: a person's answer that settles another call's prompt too. Nothing of the sequence that is not
/// needed for it is left.
#[test]
fn what_is_found_shrinks_to_a_conversation() {
    let found = |tape: &[u16]| {
        let played = play(Tape::replay(tape), false);
        played.counts.of("remembered spread") > 0
    };
    let tapes = (0..).map(|seed| play(Tape::of_seed(seed), false).tape);
    // How far one of them shrinks is chance.
    let shrunk = tapes.filter(|tape| found(tape)).take(3).map(|tape| {
        let shrunk = tape::shrink(tape.clone(), found);
        (tape, shrunk)
    });
    let (tape, shrunk) = shrunk
        .min_by_key(|(_, shrunk)| shrunk.len())
        .expect("some are found");
    let text = play(Tape::replay(&shrunk), true).text;
    assert!(text.contains("by: Remembered"), "{text}");
    assert!(
        shrunk.len() < tape.len() / 2,
        "{} of {}",
        shrunk.len(),
        tape.len()
    );
    assert!(text.lines().count() < 80, "{text}");
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

fn play_all(seeds: std::ops::Range<u64>) -> Counts {
    let mut counts = Counts::default();
    for seed in seeds {
        let played = play(Tape::of_seed(seed), false);
        explain(seed, &played);
        counts.merge(played.counts);
    }
    counts
}

fn play(tape: Tape, read: bool) -> Played {
    let mut world = World::new(tape, read);
    let survived = catch_unwind(AssertUnwindSafe(|| world.play()));
    if let Err(panic) = survived {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
        world.checker.failure = Some(format!("a panic: {}", text.unwrap_or_default()));
    }
    Played {
        failure: world.checker.failure,
        counts: world.checker.counts,
        text: world.text.unwrap_or_default().join("\n"),
        tape: world.tape.into_values(),
    }
}

/// Fails with the simplest conversation that breaks a rule like this sequence does.
fn explain(seed: u64, played: &Played) {
    let Some(failure) = &played.failure else {
        return;
    };
    let kind = kind_of(failure);
    let fails = |tape: &[u16]| {
        let again = play(Tape::replay(tape), false);
        again
            .failure
            .is_some_and(|failure| kind_of(&failure) == kind)
    };
    // Panics that are looked for need not be told each time.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let tape = tape::shrink(played.tape.clone(), fails);
    std::panic::set_hook(hook);
    let told = play(Tape::replay(&tape), true);
    let why = told.failure.unwrap_or_default();
    panic!(
        "seed {seed}: {failure}\n{}\nbroken: {why}\n(ASIDE_RACE_SEED={seed} plays it again)",
        told.text
    );
}

/// The words of a failure that do not depend on names and numbers.
fn kind_of(failure: &str) -> String {
    failure
        .split([' ', ':'])
        .filter(|word| word.chars().all(|letter| letter.is_ascii_lowercase()))
        .take(6)
        .collect()
}
