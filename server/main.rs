//! `aside`: chooses a front end.

fn main() {}
