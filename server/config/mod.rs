//! `aside.toml`: layers, where each value comes from, trust.
