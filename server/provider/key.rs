//! A provider's key or another secret of its requests: a type that is never printed.

use std::fmt;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use http::HeaderValue;

/// Replacement for a key.
const HIDDEN: &str = "[hidden]";
/// Minimum length of a text that is removed: no ordinary word may be taken for a key.
const MIN_HIDDEN: usize = 8;
/// Blanks that may stand between two characters of a key that is removed.
const GAP: usize = 3;

/// A provider's key.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// Trims white space around the key.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self(text.trim().to_owned())
    }

    /// Whether the key is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Removes the key from a text: the whole key, its base64 form, also with blanks inside, or the beginning of it at
    /// the end of a truncated text.
    #[must_use]
    pub fn hide(&self, text: &str) -> String {
        let mut shown = self.spellings().hide(text);
        let begun = (MIN_HIDDEN..self.0.len())
            .rev()
            .filter_map(|end| self.0.get(..end))
            .find(|begun| shown.ends_with(begun));
        if let Some(begun) = begun {
            shown.truncate(shown.len() - begun.len());
            shown += HIDDEN;
        }
        shown
    }

    /// All texts that the key is removed as: itself, and its base64 forms. None of a short one.
    pub(super) fn spellings(&self) -> Spellings {
        if self.0.len() < MIN_HIDDEN {
            return Spellings(Vec::new());
        }
        let encoded = (0..3).map(|before| self.in_base64(before));
        let encoded = encoded.flat_map(|it| [it.replace('+', "-").replace('/', "_"), it]);
        let encoded = encoded.filter(|it| it.len() >= MIN_HIDDEN);
        let mut all: Vec<String> = std::iter::once(self.0.clone()).chain(encoded).collect();
        all.dedup();
        Spellings(all)
    }

    /// The part of the key's base64 form that does not depend on the text around it, if `before` bytes precede the key
    /// in its group of three.
    fn in_base64(&self, before: usize) -> String {
        let bytes = [&vec![0; before][..], self.0.as_bytes()].concat();
        let encoded = STANDARD_NO_PAD.encode(&bytes);
        let (from, until) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
        encoded.get(from..until).unwrap_or_default().to_owned()
    }

    /// Whether the key can be sent in a header.
    #[must_use]
    pub fn is_sendable(&self) -> bool {
        self.header("").is_some()
    }

    /// The value of a header with the prefix `before`; `None` if a header cannot carry the key.
    #[must_use]
    pub fn header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::from_str(&format!("{before}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }
}

/// The texts that a key is removed as.
pub(super) struct Spellings(Vec<String>);

impl Spellings {
    /// Removes them all from a text.
    pub(super) fn hide(&self, text: &str) -> String {
        let mut shown = text.to_owned();
        for spelling in &self.0 {
            let mut from = 0;
            while let Some((start, end)) = found(spelling, &shown, from) {
                shown.replace_range(start..end, HIDDEN);
                from = start + HIDDEN.len();
            }
        }
        shown
    }

    /// Number of bytes at the end of a text that may be the beginning of one of them.
    pub(super) fn begun_at_end(&self, text: &str) -> usize {
        let begun = self.0.iter().filter_map(|spelling| {
            let first = spelling.chars().next()?;
            let most = spelling.len() * (1 + GAP * 4);
            let from = text.floor_char_boundary(text.len().saturating_sub(most));
            let mut starts = text[from..].match_indices(first);
            starts.find_map(|(at, _)| {
                let rest = &text[from + at..];
                matches!(spelled(spelling, rest), Spelled::Begun).then_some(rest.len())
            })
        });
        begun.max().unwrap_or(0)
    }
}

impl fmt::Debug for Spellings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Spellings(hidden)")
    }
}

/// The beginning of a text.
enum Spelled {
    /// With the whole key, which ends here.
    Whole(usize),
    /// The text ends before the key does.
    Begun,
    /// With something else.
    Other,
}

/// Whether a text begins with a key, between whose characters there may be some blanks.
fn spelled(key: &str, text: &str) -> Spelled {
    let mut letters = text.char_indices().peekable();
    let mut end = 0;
    for wanted in key.chars() {
        let mut blanks = 0;
        while end > 0
            && blanks < GAP
            && letters
                .next_if(|(_, c)| c.is_whitespace() && *c != wanted)
                .is_some()
        {
            blanks += 1;
        }
        match letters.next() {
            None => return Spelled::Begun,
            Some((at, c)) if c == wanted => end = at + c.len_utf8(),
            Some(_) => return Spelled::Other,
        }
    }
    Spelled::Whole(end)
}

/// From where to where a key stands in a text, behind `from`.
fn found(key: &str, text: &str, from: usize) -> Option<(usize, usize)> {
    let first = key.chars().next()?;
    let mut starts = text[from..].match_indices(first);
    starts.find_map(|(at, _)| match spelled(key, &text[from + at..]) {
        Spelled::Whole(end) => Some((from + at, from + at + end)),
        Spelled::Begun | Spelled::Other => None,
    })
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_redacted_in_debug_output() {
        let key = Key::new(" sk-ant-0123456789\n");
        assert_eq!(format!("{key:?}"), "Key(hidden)");
        let check = |text: &str, expected: &str| assert_eq!(key.hide(text), expected);
        check("no key", "no key");
        check(
            "bad sk-ant-0123456789, sk-ant-0123456789!",
            "bad [hidden], [hidden]!",
        );
        check("s k - a n t - 0 1 2 3\n4 5 6   7 8 9!", "[hidden]!");
        check("sk-ant-012345\n6789", "[hidden]");
        check("cut sk-ant-01234567", "cut [hidden]");
        check("sk-ant- is how they begin", "sk-ant- is how they begin");
        assert_eq!(Key::new("any").hide("any word"), "any word");
    }

    #[test]
    fn base64_keys_are_hidden_at_every_alignment() {
        let key = Key::new("sk-ant-0123456789~?>");
        for around in ["", "a", "ab", "abc", "user:", "Basic "] {
            let text = format!("{around}sk-ant-0123456789~?>{around}");
            for encoded in [
                STANDARD_NO_PAD.encode(&text),
                base64::engine::general_purpose::URL_SAFE.encode(&text),
            ] {
                let shown = key.hide(&encoded);
                assert!(shown.contains(HIDDEN), "{encoded}: {shown}");
                assert!(shown.len() < around.len() * 3 + 16, "{encoded}: {shown}");
            }
        }
    }
}
