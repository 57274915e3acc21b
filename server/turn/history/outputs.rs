//! Outputs of calls that could be left out of requests.

use crate::record::CallKey;

/// Bytes from which on an output is large.
pub const LARGE: usize = 2 * 1024;

/// An output that could be left out: a large one of a call that succeeded, and about which no person was asked anything
/// that it may tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LargeOutput {
    /// Number of its turn in the conversation, from 1.
    pub turn: u32,
    /// Number of its response among those with calls, from 1.
    pub step: u32,
    /// Place of the call in the turn.
    pub call: CallKey,
    /// The tool that was called.
    pub tool: String,
    /// Bytes of the output.
    pub bytes: u64,
}
