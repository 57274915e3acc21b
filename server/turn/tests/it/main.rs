//! The tests of the turn.

mod races;
