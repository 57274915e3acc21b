//! One turn of the agent, as three small state machines: the turn, its calls, its inquiries.
//!
//! Invariant: nothing here reads a clock, a file, a socket or the environment. Time comes in with each
//! [`Input`]; work goes out as an [`Effect`].

pub mod effect;
pub mod event;
pub mod input;
pub mod inquiry;
pub mod limits;
pub mod question;
pub mod response;
pub mod rules;
pub mod transcript;

pub use effect::Effect;
pub use event::Event;
pub use input::Input;
