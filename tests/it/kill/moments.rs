//! The program is killed at random moments, again and again, and the conversation goes on.
//!
//! `ASIDE_KILLS=2000 cargo test --test it -- kill::moments --nocapture` kills it so often.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::{story::STORY, teller::StoryTeller, whole};

/// Kills, unless somebody wants more.
const KILLS: usize = 12;

/// The longest that a turn of the story takes by itself.
fn longest() -> Duration {
    let mut teller = StoryTeller::new(false);
    let times = STORY.iter().map(|turn| {
        teller.begin();
        let begin = Instant::now();
        while !teller.go(turn, None) {}
        begin.elapsed()
    });
    times.max().expect("a turn")
}

/// Tells the story and kills it until there were enough kills.
fn tell(longest: Duration, kills: &AtomicUsize, wanted: usize) {
    let mut teller = StoryTeller::new(false);
    for (number, turn) in STORY.iter().enumerate() {
        teller.begin();
        // It may be killed behind the end of the turn.
        while teller.ended_turns() <= number {
            if kills.load(Ordering::Relaxed) >= wanted {
                teller.go(turn, None);
                continue;
            }
            let moment = longest.mul_f64(fastrand::f64());
            if teller.go_for(turn, moment) == -1 {
                kills.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
    whole::check(&teller.ground, STORY.len());
}

#[test]
#[expect(
    clippy::print_stderr,
    reason = "a figure for who reads along with --nocapture"
)]
fn killed_at_any_moment_a_conversation_goes_on() {
    let wanted =
        std::env::var("ASIDE_KILLS").map_or(KILLS, |kills| kills.parse().expect("a number"));
    let longest = longest();
    let (kills, told) = (AtomicUsize::new(0), AtomicUsize::new(0));
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while kills.load(Ordering::Relaxed) < wanted {
                    tell(longest, &kills, wanted);
                    told.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    });
    eprintln!(
        "{} kills in {} conversations: 0 cannot be opened, 0 words lost, 0 requests refused",
        kills.into_inner(),
        told.into_inner()
    );
}
