//! An output whose head and tail are kept, however long it gets.

use aside_base::visible::printed;

use crate::{ToolContext, output::rest};

/// Number of bytes of one read.
pub(super) const CHUNK: usize = 64 << 10;

/// Head and tail of an output.
pub(crate) struct BoundedOutput {
    head: usize,
    tail: usize,
    /// Maximum number of bytes of the head.
    most: usize,
    start: Vec<u8>,
    end: Vec<u8>,
    total: u64,
}

impl BoundedOutput {
    /// Creates an empty output. The model is shown `head` and `tail` bytes of a longer one; `most` bytes of the start are
    /// kept.
    pub(super) fn new(head: usize, tail: usize, most: usize) -> Self {
        Self {
            head: head.min(most / 2),
            tail: tail.min(most / 2),
            most,
            start: vec![],
            end: vec![],
            total: 0,
        }
    }

    /// Number of bytes so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The kept start; everything, if no more came.
    pub(crate) fn start(&self) -> &[u8] {
        &self.start
    }

    /// Whether everything is kept.
    pub(crate) fn is_whole(&self) -> bool {
        self.total == self.start.len() as u64
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = self.most - self.start.len();
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.start.extend_from_slice(first);
        self.end.extend_from_slice(rest);
        // Cut in large steps, so that each byte is moved about once.
        if self.end.len() > self.tail + 4 * CHUNK {
            self.end.drain(..self.end.len() - self.tail);
        }
    }

    /// The text for the model: everything if it fits, or else head and tail, with the place of the rest or the reason why
    /// it was not kept.
    pub(crate) fn finish(mut self, context: &ToolContext) -> String {
        let (head, tail) = (self.head, self.tail);
        let shown = (head + tail) as u64;
        if self.total <= shown {
            return printed(&self.start);
        }
        if self.is_whole() {
            // Most of it may be bars of progress.
            let text = printed(&self.start);
            if text.len() as u64 <= shown {
                return text;
            }
        }
        let blob = (context.keep_blob)(&self.start);
        let cut = self.end.len().saturating_sub(tail);
        let mut last = self
            .start
            .split_off(self.start.len() - (tail - (self.end.len() - cut)));
        last.extend_from_slice(&self.end[cut..]);
        let kept = match self.total > self.most as u64 {
            true => format!("; its first {} MiB are kept", self.most >> 20),
            false => String::new(),
        };
        let (total, left_out) = (self.total, self.total - shown);
        let rest = rest(blob, head, &kept);
        format!(
            "{}\n[{left_out} of {total} bytes are left out here{rest}]\n{}",
            printed(&self.start[..head]),
            printed(&last)
        )
    }
}
