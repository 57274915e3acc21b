//! The turn as a specification: tables typed out from the rules, conversations as text, and races in random
//! worlds.

mod call_history;
mod causes;
mod clearing;
mod conversations;
mod deliver;
mod ends;
mod events;
mod fold;
mod idle;
mod invariants;
mod log_failures;
mod loops;
mod permit;
mod play;
mod races;
mod record;
mod resumes;
mod routing;
mod storm;
mod swap;
mod table;
mod transcript;
mod untold;
mod words;
