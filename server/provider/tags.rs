//! Separates `<think>…</think>` reasoning from the text of a response. Servers of local models leave it there if they
//! do not know the model's template, in every API.

use std::collections::BTreeMap;

use aside_turn::response::{Kind, Piece};
use reqwest::Url;

use super::{api::Decoder, retry::ApiError};

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// Separates reasoning from text, for any split into deltas.
#[derive(Debug, Default)]
pub(super) struct Tags {
    place: TagPosition,
    /// Text that may be part of a tag.
    held: String,
    /// Whether a tag was just read: line ends after it belong to it.
    after_tag: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TagPosition {
    #[default]
    Start,
    Inside,
    Text,
}

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaggedText {
    Reasoning(String),
    Text(String),
}

impl Tags {
    /// A separator for text without tags.
    pub(super) fn none() -> Self {
        Self {
            place: TagPosition::Text,
            ..Self::default()
        }
    }

    /// Adds a delta. Text that may belong to a tag is delayed: a few bytes, or white space at the start.
    pub(super) fn take(&mut self, portion: &str) -> Vec<TaggedText> {
        let mut parts = Vec::new();
        let mut rest = std::mem::take(&mut self.held);
        rest.push_str(portion);
        if self.place == TagPosition::Start {
            let begun = rest.trim_start();
            if let Some(inside) = begun.strip_prefix(BEGIN) {
                rest = inside.to_owned();
                self.place = TagPosition::Inside;
                self.after_tag = true;
            } else if BEGIN.starts_with(begun) {
                self.held = rest;
                return parts;
            } else {
                self.place = TagPosition::Text;
            }
        }
        if self.place == TagPosition::Inside {
            match rest.split_once(END) {
                Some((reasoning, text)) => {
                    self.give(reasoning, TaggedText::Reasoning, &mut parts);
                    rest = text.to_owned();
                    self.place = TagPosition::Text;
                    self.after_tag = true;
                }
                None => {
                    self.held = rest.split_off(rest.len() - begun(&rest, END));
                    self.give(&rest, TaggedText::Reasoning, &mut parts);
                    return parts;
                }
            }
        }
        self.give(&rest, TaggedText::Text, &mut parts);
        parts
    }

    /// Ends the text and returns what was delayed, as reasoning or text.
    pub(super) fn end(&mut self) -> Option<TaggedText> {
        let held = std::mem::take(&mut self.held);
        let part = match std::mem::replace(&mut self.place, TagPosition::Text) {
            TagPosition::Inside => TaggedText::Reasoning,
            TagPosition::Start | TagPosition::Text => TaggedText::Text,
        };
        (!held.is_empty()).then(|| part(held))
    }

    fn give(&mut self, text: &str, part: fn(String) -> TaggedText, parts: &mut Vec<TaggedText>) {
        let text = if self.after_tag {
            text.trim_start_matches(['\n', '\r'])
        } else {
            text
        };
        if !text.is_empty() {
            self.after_tag = false;
            parts.push(part(text.to_owned()));
        }
    }
}

/// Number of bytes at the end of a text that may be the beginning of a tag.
fn begun(text: &str, tag: &str) -> usize {
    let most = text.len().min(tag.len() - 1);
    (1..=most)
        .rev()
        .find(|count| text.ends_with(&tag[..*count]))
        .unwrap_or(0)
}

/// Separates reasoning from the first text of a response, in the output of another decoder.
pub(super) struct TaggedDecoder {
    decoder: Box<dyn Decoder>,
    tags: Tags,
    /// Our slots, by slots of the inner decoder.
    slots: BTreeMap<u32, u32>,
    /// Number of slots that were opened.
    opened: u32,
    first: FirstText,
}

/// State of the first text of a response. `u32` values are a slot of the inner decoder, then one of ours.
#[derive(Clone, Copy, Debug)]
enum FirstText {
    /// No text so far.
    None,
    /// The text began, and nothing can be decided yet.
    Begun(u32),
    /// The text so far is reasoning.
    Reasons(u32, u32),
    /// The text continues as text.
    Says {
        of: u32,
        slot: u32,
        /// Whether reasoning preceded it. The provider's own data then does not match the item and is dropped.
        reasoned: bool,
    },
    /// The text ended.
    Ended,
}

impl TaggedDecoder {
    /// Wraps the decoder, unless the server is `host`, which never mixes reasoning into its texts.
    pub(super) fn unless_at(host: &str, base: &Url, decoder: Box<dyn Decoder>) -> Box<dyn Decoder> {
        if base.host_str() == Some(host) {
            return decoder;
        }
        Box::new(Self {
            decoder,
            tags: Tags::default(),
            slots: BTreeMap::new(),
            opened: 0,
            first: FirstText::None,
        })
    }

