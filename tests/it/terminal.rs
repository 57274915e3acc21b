//! `aside run`, `aside demo` and `aside trust` with a person at a real terminal: what the screen shows, what is typed,
//! and what comes of it.
//!
//! The screens stand in `terminal/*.txt`, as a person sees them. Where one changes on purpose,
//! `ASIDE_TEST_WRITE=1 cargo test --test it terminal` writes them anew.

mod ask_user;
mod asking;
mod background;
mod edits;
mod ending;
mod live;
mod local;
mod outlives;
mod outside;
mod person;
mod picture;
mod printed;
mod questions;
mod screen;
mod secrets;
mod servers;
mod states;
mod streams;
mod table;
mod together;
mod trust;
