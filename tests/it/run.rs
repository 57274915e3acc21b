//! `aside run` and `aside demo`: the real program, on real files, with a script in the model's place.

mod answers;
mod bad_input;
mod conversation;
mod demo;
mod disk;
mod exit;
mod force;
mod hints;
mod hostile;
mod key;
mod log;
mod moved;
mod names;
mod output;
mod owners;
mod parking;
mod protected;
mod repository;
mod retry;
mod settings;
mod signals;
mod stdin;
mod told;
mod tools;
mod trust;
mod unseen;