    fn pass(&mut self, pieces: Vec<Piece>, out: &mut Vec<Piece>) {
        for piece in pieces {
            match (piece, self.first) {
                (
                    Piece::Open {
                        slot,
                        kind: Kind::Text,
                    },
                    FirstText::None,
                ) => {
                    self.first = FirstText::Begun(slot);
                }
                (Piece::Open { slot, kind }, _) => {
                    let ours = self.open(kind, out);
                    self.slots.insert(slot, ours);
                }
                (Piece::Delta { slot, text }, first) if first.is(slot) => {
                    for part in self.tags.take(&text) {
                        self.part(slot, part, out);
                    }
                }
                (
                    Piece::Close {
                        slot,
                        opaque,
                        complete,
                    },
                    first,
                ) if first.is(slot) => self.close(slot, opaque, complete, out),
                (piece, _) => out.push(self.renumbered(piece)),
            }
        }
    }

    fn open(&mut self, kind: Kind, out: &mut Vec<Piece>) -> u32 {
        let slot = self.opened;
        self.opened += 1;
        out.push(Piece::Open { slot, kind });
        slot
    }

    fn part(&mut self, of: u32, part: TaggedText, out: &mut Vec<Piece>) {
        let (slot, text) = match part {
            TaggedText::Reasoning(text) => {
                let slot = match self.first {
                    FirstText::Reasons(_, slot) => slot,
                    _ => self.open(Kind::Reasoning, out),
                };
                self.first = FirstText::Reasons(of, slot);
                (slot, text)
            }
            TaggedText::Text(text) => (self.says(of, out), text),
        };
        out.push(Piece::Delta { slot, text });
    }

    /// The slot of the text, which is opened if necessary.
    fn says(&mut self, of: u32, out: &mut Vec<Piece>) -> u32 {
        let reasoned = match self.first {
            FirstText::Says { slot, .. } => return slot,
            FirstText::Reasons(_, slot) => {
                out.push(closed(slot, None, true));
                true
            }
            _ => false,
        };
        let slot = self.open(Kind::Text, out);
        self.first = FirstText::Says { of, slot, reasoned };
        slot
    }

    fn close(&mut self, of: u32, opaque: Option<String>, complete: bool, out: &mut Vec<Piece>) {
        if let Some(part) = self.tags.end() {
            self.part(of, part, out);
        }
        if let FirstText::Reasons(_, slot) = self.first {
            out.push(closed(slot, None, complete));
        } else {
            let slot = self.says(of, out);
            let reasoned = matches!(self.first, FirstText::Says { reasoned: true, .. });
            out.push(closed(slot, opaque.filter(|_| !reasoned), complete));
        }
        self.first = FirstText::Ended;
    }

    fn renumbered(&self, mut piece: Piece) -> Piece {
        if let Piece::Delta { slot, .. } | Piece::Anew { slot, .. } | Piece::Close { slot, .. } =
            &mut piece
        {
            *slot = self.slots.get(slot).copied().unwrap_or(*slot);
        }
        piece
    }
}

impl FirstText {
    fn is(self, other: u32) -> bool {
        match self {
            Self::Begun(of) | Self::Reasons(of, _) | Self::Says { of, .. } => of == other,
            Self::None | Self::Ended => false,
        }
    }
}

fn closed(slot: u32, opaque: Option<String>, complete: bool) -> Piece {
    Piece::Close {
        slot,
        opaque,
        complete,
    }
}

impl Decoder for TaggedDecoder {
    fn event(&mut self, data: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        let mut pieces = Vec::new();
        let read = self.decoder.event(data, &mut pieces);
        self.pass(pieces, out);
        read
    }

    fn end(&mut self, stray: &str, out: &mut Vec<Piece>) -> Result<(), ApiError> {
        let mut pieces = Vec::new();
        let read = self.decoder.end(stray, &mut pieces);
        self.pass(pieces, out);
        read
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the parts of a text, for every split in three.
    fn check(text: &str, reasoning: &str, words: &str) {
        let places: Vec<usize> = (0..=text.len())
            .filter(|at| text.is_char_boundary(*at))
            .collect();
        for (from, to) in places
            .iter()
            .flat_map(|from| places.iter().map(move |to| (*from, *to)))
            .filter(|(from, to)| from <= to)
        {
            let mut tags = Tags::default();
            let mut parts = Vec::new();
            for portion in [&text[..from], &text[from..to], &text[to..]] {
                parts.extend(tags.take(portion));
            }
            parts.extend(tags.end());
            let (mut found, mut said) = (String::new(), String::new());
            for part in parts {
                match part {
                    TaggedText::Reasoning(text) => found += &text,
                    TaggedText::Text(text) => said += &text,
                }
            }
            assert_eq!(
                (found.as_str(), said.as_str()),
                (reasoning, words),
                "{text:?} cut at {from} and {to}"
            );
        }
    }

    #[test]
    fn only_leading_think_tags_are_reasoning() {
        let cases = [
            ("<think>\nHm €</think>\n\nYes.", "Hm €", "Yes."),
            (" \n<think>a < b</think>c", "a < b", "c"),
            ("<think></think>\nYes.", "", "Yes."),
            ("<think>a</thin", "a</thin", ""),
            ("Say <think>x</think>", "", "Say <think>x</think>"),
            ("<thin ice>", "", "<thin ice>"),
            ("<thi", "", "<thi"),
            (" \n", "", " \n"),
            ("<think>a</think>b</think>", "a", "b</think>"),
            ("", "", ""),
        ];
        for (text, reasoning, words) in cases {
            check(text, reasoning, words);
        }
    }
}
