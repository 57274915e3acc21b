//! `aside run` and `aside demo`: the real program, on real files, with a script in the model's place.

mod answers;
mod bad_input;
mod conversation;
mod demo;
mod disk;
mod exit;
mod force;
mod output;
mod parking;
mod repository;
mod retry;
mod signals;
mod tools;
mod trust;
