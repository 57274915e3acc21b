//! The output items of a response, as far as they were received.

use aside_turn::response::Piece;
use serde_json::value::RawValue;

use super::wire::{TypedEvent, read};
use crate::calls::EndedCall;

/// An output item being received.
#[derive(Debug)]
pub(super) struct StreamedItem {
    /// Index in the provider's output.
    pub(super) index: u64,
    /// The provider's id of the item; servers that send no index use it. Empty if there is none.
    pub(super) id: String,
    pub(super) place: ItemPlace,
    /// Text received so far; of a call, the arguments that came with its start.
    pub(super) text: String,
    /// The part of the reasoning that received the last delta.
    pub(super) part: Option<(&'static str, u64)>,
    pub(super) open: bool,
}

/// What an item belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum ItemPlace {
    /// This slot.
    Slot(u32),
    /// The call at this position.
    Call(usize),
}

/// The item of a call as it ended.
#[derive(Debug)]
pub(super) struct EndedItem {
    pub(super) at: usize,
    pub(super) arguments: String,
    /// Whether the item is complete.
    pub(super) complete: bool,
    pub(super) raw: String,
}

/// Whether an item is a call.
pub(super) fn is_call(raw: &RawValue) -> bool {
    let TypedEvent { r#type, .. } = read(raw.get()).unwrap_or_default();
    r#type == "function_call"
}

impl EndedItem {
    /// Whether the item says of the call what will run: the arguments that run must go back, under their id.
    pub(super) fn is_verbatim(&self, call: &EndedCall<'_>) -> bool {
        self.arguments.trim() == call.text.trim() && call.given == call.id
    }
}

impl StreamedItem {
    pub(super) fn add(&mut self, slot: u32, text: &str, out: &mut Vec<Piece>) {
        if text.is_empty() {
            return;
        }
        self.text.push_str(text);
        out.push(Piece::Delta {
            slot,
            text: text.to_owned(),
        });
    }
}
