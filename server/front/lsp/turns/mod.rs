//! A turn for a client: how it begins, and what it tells the client.

pub(super) mod start;
mod view;
