//! One turn of the agent, as three small state machines: the turn, its calls, its inquiries.
//!
//! Invariant: nothing here reads a clock, a file, a socket or the environment. Time comes in with each
//! [`Input`]; work goes out as an [`Effect`].

mod answer;
mod ask;
pub mod attachment;
mod broken;
mod call;
mod context;
mod cycle;
mod delivery;
pub mod effect;
pub mod force;
pub mod history;
pub mod input;
mod inquiries;
pub mod inquiry;
mod ladder;
pub mod limits;
pub mod model_text;
mod permission;
pub mod permit;
mod prompt;
pub mod question;
pub mod record;
pub mod response;
mod restore;
pub mod resume;
pub mod retry;
pub mod route;
pub mod rules;
mod run;
pub mod transcript;
pub mod turn;

pub use effect::Effect;
pub use input::Input;
pub use record::{self as event, Event};
pub use turn::{Setup, Turn};
