//! The disk refuses a line of the log: what was announced before is done, nothing after it is, and the turn goes on when
//! there is room again.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::{
    Sample,
    inside::ends,
    story::{STORY, StoryGround, side_by_side},
    strace::{At, kill},
    whole,
};
use crate::world::ProgramResult;

/// More lines than a turn of the story has.
const LINES: usize = 80;

/// Plays the first turn where the n-th line to the log fails.
fn refused(error: &'static str, n: usize) -> (StoryGround, ProgramResult) {
    let ground = StoryGround::new();
    let done = kill(
        &ground,
        &ground.args(&STORY[0], false),
        At::Refused(error, n),
    )
    .done;
    (ground, done)
}

/// Refuses lines, one in each run.
fn refuses(error: &'static str, sample: &Sample) {
    let (refusals, lines) = (AtomicUsize::new(0), AtomicUsize::new(LINES));
    side_by_side(sample.count(LINES), |n| {
        let place = sample.place(n);
        if place > lines.load(Ordering::Relaxed) {
            return;
        }
        let (ground, done) = refused(error, place + 1);
        if done.code == 0 {
            // There is no such line, and none behind it.
            lines.fetch_min(place, Ordering::Relaxed);
            return whole::check(&ground, 1);
        }
        refusals.fetch_add(1, Ordering::Relaxed);
        done.exits(1).says("cannot write the conversation's log: ");
        ends(&ground, &STORY[0]);
        whole::check(&ground, 1);
    });
    let refusals = refusals.into_inner();
    let (fewest, most) = (20 / sample.step, sample.count(LINES));
    assert!((fewest..most).contains(&refusals), "{refusals}");
}

#[test]
fn a_line_for_which_there_is_no_room_stops_the_turn_and_loses_nothing() {
    refuses("ENOSPC", &Sample::one_in(3));
}

#[test]
fn a_line_that_the_disk_cannot_take_stops_the_turn_and_loses_nothing() {
    refuses("EIO", &Sample::one_in(6));
}

#[test]
fn a_write_that_was_interrupted_is_made_again() {
    let sample = Sample::one_in(8);
    side_by_side(sample.count(LINES / 2), |n| {
        let (ground, done) = refused("EINTR", sample.place(n) + 1);
        done.exits(0);
        whole::check(&ground, 1);
    });
}
