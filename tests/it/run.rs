//! `aside run` and `aside demo`: the real program, on real files, with a script in the model's place.

mod demo;
