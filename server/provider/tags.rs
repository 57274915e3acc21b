//! Reasoning that comes at the beginning of the text, between `<think>` and `</think>`: servers that models are run by
//! leave it there where they do not know the model's template, whichever API is spoken.

use std::collections::BTreeMap;

use aside_turn::response::{Kind, Piece};
use reqwest::Url;

use super::{api::Decoder, retry::ApiError};

const BEGIN: &str = "<think>";
const END: &str = "</think>";

/// Tells reasoning and text apart, however they are cut into portions.
#[derive(Debug, Default)]
pub(super) struct Tags {
    place: TagPosition,
    /// What may be a part of a tag.
    held: String,
    /// Line ends next to a tag belong to it.
    after_tag: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum TagPosition {
    #[default]
    Start,
    Inside,
    Text,
}

/// A portion of what was told apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TaggedText {
    Reasoning(String),
    Text(String),
}

impl Tags {
    /// There are none: all is text.
    pub(super) fn none() -> Self {
        Self {
            place: TagPosition::Text,
            ..Self::default()
        }
    }

    /// Takes a portion in. What cannot be told yet is held back: a few bytes at the most, and space at the start.
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

    /// Nothing follows: what was held back is what it looks like.
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

/// How many of the last bytes of a text may be the beginning of a tag.
fn begun(text: &str, tag: &str) -> usize {
    let most = text.len().min(tag.len() - 1);
    (1..=most)
        .rev()
        .find(|count| text.ends_with(&tag[..*count]))
        .unwrap_or(0)
}

/// Tells reasoning and text apart in what a decoder reads: in the first text of a response.
pub(super) struct TaggedDecoder {
    decoder: Box<dyn Decoder>,
    tags: Tags,
    /// Our slots of the decoder's.
    slots: BTreeMap<u32, u32>,
    /// Slots that were opened.
    opened: u32,
    first: FirstText,
}

/// How far the first text of a response is.
#[derive(Clone, Copy, Debug)]
enum FirstText {
    /// There is none so far.
    None,
    /// It began at this slot of the decoder's, and nothing of it can be told yet.
    Begun(u32),
    /// What came of it is reasoning, at this slot of ours.
    Reasons(u32, u32),
    /// What comes of it is text, at this slot of ours.
    Says {
        of: u32,
        slot: u32,
        /// Reasoning stood before it, so that what the provider says of it is not what is kept.
        reasoned: bool,
    },
    /// It ended.
    Ended,
}

impl TaggedDecoder {
    /// The decoder as it is where the server is this host, which keeps reasoning out of its texts.
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

    /// The slot of the text, which begins where it did not.
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
        if let Piece::Delta { slot, .. } | Piece::Close { slot, .. } = &mut piece {
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

    /// What comes of a text, cut in three in every way.
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
    fn reasoning_stands_between_tags_at_the_start_and_nowhere_else() {
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
