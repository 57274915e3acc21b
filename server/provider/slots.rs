//! The items of a response whose parts come one after the other: words that go on for as long as their kind does, and
//! items that come whole.

use aside_turn::response::{Kind, Piece};

/// Numbers items, and opens and closes them.
#[derive(Debug, Default)]
pub(super) struct Slots {
    /// Items so far.
    count: u32,
    /// The last one is open, and reasoning (`true`) or text.
    open: Option<bool>,
}

impl Slots {
    /// Adds words to the open item, if it is of this kind; else opens one. Nothing is nothing.
    pub(super) fn say(&mut self, reasoning: bool, text: String, out: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        if self.open != Some(reasoning) {
            self.close(true, out);
            self.begin(words(reasoning), out);
            self.open = Some(reasoning);
        }
        let slot = self.count - 1;
        out.push(Piece::Delta { slot, text });
    }

    /// Adds an item that came in one part.
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

    /// Closes the item that is open, if one is.
    pub(super) fn close(&mut self, complete: bool, out: &mut Vec<Piece>) {
        if self.open.take().is_some() {
            out.push(Piece::Close {
                slot: self.count - 1,
                opaque: None,
                complete,
            });
        }
    }

    fn begin(&mut self, kind: Kind, out: &mut Vec<Piece>) -> u32 {
        let slot = self.count;
        self.count += 1;
        out.push(Piece::Open { slot, kind });
        slot
    }
}

/// The kind of an item of words.
pub(super) fn words(reasoning: bool) -> Kind {
    if reasoning {
        Kind::Reasoning
    } else {
        Kind::Text
    }
}
