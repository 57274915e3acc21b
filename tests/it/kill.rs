//! What a crash leaves: the program is killed at every place, and goes on.

mod between;
mod commands;
mod damage;
mod faults;
mod inside;
mod moments;
mod refused;
mod story;
mod strace;
mod teller;
mod whole;
