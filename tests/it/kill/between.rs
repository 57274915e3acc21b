//! The program is killed between each pair of events, again and again, and the conversation goes on.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
};

use super::{story::STORY, teller::StoryTeller, wants_all, whole};

/// Kills between each pair of kinds, at the least.
pub(super) fn enough() -> usize {
    if wants_all() { 10 } else { 2 }
}

/// Conversations at the most, until there are enough.
const MOST: usize = 60;

pub(super) type Pair = (String, String);

/// The kinds of events that each turn of the story has where nobody kills it.
type Reference = Vec<Vec<String>>;

#[derive(Default)]
struct Kills {
    pairs: BTreeMap<Pair, usize>,
    all: usize,
}

#[test]
fn killed_between_any_two_events_a_conversation_goes_on() {
    let reference = told_once();
    // What runs side by side may come in another order each time; what always comes counts.
    let mut wanted = pairs(&reference);
    for _ in 0..2 {
        let again = pairs(&told_once());
        wanted.retain(|pair| again.contains(pair));
    }
    let kills = Mutex::new(Kills::default());
    let next = AtomicUsize::new(0);
    let is_over = |kills: &Kills| {
        wanted
            .iter()
            .all(|pair| kills.pairs.get(pair).is_some_and(|n| *n >= enough()))
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().unwrap().get().min(4) {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= MOST || is_over(&kills.lock().unwrap()) {
                        break;
                    }
                    tell(&reference, &kills, number % 4 == 3);
                }
            });
        }
    });
    let kills = kills.into_inner().unwrap();
    let told = next.into_inner().min(MOST);
    print(&kills, told, &wanted);
    let lacking: Vec<_> = wanted
        .iter()
        .filter(|pair| kills.pairs.get(*pair).is_none_or(|n| *n < enough()))
        .collect();
    assert!(
        lacking.is_empty(),
        "not killed {} times between {lacking:?}",
        enough()
    );
}

/// Between which kinds it was killed, and how often.
#[expect(
    clippy::print_stderr,
    reason = "a table for who reads along with --nocapture"
)]
fn print(kills: &Kills, told: usize, wanted: &HashSet<Pair>) {
    eprintln!("{} kills in {told} conversations", kills.all);
    for (pair, count) in &kills.pairs {
        let mark = if wanted.contains(pair) {
            ""
        } else {
            "  (not in each reference)"
        };
        eprintln!("{count:5}  {} → {}{mark}", pair.0, pair.1);
    }
}

/// The story without a kill.
fn told_once() -> Reference {
    let mut teller = StoryTeller::new(false);
    let mut told = Vec::new();
    for turn in &STORY {
        teller.begin();
        while !teller.go(turn, None) {}
        told.push(teller.kinds()[teller.before..].to_vec());
    }
    whole::check(&teller.ground, STORY.len());
    told
}

fn pairs(reference: &Reference) -> HashSet<Pair> {
    let all = reference.concat();
    all.windows(2)
        .map(|two| (two[0].clone(), two[1].clone()))
        .collect()
}

/// Tells the story, and kills it wherever that was not done often enough.
fn tell(reference: &Reference, kills: &Mutex<Kills>, hasty: bool) {
    let mut teller = StoryTeller::new(hasty);
    for (turn, expected) in STORY.iter().zip(reference) {
        teller.begin();
        for tries in 0.. {
            assert!(tries < 200, "it does not get on: {:?}", teller.kinds());
            let at = teller.next_place(expected, &kills.lock().unwrap().pairs);
            if teller.go(turn, at) {
                break;
            }
            if let Some(pair) = teller.killed.take() {
                let mut kills = kills.lock().unwrap();
                kills.all += 1;
                *kills.pairs.entry(pair).or_default() += 1;
            }
        }
    }
    whole::check(&teller.ground, STORY.len());
}
