//! Numbers the items of a response whose parts arrive one after the other: text and reasoning in deltas, other items
//! whole.

use aside_turn::response::{Kind, Piece};

/// Assigns slots to items, and opens and closes them.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Number of items so far.
    count: u32,
    /// The open item: reasoning (`true`) or text (`false`).
    open: Option<bool>,
}

impl Slots {
    /// Appends text to the open item if it has this kind; otherwise opens a new one. Empty text is ignored.
    pub(super) fn say(&mut self, reasoning: bool, text: String, out: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        if self.open != Some(reasoning) {
            self.close(true, out);
            self.begin(text_kind(reasoning), out);
            self.open = Some(reasoning);
        }
        let slot = self.count - 1;
        out.push(Piece::Delta { slot, text });
    }

    /// Adds an item that arrived whole.
    pub(super) fn whole(
        &mut self,
        kind: Kind,
        text: &str,
        opaque: Option<String>,
        out: &mut Vec<Piece>,
    ) {
        self.close(true, out);
        let slot = self.begin(kind, out);
        if !text.is_empty() {
            let text = text.to_owned();
            out.push(Piece::Delta { slot, text });
        }
        out.push(Piece::Close {
            slot,
            opaque,
            complete: true,
        });
    }

    /// Closes the open item, if there is one.
    pub(super) fn close(&mut self, complete: bool, out: &mut Vec<Piece>) {
        if self.open.take().is_some() {
            out.push(Piece::Close {
                slot: self.count - 1,
                opaque: None,
                complete,
            });
        }
    }

    /// The number of the next item, for one that is opened elsewhere. Closes the open item first.
    pub(super) fn next(&mut self, out: &mut Vec<Piece>) -> &mut u32 {
        self.close(true, out);
        &mut self.count
    }

    fn begin(&mut self, kind: Kind, out: &mut Vec<Piece>) -> u32 {
        let slot = self.count;
        self.count += 1;
        out.push(Piece::Open { slot, kind });
        slot
    }
}

/// The kind of an item of words.
pub(super) fn text_kind(reasoning: bool) -> Kind {
    if reasoning {
        Kind::Reasoning
    } else {
        Kind::Text
    }
}
