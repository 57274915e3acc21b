//! The turn as a specification: tables typed out from the rules, and conversations as text.

mod conversations;
mod deliver;
mod ends;
mod permit;
mod play;
mod routing;
mod storm;
mod table;
