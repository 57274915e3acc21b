//! The turn as a specification: tables typed out from the rules, conversations as text, and races in random
//! worlds.

mod conversations;
mod deliver;
mod ends;
mod fold;
mod invariants;
mod permit;
mod play;
mod races;
mod routing;
mod storm;
mod swap;
mod table;
mod untold;
