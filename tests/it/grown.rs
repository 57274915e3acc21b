//! How requests grow: what a conversation's requests share, in each API, and what goes out when a model does not do
//! as it was asked. The engine is the real one, on real files; the model is a server on loopback.

pub(crate) mod body;
mod cached;
mod ladder;
mod learned;
mod others;
mod run;

mod long;
mod loopback;

mod side;
mod structured;
