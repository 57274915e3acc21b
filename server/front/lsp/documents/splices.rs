//! A change of a document as a few small edits, so that cursors and marks elsewhere stay in place, and its comparison
//! with a later text. Pure.

use std::{ops::Range, time::Duration};

use similar::DiffTag;
use tower_lsp::lsp_types::{self as lsp, TextEdit};

use super::{
    super::client::counting::Counting,
    positions::{Positions, has_lone_return},
};

/// Time limit of the search for the smallest edits; larger ones are used then.
const LOOKED_FOR: Duration = Duration::from_millis(200);

/// A change of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Splices {
    base: String,
    /// Splices in order, not adjacent.
    all: Vec<Splice>,
}

/// Replacement of a part of the base.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Splice {
    /// Byte range in the base.
    range: Range<usize>,
    text: String,
}

/// Comparison of a text with a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EditsSeen {
    /// The base with the whole change.
    All,
    /// The base with the first or the last edits. Some clients report each edit separately.
    Some,
    /// Any other text, also the base alone.
    Otherwise,
}

impl Splices {
    /// The change from one text to another.
    pub(super) fn between(base: &str, new: &str) -> Self {
        let diff = similar::TextDiff::configure()
            .timeout(LOOKED_FOR)
            .diff_lines(base, new);
        let (old_lines, new_lines) = (ends(diff.iter_old_slices()), ends(diff.iter_new_slices()));
        let changed = diff.ops().iter().filter(|op| op.tag() != DiffTag::Equal);
        let all = changed.map(|op| {
            let bytes = |lines: Range<usize>, ends: &[usize]| ends[lines.start]..ends[lines.end];
            let old = bytes(op.old_range(), &old_lines);
            let new_text = &new[bytes(op.new_range(), &new_lines)];
            trimmed(base, old, new_text)
        });
        Self {
            all: all.collect(),
            base: base.to_owned(),
        }
    }

    /// The edits for LSP, as the client counts.
    pub(super) fn text_edits(&self, counting: Counting) -> Vec<TextEdit> {
        let mut positions = Positions::new(&self.base, counting);
        let edit = |splice: &Splice| TextEdit {
            range: lsp::Range {
                start: positions.of(splice.range.start),
                end: positions.of(splice.range.end),
            },
            new_text: splice.text.clone(),
        };
        self.all.iter().map(edit).collect()
    }

    /// Whether an edit brings a carriage return into a text whose line ends are not all `\r\n`.
    pub(super) fn brings_returns(&self) -> bool {
        let base = &self.base;
        let wide = base.matches("\r\n").count();
        let is_wide = wide > 0 && wide == base.matches('\n').count();
        let brings = |splice: &Splice| match is_wide {
            true => has_lone_return(&splice.text),
            false => splice.text.contains('\r'),
        };
        self.all.iter().any(brings)
    }

    /// Compares a text with the change.
    pub(super) fn made(&self, text: &str) -> EditsSeen {
        if self.is_with(&self.all, text) {
            return EditsSeen::All;
        }
        let some = (1..self.all.len()).any(|count| {
            self.is_with(&self.all[..count], text) || self.is_with(&self.all[count..], text)
        });
        if some {
            EditsSeen::Some
        } else {
            EditsSeen::Otherwise
        }
    }

    /// Whether the text is the base with these edits.
    fn is_with(&self, splices: &[Splice], text: &str) -> bool {
        let (mut rest, mut at) = (text, 0);
        for splice in splices {
            let kept = rest.strip_prefix(&self.base[at..splice.range.start]);
            let Some(after) = kept.and_then(|rest| rest.strip_prefix(splice.text.as_str())) else {
                return false;
            };
            (rest, at) = (after, splice.range.end);
        }
        rest == &self.base[at..]
    }
}

/// The start of each line, and the end of the last one.
fn ends<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<usize> {
    let mut ends = vec![0];
    let mut at = 0;
    for line in lines {
        at += line.len();
        ends.push(at);
    }
    ends
}

/// Removes common text at both ends. CR and LF stay together, because there is no position between them.
fn trimmed(base: &str, range: Range<usize>, new: &str) -> Splice {
    let old = &base[range.clone()];
    let same = |(a, b): &(char, char)| a == b;
    let length = |pairs: &mut dyn Iterator<Item = (char, char)>| -> usize {
        pairs.take_while(same).map(|(a, _)| a.len_utf8()).sum()
    };
    let mut front = length(&mut old.chars().zip(new.chars()));
    let breaks = old[front..].starts_with('\n') || new[front..].starts_with('\n');
    if breaks && old[..front].ends_with('\r') {
        front -= 1;
    }
    let (old_rest, new_rest) = (&old[front..], &new[front..]);
    let mut back = length(&mut old_rest.chars().rev().zip(new_rest.chars().rev()));
    let (old_cut, same_end) = old_rest.split_at(old_rest.len() - back);
    let breaks = old_cut.ends_with('\r') || new_rest[..new_rest.len() - back].ends_with('\r');
    if breaks && same_end.starts_with('\n') {
        back -= 1;
    }
    Splice {
        range: range.start + front..range.end - back,
        text: new_rest[..new_rest.len() - back].to_owned(),
    }
}

#[cfg(test)]
mod tests;
